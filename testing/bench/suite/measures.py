"""What is measured between the two ends of a running product. Every function gives a dictionary of metrics (see tables.py)."""
import json
import os
import re
import subprocess
import threading
import time

from lab import LabError, wait_for
from net import cpu_seconds, kill, machine_seconds, memory_mib, udp_counters
from products import TOOLS
from traffic import listens

LOAD = os.path.join(TOOLS, "bench-load")
GIB = 2**30
PORT = "5201"


class Ends:
    """A product up and answering: its net, its processes, its two ends."""

    def __init__(self, net, product, procs, first_ms):
        self.net, self.product, self.first_ms = net, product, first_ms
        self.a, self.b = net.ends()
        self.procs = procs  # node to processes
        self.server = None

    @property
    def pids(self):
        return [p.pid for procs in self.procs.values() for p in procs]

    def target(self):
        return self.product.addr(self.net, self.b)

    def alive(self):
        for node, procs in self.procs.items():
            for p in procs:
                if p.poll() is not None:
                    raise LabError(f"the daemon of {node} ended with {p.returncode}:\n{self.net.log_tail(node + '.log')}")


def bring_up(net, product, wire="whole"):
    """Starts every daemon; Ends when the first ping from end to end was answered."""
    product.setup(net)
    net.set_wire(wire)
    begin = time.monotonic()
    procs = {node: product.start(net, node) for node in net.nodes}
    a, b = net.ends()
    ends = Ends(net, product, procs, 0)
    while True:
        got = net.sh(a, "ping", "-n", "-c", "1", "-W", "0.2", ends.target(), check=False)
        if got.returncode == 0:
            break
        ends.alive()
        if time.monotonic() - begin > 40:
            raise LabError(f"no ping from {a} to {b} within 40 s\n{net.log_tail(a + '.log')}")
        time.sleep(0.01)
    ends.first_ms = (time.monotonic() - begin) * 1000
    net.set_wire(wire, [(n, product.device(net, n)) for n in net.nodes])
    time.sleep(product.settle)
    return ends


# ---- iperf3
def serve(e):
    """iperf3's server at the far end, started once and again after a failure."""
    if e.server is None or e.server.poll() is not None:
        e.server = e.net.spawn(e.b, "iperf3", "-s", "-p", PORT, log="iperf.log")
        wait_for("iperf3's server", 10, lambda: listens(e.server.pid, int(PORT)), 0.02)
    return e.server


def iperf_json(e, seconds, *extra, congestion=True):
    """What iperf3 says of one run, whole."""
    serve(e)
    # The machine's own default may be anything; cubic is what most machines have.
    extra = (*extra, *(("-C", "cubic") if congestion else ()))
    out = e.net.sh(e.a, "timeout", str(int(seconds + 15)), "iperf3", "-J", "-c", e.target(), "-p", PORT, "-t", str(seconds), *extra,
                   check=False, timeout=seconds + 30).stdout
    try:
        result = json.loads(out[out.index("{"):])
        problem = result.get("error")
    except ValueError:
        problem = out.strip()[-300:] or "iperf3 said nothing"
    if problem:
        kill(e.server)
        e.alive()
        raise LabError(f"iperf3: {problem}")
    return result


def iperf(e, seconds, *extra, **kw):
    return iperf_json(e, seconds, *extra, **kw)["end"]


def mbit(end):
    return end["sum_received"]["bits_per_second"] / 1e6


def tcp(e, seconds):
    cpu, machine = cpu_seconds(e.pids), machine_seconds()
    end = iperf(e, seconds)
    cpu, machine = cpu_seconds(e.pids) - cpu, machine_seconds() - machine
    gib = max(1e-9, end["sum_received"]["bytes"] / GIB)
    out = {"tcp1": mbit(end), "machine_per_gib": machine / gib, "retransmits": end["sum_sent"]["retransmits"]}
    if e.pids:
        out["cpu_per_gib"] = cpu / gib
    out["tcp1_back"] = mbit(iperf(e, seconds, "-R"))
    out["tcp4"] = mbit(iperf(e, seconds, "-P", "4"))
    out["tcp4_back"] = mbit(iperf(e, seconds, "-P", "4", "-R"))
    if e.pids:
        out["rss"] = max(memory_mib(p, "VmHWM") for p in e.pids)
    return out


def path_mtu(e):
    """Largest packet that crosses whole, as the kernel learnt it after being told."""
    with_ip = 48 if ":" in e.target() else 28
    mtu = int(e.net.sh(e.a, "cat", f"/sys/class/net/{e.product.device(e.net, e.a)}/mtu").stdout)
    for _ in range(3):
        e.net.sh(e.a, "ping", "-n", "-c", "1", "-W", "0.3", "-M", "do", "-s", str(mtu - with_ip), e.target(), check=False)
    learnt = re.search(r"\bmtu (\d+)", e.net.sh(e.a, "ip", "route", "get", e.target()).stdout)
    return min(mtu, int(learnt.group(1))) if learnt else mtu


class Drops:
    """What the iperf3 server's own socket refused because its buffer was full, while this is entered."""

    def __init__(self, e):
        self.pid, self.six = serve(e).pid, ":" in e.target()
        self.count = 0
        self.done = threading.Event()

    def _watch(self):
        # Inside IPv4 there may be no telling apart from the product's own socket but by port.
        tail = f":{int(PORT):04X}"
        while not self.done.wait(0.05):
            with open(f"/proc/{self.pid}/net/udp") as f:
                for line in f.readlines()[1:]:
                    fields = line.split()
                    if fields[1].endswith(tail):
                        self.count = max(self.count, int(fields[-1]))

    def __enter__(self):
        self.before = udp_counters(self.pid)[1]
        self.thread = threading.Thread(target=self._watch)
        if not self.six:
            self.thread.start()
        return self

    def __exit__(self, *exc):
        self.done.set()
        if self.six:
            self.count = udp_counters(self.pid)[1] - self.before
        else:
            self.thread.join()


def udp(e, seconds, rate=500):
    payload = min(path_mtu(e) - (48 if ":" in e.target() else 28), 65400)
    cpu = cpu_seconds(e.pids)
    with Drops(e) as drops:
        end = iperf(e, seconds, "-u", "-b", f"{rate}M", "-l", str(payload), "-w", "1M", congestion=False)["sum"]
    cpu = cpu_seconds(e.pids) - cpu
    sent = max(1, end["packets"])
    lost = end["lost_packets"]
    in_buffer = min(drops.count, max(0, lost))
    arrived = (sent - lost) * payload
    out = {"udp_mbit": arrived * 8 / end["seconds"] / 1e6, "udp_loss": 100 * (lost - in_buffer) / sent,
           "udp_loss_buffer": 100 * in_buffer / sent}
    if e.pids and arrived > 0:
        out["cpu_per_gib_udp"] = cpu / (arrived / GIB)
    return out


# ---- round trips
def ping(e, count, interval):
    out = e.net.sh(e.a, "ping", "-n", "-c", str(count), "-i", str(interval), "-W", "1", e.target(),
                   check=False, timeout=count * max(interval, 0.05) + 30).stdout
    times = sorted(float(t) for t in re.findall(r"time=([\d.]+)", out))
    if not times:
        raise LabError("no reply to ping")
    return times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.99))]


def rtt(e, seconds):
    p50, p99 = ping(e, int(100 * max(2, seconds)), 0.005)
    return {"rtt_p50": p50, "rtt_p99": p99}


def load(e, seconds):
    """Round trips while one TCP stream runs."""
    serve(e)
    took = max(3, seconds)
    stream = e.net.spawn(e.a, "iperf3", "-c", e.target(), "-p", PORT, "-t", str(took + 1), "-C", "cubic", log="stream.log")
    time.sleep(1)
    p50, p99 = ping(e, int((took - 1) * 50), 0.02)
    try:
        stream.wait(took + 10)
    except subprocess.TimeoutExpired:
        kill(stream)
        kill(e.server)
    return {"load_p50": p50, "load_p99": p99}


# ---- small packets
def start_receiver(net, node, address, port, seconds, *extra):
    proc = net.spawn(node, LOAD, "recv", address, str(port), str(seconds), *extra)
    if proc.stdout.readline().strip() != "ready":
        raise LabError("bench-load did not start: " + proc.stdout.read())
    return proc


def flood(e, seconds, trains):
    to = start_receiver(e.net, e.b, e.target(), 7000, seconds + 3, *(["--gro"] if trains else []))
    e.net.sh(e.a, LOAD, "send", e.target(), "7000", str(seconds), "64", *(["--gso"] if trains else []), timeout=seconds + 20)
    text = to.communicate(timeout=seconds + 15)[0].strip()
    return json.loads(text.splitlines()[-1])


def pps(e, seconds):
    """64-byte datagrams one way, as fast as they go: one call each, and in trains at both ends."""
    seconds = min(3, seconds)
    out = {}
    for key, trains in (("pps", False), ("pps_trains", True)):
        got = flood(e, seconds, trains)
        out[key] = got["pps"]
        out[key + "_late"] = got["late"]
    return out


def first(e, _seconds):
    return {"first_ms": e.first_ms}


PAIR = {"first": first, "rtt": rtt, "tcp": tcp, "udp": udp, "load": load, "pps": pps}
