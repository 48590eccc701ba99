"""Namespaces and veth pairs of one measurement, the processes in them, and what is read from outside about both.

Everything has the prefix of this run and goes with Net.close(). A wire is a veth pair 10.88.N.0/24 between two
namespaces; what runs over it is the product's business.
"""
import os
import re
import signal
import shutil
import subprocess
import tempfile
import time

from lab import LabError, run, wait_for

# What ethtool is told about both ends of every wire, and about the product's own interface.
WIRES = {
    "whole": {},  # as veth is made: a super-datagram crosses as it is
    "segmented": {"wire": ["tx-udp-segmentation", "off", "tso", "off", "gro", "on"]},  # the kernel cuts, the far end's GRO joins
    "off": {"wire": ["tx-udp-segmentation", "off", "tso", "off", "gso", "off", "gro", "off"],
            "device": ["tx-udp-segmentation", "off", "tso", "off", "gso", "off"]},  # packets one by one, everywhere
}
TICK = os.sysconf("SC_CLK_TCK")


def kill(proc, wait=5):
    if proc.poll() is None:
        proc.terminate()
        try:
            proc.wait(wait)
        except subprocess.TimeoutExpired:
            proc.kill()
    proc.wait()


class Net:
    """`nodes`: names, the first and the last are the ends. `edges`: pairs of names."""

    count = 0

    def __init__(self, nodes, edges):
        Net.count += 1
        self.prefix = f"wb{os.getpid() % 100000}x{Net.count}-"
        self.nodes, self.edges = list(nodes), [tuple(e) for e in edges]
        self.dir = tempfile.mkdtemp(prefix="weft-bench-")
        self.procs = []  # whatever was started here, newest last
        self.numbers = {frozenset(e): i + 1 for i, e in enumerate(self.edges)}
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self):
        self.batch([], [f"netns add {self.ns(n)}" for n in self.nodes])
        for n in self.nodes:
            # Else the first second of every interface goes to the search for a duplicate of its address.
            self.sh(n, "sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
        self.batch([], [f"link add {self.dev(x, y)} netns {self.ns(x)} type veth peer name {self.dev(y, x)} netns {self.ns(y)}"
                        for x, y in self.edges])
        for n in self.nodes:
            lines = ["link set lo up"]
            for far in self.neighbours(n):
                lines += [f"addr add {self.addr(n, far)}/24 dev {self.dev(n, far)}", f"link set {self.dev(n, far)} up"]
            self.batch(["-n", self.ns(n)], lines)

    @staticmethod
    def batch(args, lines):
        run("ip", *args, "-batch", "-", input="\n".join(lines) + "\n")

    def ns(self, node):
        return self.prefix + node

    def number(self, x, y):
        return self.numbers[frozenset((x, y))]

    def dev(self, node, far):
        return f"w{self.number(node, far)}{'a' if (node, far) in self.edges else 'b'}"

    def addr(self, node, far):
        """Address of `node` on its wire to `far`."""
        return f"10.88.{self.number(node, far)}.{1 if (node, far) in self.edges else 2}"

    def neighbours(self, node):
        return [y if x == node else x for x, y in self.edges if node in (x, y)]

    def ends(self):
        return self.nodes[0], self.nodes[-1]

    def set_wire(self, mode, devices=()):
        """`devices`: (node, device) of the product."""
        for x, y in self.edges if "wire" in WIRES[mode] else ():
            for a, b in ((x, y), (y, x)):
                self.sh(a, "ethtool", "-K", self.dev(a, b), *WIRES[mode]["wire"])
        for node, device in devices if "device" in WIRES[mode] else ():
            self.sh(node, "ethtool", "-K", device, *WIRES[mode]["device"], check=False)

    # ---- commands and processes
    def argv(self, node, *args):
        return ["ip", "netns", "exec", self.ns(node), *args]  # replaces itself with the command

    def sh(self, node, *args, **kw):
        return run(*self.argv(node, *args), **kw)

    def spawn(self, node, *args, log=None, env=None):
        """A process in a namespace; its output goes to DIR/LOG, or is a pipe."""
        out = open(os.path.join(self.dir, log), "a") if log else subprocess.PIPE
        proc = subprocess.Popen(self.argv(node, *args), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, **(env or {})})
        if log:
            out.close()
        self.procs.append(proc)
        return proc

    def log_tail(self, log, lines=12):
        try:
            with open(os.path.join(self.dir, log)) as f:
                return "".join(f.readlines()[-lines:])
        except OSError:
            return ""

    def wait_device(self, node, device, proc=None):
        def there():
            if proc is not None and proc.poll() is not None:
                raise LabError(f"the daemon of {node} ended with {proc.returncode}")
            return os.path.exists(f"/proc/{proc.pid}/net/dev_snmp6/{device}") if proc is not None else \
                self.sh(node, "test", "-e", f"/sys/class/net/{device}", check=False).returncode == 0
        wait_for(f"{device} in {node}", 20, there, 0.01)

    def close(self):
        for proc in self.procs:
            if proc.poll() is None:
                proc.send_signal(signal.SIGTERM)
        end = time.monotonic() + 5
        for proc in self.procs:
            try:
                proc.wait(max(0.01, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
            if proc.stdout:
                proc.stdout.close()
        for n in self.nodes:  # what a daemon left behind
            for pid in run("ip", "netns", "pids", self.ns(n), check=False).stdout.split():
                if pid.isdigit():
                    try:
                        os.kill(int(pid), signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        for n in self.nodes:
            run("ip", "netns", "del", self.ns(n), check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


# ---- what /proc says
def cpu_seconds(pids):
    """User and system time of processes, their ended threads included; exact to a clock tick."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def cpu_seconds_fine(pids):
    """The same to the nanosecond, of the threads that live now: for processes that do next to nothing."""
    total = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                    total += int(f.read().split()[0])
            except FileNotFoundError:
                pass
    return total / 1e9


def machine_seconds():
    """CPU time of the whole machine that was not idle; sampled at the tick."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, softirq, *_ = map(int, f.readline().split()[1:])
    return (user + nice + system + irq + softirq) / TICK


def memory_mib(pid, what="VmRSS"):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(rf"{what}:\s+(\d+)", f.read()).group(1)) / 1024


def udp_counters(pid):
    """(IPv4, IPv6) datagrams that sockets of this process's namespace refused because their buffer was full."""
    with open(f"/proc/{pid}/net/snmp") as f:
        names, values = [line.split()[1:] for line in f if line.startswith("Udp:")]
    with open(f"/proc/{pid}/net/snmp6") as f:
        six = re.search(r"^Udp6RcvbufErrors\s+(\d+)", f.read(), re.M)
    return int(values[names.index("RcvbufErrors")]), int(six.group(1)) if six else 0
