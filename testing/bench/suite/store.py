"""What a run measured: one line per number, and what was asked of it later."""
import json
import os
import platform
import re
import statistics
import time

from lab import run
from products import ROOT

SCHEMA = 1


def machine():
    with open("/proc/cpuinfo") as f:
        text = f.read()
    model = re.search(r"model name\s*:\s*(.*)", text)
    flags = re.search(r"^flags\s*:\s*(.*)", text, re.M)
    wanted = ("avx2", "avx512f", "vaes", "sha_ni", "hypervisor")
    with open("/etc/os-release") as f:
        system = re.search(r'PRETTY_NAME="?([^"\n]*)', f.read()).group(1)
    with open("/proc/meminfo") as f:
        memory = int(f.readline().split()[1]) / 2**20
    return {"cpu": model.group(1).strip() if model else platform.machine(), "cores": os.cpu_count(),
            "flags": [w for w in wanted if flags and w in flags.group(1).split()], "memory_gib": round(memory, 1),
            "kernel": os.uname().release, "system": system,
            "iperf3": run("iperf3", "--version", check=False).stdout.split("\n")[0].split(" (")[0]}


def commit():
    got = run("git", "-C", ROOT, "log", "-1", "--format=%h", check=False)
    if got.returncode != 0:
        return "unknown"
    changed = run("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no", check=False).stdout.strip()
    return got.stdout.strip() + (" and changes" if changed else "")


class Store:
    """samples: (round, part, wire, product, metric, value); part is "pair", "chain2" to "chain5", "hub" or "rekey"."""

    def __init__(self, path=None):
        self.path = path
        self.data = {"schema": SCHEMA, "samples": [], "products": {}, "skipped": {}, "failed": []}

    @classmethod
    def load(cls, path):
        store = cls(path)
        with open(path) as f:
            store.data = json.load(f)
        if store.data.get("schema") != SCHEMA:
            raise ValueError(f"{path}: made by another version of this benchmark")
        return store

    def begin(self, command, rounds, seconds):
        self.data.update(command=command, rounds=rounds, seconds=seconds, machine=machine(), commit=commit(),
                         date=time.strftime("%Y-%m-%d"), load_before=round(os.getloadavg()[0], 2))

    def add(self, round_, part, wire, product, metrics):
        self.data["samples"] += [[round_, part, wire, product, k, v] for k, v in metrics.items()]

    def save(self):
        if not self.path:
            return
        head = {k: v for k, v in self.data.items() if k != "samples"}
        rows = ",\n  ".join(json.dumps(s) for s in self.data["samples"])
        with open(self.path + ".new", "w") as f:
            f.write(json.dumps(head, indent=1)[:-2] + f',\n "samples": [\n  {rows}\n ]\n}}\n')
        os.replace(self.path + ".new", self.path)

    def values(self, part, wire, product, metric):
        """By round."""
        return {s[0]: s[5] for s in self.data["samples"] if s[1:5] == [part, wire, product, metric]}

    def spread(self, part, wire, product, metric):
        return Spread.of(self.values(part, wire, product, metric).values())

    def compare(self, upper, lower, how):
        """Round by round, since a round's measurements lie close in time; a Spread, or None."""
        a, b = self.values(*upper), self.values(*lower)
        return Spread.of(how(a[r], b[r]) for r in a if r in b and (b[r] or how is not ratio))

    def has(self, part, wire=None, product=None):
        return any(s[1] == part and wire in (None, s[2]) and product in (None, s[3]) for s in self.data["samples"])


def ratio(a, b):
    return a / b


def difference(a, b):
    return a - b


class Spread:
    def __init__(self, values):
        self.median, self.low, self.high, self.count = statistics.median(values), min(values), max(values), len(values)

    @classmethod
    def of(cls, values):
        values = list(values)
        return cls(values) if values else None

    def text(self, digits):
        def one(v):
            return f"{v:,.{digits}f}"
        if self.count == 1:
            return one(self.median)
        return f"{one(self.median)} [{one(self.low)}–{one(self.high)}]"
