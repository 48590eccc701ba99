"""Traffic over a lab's mesh: iperf3's streams, and pings in the background."""
import json
import re
import signal
import subprocess
import tempfile

from lab import LabError, wait_for


def listens(pid, port):
    """Whether a TCP server (IPv6) is at the port, in the namespace of this process: once `ip netns exec` has become the
    program; before, that is another namespace."""
    with open(f"/proc/{pid}/net/tcp6") as f:
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in f.readlines()[1:])


def iperf_server(node, *extra):
    """iperf3's server for one test on the node's mesh address; listens when this returns."""
    server = node.popen("iperf3", "-s", "-1", "-B", node.addr, *extra)

    def ready():
        if server.poll() is not None:
            raise LabError(f"iperf3's server of {node.letter}: {server.stdout.read()}")
        return listens(server.pid, 5201)
    wait_for("iperf3's server", 10, ready, 0.02)
    return server


def mbit_by_second(result):
    """Of iperf3's JSON; without the last milliseconds, which it may close with as an interval of their own."""
    return [i["sum"]["bits_per_second"] / 1e6 for i in result["intervals"] if i["sum"]["seconds"] > 0.5]


def tcp_mbit(client, server, seconds=3, reverse=False, extra=()):
    """One iperf3 TCP run over the mesh; Mbit/s received."""
    srv = iperf_server(server)
    try:
        args = ["iperf3", "-6", "-J", "-c", server.addr, "-t", str(seconds), *extra] + (["-R"] if reverse else [])
        out = client.sh(*args, timeout=seconds + 30, check=False).stdout
        result = json.loads(out)
        if "error" in result:
            raise LabError(f"iperf3: {result['error']}")
        return result["end"]["sum_received"]["bits_per_second"] / 1e6
    finally:
        srv.kill()
        srv.wait()


def rcvbuf_errors(node):
    rows = dict(line.split() for line in node.sh("cat", "/proc/net/snmp6").stdout.splitlines())
    return int(rows["Udp6RcvbufErrors"])


class Stream:
    """UDP at a fixed rate from one node to another, by iperf3 in its own threads; loss when it ends."""

    def __init__(self, src, dst, mbit, seconds, size=1100):
        self.dst, self.refused = dst, rcvbuf_errors(dst)
        self.srv = iperf_server(dst, "-J")
        self.cli = src.popen("iperf3", "-6", "-u", "-J", "-c", dst.addr, "-b", f"{mbit}M", "-t", str(seconds), "-l", str(size))
        self.seconds = seconds

    def result(self):
        out, _ = self.cli.communicate(timeout=self.seconds + 40)
        self.srv.kill()
        self.srv.wait()
        end = json.loads(out[out.index("{"):])  # a warning about the block size may come first
        if "error" in end:
            raise LabError(f"iperf3: {end['error']}")
        s = end["end"]["sum"]
        # what iperf3's own small socket buffer refused is not the mesh's loss
        return max(0, s["lost_packets"] - (rcvbuf_errors(self.dst) - self.refused)), s["packets"]


class Tcp:
    """One TCP stream in the background; each second's Mbit/s when it ends."""

    def __init__(self, src, dst, seconds):
        self.srv = iperf_server(dst)
        self.cli = src.popen("iperf3", "-6", "-J", "-c", dst.addr, "-t", str(seconds))
        self.seconds = seconds

    def rates(self):
        out, _ = self.cli.communicate(timeout=self.seconds + 30)
        self.srv.kill()
        self.srv.wait()
        result = json.loads(out[out.index("{"):])
        if "error" in result:
            raise LabError(f"iperf3: {result['error']}")
        return mbit_by_second(result)


class Pings:
    """Many small pings in the background; when it ends, how many of those before the last answered one were lost."""

    def __init__(self, src, dst, interval=0.01):
        self.out = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would fill up, and hold them
        self.proc = subprocess.Popen(src.argv("ping", "-6", "-n", "-i", str(interval), dst.addr), stdout=self.out, stderr=self.out)

    def lost(self):
        self.proc.send_signal(signal.SIGINT)
        self.proc.wait(10)
        self.out.seek(0)
        answered = {int(x) for x in re.findall(r"icmp_seq=(\d+) .*time=", self.out.read())}
        return max(answered) - len(answered), max(answered)
