"""What is measured: every product as the same few questions. weft and the reference are in mesh.py."""
import json
import os
import shutil
import subprocess

from lab import run, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
TOOLS = os.path.join(ROOT, "build", "release", "testing", "bench")
CACHE = os.environ.get("WEFT_BENCH_PEERS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft-bench")
WEFT_TUN_MTU = 1395  # what a link MTU of 1472 leaves


class Product:
    """One program that carries packets between namespaces.

    `offload`: it moves super-packets, so it is measured in every wire mode. `max_hops`: longest chain it can do, 1 for none.
    """

    name = ""
    about = ""
    offload = False
    max_hops = 1
    settle = 1.0  # seconds between the first reply and the first measurement

    def missing(self):
        """Why this cannot be measured here, or None."""
        return None

    def version(self):
        return ""

    def setup(self, net):
        """Keys and configurations, before the clock runs."""

    def start(self, net, node):
        """Starts the node's daemon, gives its interface an address. The processes, in a list."""
        return []

    def addr(self, net, node):
        return f"fd99::{net.nodes.index(node) + 1:x}"

    def device(self, net, node):
        raise NotImplementedError

    # ---- for those below
    def dev_up(self, net, node, device, mtu=None, prefix=64):
        size = ["mtu", str(mtu)] if mtu else []
        net.sh(node, "ip", "addr", "add", f"{self.addr(net, node)}/{prefix}", "dev", device, "nodad")
        net.sh(node, "ip", "link", "set", device, *size, "up")

    @staticmethod
    def sides(net, node):
        """A chain's neighbours of `node`, each with the nodes that lie behind it."""
        at = net.nodes.index(node)
        return [(net.nodes[at + d], net.nodes[:at] if d < 0 else net.nodes[at + 1:]) for d in (-1, 1)
                if 0 <= at + d < len(net.nodes)]


def lacks(*programs):
    gone = [p for p in programs if not (os.access(p, os.X_OK) if "/" in p else shutil.which(p))]
    return f"{', '.join(gone)} not found" if gone else None


class Veth(Product):
    name, about = "veth", "no tunnel: the veth pair itself; routed in a chain"
    offload, max_hops, settle = True, 9, 0.2

    def version(self):
        return os.uname().release

    def setup(self, net):
        for node in net.nodes:
            net.sh(node, "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
            net.sh(node, "ip", "-6", "addr", "add", self.addr(net, node), "dev", "lo", "nodad")
            for far, behind in self.sides(net, node):
                net.sh(node, "ip", "-6", "addr", "add", self._on_wire(net, node, far) + "/64", "dev", net.dev(node, far), "nodad")
        for node in net.nodes:
            for far, behind in self.sides(net, node):
                for b in behind:
                    net.sh(node, "ip", "-6", "route", "add", self.addr(net, b), "via", self._on_wire(net, far, node), "dev",
                           net.dev(node, far), "src", self.addr(net, node))

    @staticmethod
    def _on_wire(net, node, far):
        return f"fd88:{net.number(node, far)}::{1 if (node, far) in net.edges else 2}"

    def device(self, net, node):
        return net.dev(node, net.neighbours(node)[0])


class NullTunnel(Product):
    """The upper bound: tools/null_tunnel.cpp."""

    offload, settle = True, 0.5
    binary = os.path.join(TOOLS, "null-tunnel")

    def __init__(self, layers):
        self.layers = layers
        self.name = "null" if layers else "null-plain"
        self.about = "upper bound: weft's slices and AEAD layers without a protocol" if layers else "the same without cryptography"

    def missing(self):
        return lacks(self.binary)

    def start(self, net, node):
        (far,) = net.neighbours(node)
        proc = net.spawn(node, self.binary, "null0", f"{net.addr(node, far)}:9000", f"{net.addr(far, node)}:9000",
                         str(self.layers), log=node + ".log")
        net.wait_device(node, "null0", proc)
        # So that a super-packet fits one train.
        net.sh(node, "ip", "link", "set", "null0", "gso_max_size", "58000", check=False)
        self.dev_up(net, node, "null0", WEFT_TUN_MTU)
        return [proc]

    def device(self, net, node):
        return "null0"


class WireGuard(Product):
    """Everything with WireGuard's user-space interface. In a chain each hop decrypts, routes and encrypts again."""

    max_hops = 9
    mtu = 1420

    def __init__(self, name, binary, about, arguments=(), offload=False):
        self.name, self.binary, self.about, self.arguments, self.offload = name, binary, about, list(arguments), offload

    def missing(self):
        return lacks(self.binary, "wg")

    def version(self):
        if os.path.exists(self.binary + ".version"):
            with open(self.binary + ".version") as f:
                return f.read().strip()
        return run(self.binary, "--version", check=False).stdout.splitlines()[0].strip()

    def setup(self, net):
        self.keys = {}
        for n in net.nodes:
            secret = run("wg", "genkey").stdout.strip()
            self.keys[n] = run("wg", "pubkey", input=secret).stdout.strip()
            with open(os.path.join(net.dir, n + ".key"), "w") as f:
                os.fchmod(f.fileno(), 0o600)
                f.write(secret)
            net.sh(n, "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")

    def device(self, net, node):
        # The name is also that of a socket in a folder which all namespaces share.
        return f"wg{net.prefix.strip('-')[-8:]}{node}"[:15]

    def start(self, net, node):
        device = self.device(net, node)
        proc = net.spawn(node, self.binary, *self.arguments, device, log=node + ".log",
                         env={"LOG_LEVEL": "error", "WG_PROCESS_FOREGROUND": "1", "WG_SUDO": "1"})
        net.wait_device(node, device, proc)
        wait_for("the socket", 5, lambda: os.path.exists(f"/var/run/wireguard/{device}.sock"), 0.01)
        peers = []
        for far, behind in self.sides(net, node):
            allowed = ",".join(f"{self.addr(net, b)}/128" for b in behind)
            peers += ["peer", self.keys[far], "endpoint", f"{net.addr(far, node)}:51820", "allowed-ips", allowed]
        net.sh(node, "wg", "set", device, "private-key", os.path.join(net.dir, node + ".key"), "listen-port", "51820", *peers)
        self.dev_up(net, node, device, self.mtu)
        return [proc]


class Tinc(Product):
    name, about, max_hops = "tinc", "tinc 1.0, router mode, its default cipher", 9
    settle = 5.0  # path MTU probes; before that data goes over TCP

    def missing(self):
        return lacks("tincd")

    def version(self):
        return run("tincd", "--version", check=False).stdout.splitlines()[0]

    def setup(self, net):
        for n in net.nodes:
            folder = os.path.join(net.dir, n)
            os.makedirs(os.path.join(folder, "hosts"))
            with open(os.path.join(folder, "tinc.conf"), "w") as f:
                f.write(f"Name = {n}\nInterface = tinc0\nAddressFamily = ipv4\nDevice = /dev/net/tun\n")
                f.writelines(f"ConnectTo = {far}\n" for far in net.neighbours(n))
            with open(os.path.join(folder, "hosts", n), "w") as f:
                f.write(f"Subnet = {self.addr(net, n)}/128\n")
            run("tincd", "-c", folder, "-K2048", stdin=subprocess.DEVNULL)
        for n in net.nodes:
            for far in net.neighbours(n):
                with open(os.path.join(net.dir, far, "hosts", far)) as f:
                    host = f.read()
                with open(os.path.join(net.dir, n, "hosts", far), "w") as f:
                    f.write(f"Address = {net.addr(far, n)}\n{host}")

    def start(self, net, node):
        proc = net.spawn(node, "tincd", "-D", "-c", os.path.join(net.dir, node), "-d1",
                         f"--pidfile={os.path.join(net.dir, node + '.pid')}", log=node + ".log")
        net.wait_device(node, "tinc0", proc)
        self.dev_up(net, node, "tinc0")
        return [proc]

    def device(self, net, node):
        return "tinc0"


class Nebula(Product):
    name, about = "nebula", "default cipher (AES-256-GCM) and MTU (1300); the middle of a chain is a relay"
    max_hops, settle = 2, 2.0

    def missing(self):
        return lacks("nebula", "nebula-cert")

    def version(self):
        return run("nebula", "-version", check=False).stdout.strip()

    def addr(self, net, node):
        return f"10.99.0.{net.nodes.index(node) + 1}"  # this release knows IPv4 only inside

    def setup(self, net):
        middle = net.nodes[1] if len(net.nodes) == 3 else None
        house = middle or net.nodes[0]
        run("nebula-cert", "ca", "-name", "bench", "-duration", "24h", cwd=net.dir)
        everything = [{"port": "any", "proto": "any", "host": "any"}]
        for n in net.nodes:
            run("nebula-cert", "sign", "-name", n, "-ip", f"{self.addr(net, n)}/24", "-duration", "23h", cwd=net.dir)
            config = {
                "pki": {"ca": f"{net.dir}/ca.crt", "cert": f"{net.dir}/{n}.crt", "key": f"{net.dir}/{n}.key"},
                "lighthouse": {"am_lighthouse": n == house, "interval": 5, "hosts": [] if n == house else [self.addr(net, house)]},
                "listen": {"host": "0.0.0.0", "port": 4242}, "punchy": {"punch": True}, "tun": {"dev": "neb0"},
                "logging": {"level": "error", "format": "text"}, "firewall": {"outbound": everything, "inbound": everything}}
            if n != house:
                config["static_host_map"] = {self.addr(net, house): [f"{net.addr(house, n)}:4242"]}
            if middle:
                config["relay"] = {"am_relay": True} if n == middle else {"relays": [self.addr(net, middle)], "use_relays": True}
            with open(os.path.join(net.dir, n + ".yml"), "w") as f:
                json.dump(config, f)

    def start(self, net, node):
        proc = net.spawn(node, "nebula", "-config", os.path.join(net.dir, node + ".yml"), log=node + ".log")
        net.wait_device(node, "neb0", proc)
        return [proc]

    def device(self, net, node):
        return "neb0"


class Yggdrasil(Product):
    max_hops, settle = 9, 3.0

    def __init__(self, mtu=None):
        self.mtu = mtu
        self.name = f"yggdrasil-mtu{mtu}" if mtu else "yggdrasil"
        self.about = "TLS peering, " + (f"interface MTU {mtu}, as an ordinary tunnel has" if mtu else "default interface MTU (65535)")
        if mtu:
            self.max_hops = 1

    def missing(self):
        return lacks("yggdrasil")

    def version(self):
        return run("dpkg-query", "-W", "-f", "${Version}", "yggdrasil", check=False).stdout.strip()

    def setup(self, net):
        self.addresses = {}
        for at, n in enumerate(net.nodes):
            config = json.loads(run("yggdrasil", "-genconf", "-json").stdout)
            # The later started of two dials: a failed dial is only tried again after a minute.
            config["Peers"] = [f"tls://{net.addr(f, n)}:9001" for f in net.neighbours(n) if net.nodes.index(f) < at]
            config["Listen"] = [f"tls://{net.addr(n, f)}:9001" for f in net.neighbours(n) if net.nodes.index(f) > at]
            config.update(MulticastInterfaces=[], AdminListen="none", IfName="ygg0", IfMTU=self.mtu or 65535)
            path = os.path.join(net.dir, n + ".conf")
            with open(path, "w") as f:
                json.dump(config, f)
            self.addresses[n] = run("yggdrasil", "-useconffile", path, "-address").stdout.strip()

    def start(self, net, node):
        proc = net.spawn(node, "yggdrasil", "-useconffile", os.path.join(net.dir, node + ".conf"), "-loglevel", "error",
                         log=node + ".log")
        net.wait_device(node, "ygg0", proc)
        if net.nodes.index(node) + 1 < len(net.nodes):
            wait_for("listening", 5, lambda: ":9001" in net.sh(node, "ss", "-ltn").stdout, 0.02)
        return [proc]

    def addr(self, net, node):
        return self.addresses[node]

    def device(self, net, node):
        return "ygg0"


def outside_wireguard():
    return WireGuard("wireguard-go", os.environ.get("WIREGUARD_GO") or os.path.join(CACHE, "bin", "wireguard-go"),
                     "current wireguard-go, with its own TUN and UDP offloads", ["-f"], offload=True)


def outside_boringtun():
    return WireGuard("boringtun", os.environ.get("BORINGTUN") or os.path.join(CACHE, "bin", "boringtun-cli"),
                     "boringtun-cli from its crate", ["-f", "--disable-drop-privileges"])


def debian_wireguard():
    return WireGuard("wireguard-go-debian", "/usr/bin/wireguard-go", "Debian 12's wireguard-go, from before its offloads", ["-f"])


def peers():
    """All but weft and the reference, in the order of the tables."""
    return [Veth(), NullTunnel(0), NullTunnel(2), outside_wireguard(), debian_wireguard(), outside_boringtun(), Nebula(), Tinc(),
            Yggdrasil(), Yggdrasil(1420)]
