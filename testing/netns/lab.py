"""A small laboratory of network namespaces: nodes of weft, or of a reference implementation, on links of veth.

Everything made here has a name that begins with the lab's prefix and is removed by Lab.close(), also after a failure.
Needs root. A node is a daemon in a namespace of its own; a wire is a veth pair between two namespaces, or a switch that
joins many. Nodes are described by a letter; their keys are fixed, so that addresses are the same in every run.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

SECRETS = {
    "a": "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
    "b": "b102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fb0",
    "c": "c102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fc0",
    "d": "d102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fd0",
    "e": "e102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fe0",
    "f": "f102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1ff0",
}
NPUBS = {
    "a": "npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57m",
    "b": "npub1tdwa4vjrjl33pcjdpf2t4p027nl86xrx24g4d3avg4vwvayr3g8qhd84le",
    "c": "npub1cld9yay0u24davpu6c35l4vldrhzvaq66pcqtg9a0j2cnjrn9rtsxx2pe6",
    "d": "npub1n9lpnv0592cc2ps6nm0ca3qls642vx7yjsv35rkxqzj2vgds52sqgpverl",
    "e": "npub1wf8akf8lu2zdkjkmwhl75pqvven654mpv4sz2x2tprl5265mgrzq8nhak4",
    "f": "npub16xhnhwaxzu3w6dlf88eqnea52cqx9crdwhx4s807zd9nxmng3seqfc587p",
}
FIVE = ["ad", "ae", "bc", "cd", "ce", "de"]  # the reference's own five-node mesh


class LabError(Exception):
    pass


def run(*args, check=True, timeout=60, **kw):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **kw)
    if check and p.returncode != 0:
        raise LabError(f"{' '.join(args)}: exit {p.returncode}\n{p.stdout}")
    return p


def wait_for(what, seconds, probe, every=0.1):
    """Calls probe until it gives something true; that is returned. LabError after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        got = probe()
        if got:
            return got
        if time.monotonic() > end:
            raise LabError(f"{what}: not within {seconds} s")
        time.sleep(every)


class Kind:
    """What runs in a node: its daemon, and how its files are named."""

    def __init__(self, name, daemon, weft=True, wrap=()):
        self.name, self.daemon, self.weft, self.wrap = name, daemon, weft, wrap  # wrap: a command that becomes the daemon


class Node:
    def __init__(self, lab, letter, kind):
        self.lab, self.letter, self.kind = lab, letter, kind
        self.ns = f"{lab.prefix}{letter}"
        self.dir = os.path.join(lab.dir, letter)
        os.makedirs(self.dir, exist_ok=True)
        self.peers = []  # (letter, "ip:port")
        self.known = []  # letters of nodes whose keys it is told by the file, as peers that are never dialled
        self.proc = None
        self.tun = "weft0" if kind.weft else "fips0"
        self.node_options = {}
        self.sections = {}  # of the configuration: name to members, which go over those written here
        self.mtu_discovery = True
        self.env = {}
        self.mtu = 1280
        run("ip", "netns", "add", self.ns)
        self.sh("ip", "link", "set", "lo", "up")

    # ---- namespace
    def argv(self, *args):
        return ["ip", "netns", "exec", self.ns, *args]

    def sh(self, *args, **kw):
        return run(*self.argv(*args), **kw)

    def popen(self, *args, **kw):
        return subprocess.Popen(self.argv(*args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)

    # ---- daemon
    @property
    def config_path(self):
        return os.path.join(self.dir, "node.yaml")

    @property
    def socket_path(self):
        return os.path.join(self.dir, "control.sock")

    def write_config(self):
        node = {"identity": {"nsec": SECRETS[self.letter]}, "control": {"socket_path": self.socket_path}}
        for key, value in self.node_options.items():
            node[key] = value
        config = {
            "node": node,
            "tun": {"enabled": True, "name": self.tun, "mtu": 1280},
            "dns": {"enabled": False},
            "transports": {"udp": {"bind_addr": "0.0.0.0:2121", "mtu": self.mtu}},
            "peers": [
                {"npub": self.lab.npub(p), "alias": f"node-{p}", "addresses": [{"transport": "udp", "addr": addr}]}
                for p, addr in self.peers
            ] + [
                {"npub": self.lab.npub(p), "alias": f"node-{p}", "connect_policy": "manual", "auto_reconnect": False,
                 "addresses": [{"transport": "udp", "addr": "10.255.255.1:9"}]}
                for p in self.known
            ],
        }
        for name, members in self.sections.items():
            config.setdefault(name, {}).update(members)
        if not self.mtu_discovery:
            # A weft section alone would switch the firewall on.
            config.setdefault("weft", {"firewall": {"enabled": False}}).setdefault("dataplane", {})["mtu_discovery"] = False
        with open(self.config_path, "w") as f:
            f.write(json.dumps(config, indent=1) + "\n")  # JSON is YAML
        os.chmod(self.config_path, 0o600)

    def start(self, wait=True):
        self.write_config()
        if os.path.exists(self.socket_path) and not self.kind.weft:
            os.unlink(self.socket_path)
        log = open(os.path.join(self.dir, "log"), "a")
        env = {**os.environ, "RUST_LOG": "info", **self.env}
        self.proc = subprocess.Popen(self.argv(*self.kind.wrap, self.kind.daemon, "-c", self.config_path), stdout=log, stderr=log, env=env)
        log.close()
        if wait:
            wait_for(f"{self.letter} answering on its control socket", 10, self.alive)

    def alive(self):
        if self.proc.poll() is not None:
            raise LabError(f"{self.letter} ({self.kind.name}) exited with {self.proc.returncode}:\n{self.log_tail()}")
        try:
            return self.ask("show_status")
        except (OSError, ValueError):
            return None

    def pid(self):
        """The daemon itself: `ip netns exec` replaces itself with it."""
        return self.proc.pid

    def stop(self, sig=signal.SIGTERM):
        if self.proc and self.proc.poll() is None:
            self.proc.send_signal(sig)
            try:
                self.proc.wait(10)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
                raise LabError(f"{self.letter} did not stop within 10 s of signal {sig}")
        code = self.proc.returncode if self.proc else None
        self.proc = None
        return code

    def log_tail(self, lines=15):
        try:
            with open(os.path.join(self.dir, "log")) as f:
                return "".join(f.readlines()[-lines:])
        except OSError:
            return ""

    def ask(self, command, **params):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(5)
        s.connect(self.socket_path)
        request = {"command": command}
        if params:
            request["params"] = params
        s.sendall(json.dumps(request).encode() + b"\n")
        data = b""
        while chunk := s.recv(65536):
            data += chunk
        s.close()
        reply = json.loads(data)
        if reply.get("status") != "ok":
            raise ValueError(reply.get("message"))
        return reply.get("data")

    # ---- what one looks at
    @property
    def addr(self):
        return self.lab.addr(self.letter)

    def linked_to(self, letter):
        want = self.lab.npub(letter)
        return any(p["npub"] == want and p["connectivity"] == "connected" for p in self.ask("show_peers")["peers"])

    def ping(self, other, count=1, interval=0.2, wait=1, size=56):
        """Replies received."""
        p = self.sh("ping", "-6", "-n", "-c", str(count), "-i", str(interval), "-W", str(wait), "-s", str(size), other.addr,
                    check=False, timeout=count * (interval + wait) + 20)
        m = re.search(r"(\d+) received", p.stdout)
        return int(m.group(1)) if m else 0

    def prime(self, other):
        """Tells this node the key behind the other's address, as a name query or a configured peer would."""
        hosts = os.path.join(self.dir, "hosts")
        with open(hosts, "a") as f:
            f.write(f"node-{other.letter} {self.lab.npub(other.letter)}\n")

    def cpu_seconds(self):
        with open(f"/proc/{self.pid()}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self):
        with open(f"/proc/{self.pid()}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024


class Lab:
    def __init__(self, prefix, kinds, assignment=None, default="weft"):
        """`kinds`: name to Kind. `assignment`: letter to kind name."""
        self.prefix = f"{prefix}{os.getpid() % 10000}-"
        self.kinds, self.assignment, self.default = kinds, assignment or {}, default
        self.dir = tempfile.mkdtemp(prefix=f"{prefix}-lab-")
        self.nodes = {}
        self.keys = {}
        self.wires = 0

    def npub(self, letter):
        return NPUBS[letter] if letter in NPUBS else self.keys[letter][0]

    def addr(self, letter):
        if letter not in self.keys:
            self.keys[letter] = (NPUBS.get(letter), mesh_addr(NPUBS[letter]))
        return self.keys[letter][1]

    def node(self, letter):
        if letter not in self.nodes:
            kind = self.kinds[self.assignment.get(letter, self.default)]
            self.nodes[letter] = Node(self, letter, kind)
        return self.nodes[letter]

    def wire(self, x, y, dialers="both", mtu=1500):
        """A veth pair between two nodes, addressed 10.77.N.1 and .2; each dials the other unless told who does."""
        self.wires += 1
        n = self.wires
        a, b = self.node(x), self.node(y)
        if_a, if_b = f"w{n}{y}", f"w{n}{x}"
        run("ip", "link", "add", if_a, "netns", a.ns, "mtu", str(mtu), "type", "veth", "peer", "name", if_b, "netns", b.ns,
            "mtu", str(mtu))
        for node, dev, ip in ((a, if_a, f"10.77.{n}.1"), (b, if_b, f"10.77.{n}.2")):
            node.sh("ip", "addr", "add", f"{ip}/24", "dev", dev)
            node.sh("ip", "link", "set", dev, "up")
        if dialers in ("both", x):
            a.peers.append((y, f"10.77.{n}.2:2121"))
        if dialers in ("both", y):
            b.peers.append((x, f"10.77.{n}.1:2121"))
        return if_a, if_b

    def wires_of(self, edges, **kw):
        for e in edges:
            self.wire(e[0], e[1], **kw)

    def start(self, letters=None):
        for letter in letters or sorted(self.nodes):
            self.nodes[letter].start(wait=False)
        for letter in letters or sorted(self.nodes):
            n = self.nodes[letter]
            wait_for(f"{letter} answering", 15, n.alive)

    def know_everybody(self):
        """A hosts file with every node, beside each configuration file; call before start()."""
        for n in self.nodes.values():
            with open(os.path.join(n.dir, "hosts"), "w") as f:
                for other in sorted(self.nodes):
                    f.write(f"node-{other} {self.npub(other)}\n")

    def one_root(self, seconds=20):
        def agreed():
            roots = {n.ask("show_tree")["root"] for n in self.nodes.values() if n.proc}
            return roots.pop() if len(roots) == 1 else None
        return wait_for("one root of the tree", seconds, agreed, 0.25)

    def close(self):
        for n in self.nodes.values():
            if n.proc and n.proc.poll() is None:
                n.proc.kill()
                n.proc.wait()
        for n in self.nodes.values():
            pids = run("ip", "netns", "pids", n.ns, check=False).stdout.split()
            for pid in pids:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except (ProcessLookupError, ValueError):
                    pass
            run("ip", "netns", "del", n.ns, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if value is not None:
            for n in self.nodes.values():
                print(f"--- last lines of {n.letter} ({n.kind.name}):\n{n.log_tail()}", flush=True)
        self.close()


def mesh_addr(npub):
    """fd || SHA-256(x-only key)[0..15]"""
    import hashlib
    import ipaddress
    charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    data = [charset.index(c) for c in npub.split("1", 1)[1]][:-6]
    acc, bits, key = 0, 0, bytearray()
    for v in data:
        acc, bits = (acc << 5) | v, bits + 5
        if bits >= 8:
            bits -= 8
            key.append((acc >> bits) & 0xFF)
    return str(ipaddress.IPv6Address(b"\xfd" + hashlib.sha256(bytes(key[:32])).digest()[:15]))


def program(variable, path):
    path = os.environ.get(variable) or path
    if not os.access(path, os.X_OK):
        raise LabError(f"no program at {path}: build the release preset, or set {variable}")
    return os.path.abspath(path)


def find_weftd():
    """The release build, or what WEFTD names."""
    here = os.path.dirname(os.path.abspath(__file__))
    return program("WEFTD", os.path.join(here, "..", "..", "build", "release", "daemon", "weftd", "weftd"))


def find_weft():
    """That of the same build, or what WEFT names."""
    return program("WEFT", os.path.join(os.path.dirname(find_weftd()), "..", "weft", "weft"))


def chain(lab, n, **kw):
    """Nodes a, b, c... in a row, who know each other's keys; not started yet."""
    letters = sorted(SECRETS)[:n]
    for x, y in zip(letters, letters[1:]):
        lab.wire(x, y, **kw)
    lab.know_everybody()
    return [lab.node(x) for x in letters]


def reaches(x, y, seconds=15):
    """Waits until x pings y."""
    wait_for(f"{x.letter} pings {y.letter}", seconds, lambda: x.ping(y, count=1, wait=1))
