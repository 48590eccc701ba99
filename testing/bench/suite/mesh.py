"""weft and the reference: nodes of one mesh, described by one schema of configuration."""
import hashlib
import json
import os
import socket

from lab import LabError, mesh_addr, run, wait_for
from products import ROOT, WEFT_TUN_MTU, Product, lacks

WEFTD = os.path.abspath(os.environ.get("WEFTD") or os.path.join(ROOT, "build", "release", "daemon", "weftd", "weftd"))
LINK_MTU = 1472  # what an Ethernet of 1500 takes, over IPv4
P = 2**256 - 2**32 - 977
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)
CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def _add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    m = (3 * a[0] * a[0] * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)) % P
    x = (m * m - a[0] - b[0]) % P
    return x, (m * (a[0] - x) - a[1]) % P


def _npub(key):
    bits = int.from_bytes(key, "big") << 4  # 256 bits in 52 groups of five
    data = [bits >> 5 * (51 - i) & 31 for i in range(52)]
    check = 1
    for v in [ord(c) >> 5 for c in "npub"] + [0] + [ord(c) & 31 for c in "npub"] + data + [0] * 6:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ v
        for i, g in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= g if top >> i & 1 else 0
    return "npub1" + "".join(CHARSET[v] for v in data + [(check ^ 1) >> 5 * (5 - i) & 31 for i in range(6)])


def identity(name, made={}):
    """(secret, npub, mesh address) for a name, the same in every run; by the schoolbook curve, so that no library is needed."""
    if name not in made:
        secret = hashlib.sha256(f"bench {name}".encode()).digest()
        k, q, base = int.from_bytes(secret, "big"), None, G
        while k:
            q, base, k = (_add(q, base) if k & 1 else q), _add(base, base), k >> 1
        npub = _npub(q[0].to_bytes(32, "big"))
        made[name] = secret.hex(), npub, mesh_addr(npub)
    return made[name]


class Mesh(Product):
    offload, max_hops, settle = True, 9, 3.0

    def __init__(self, name, binary, about, env=None, node_options=None, small=()):
        self.name, self.binary, self.about, self.env = name, binary, about, env or {}
        self.node_options = node_options or {}
        self.small = small  # nodes that get one worker of each kind
        self.is_weft = not name.startswith("reference")

    def missing(self):
        return lacks(self.binary) if self.binary else "FIPS names no program"

    def version(self):
        return run(self.binary, "--version", check=False).stdout.splitlines()[0].strip()

    def device(self, net, node):
        return "mesh0"

    def addr(self, net, node):
        return identity(node)[2]

    def _peer(self, far, address, policy):
        return {"npub": identity(far)[1], "alias": "node-" + far, "connect_policy": policy,
                "addresses": [{"transport": "udp", "addr": address}]}

    def config(self, net, node):
        peers = [self._peer(far, f"{net.addr(far, node)}:2121", "auto_connect") for far in net.neighbours(node)
                 if len(net.nodes) < 10 or far == net.nodes[0]]  # in a large star only the spokes dial
        if not self.is_weft:  # it learns whose address belongs to which key from its list of peers only
            peers += [self._peer(far, "10.255.255.1:9", "manual") for far in net.nodes
                      if far != node and far not in net.neighbours(node)]
        return {
            "node": {"identity": {"nsec": identity(node)[0]}, "control": {"enabled": True, "socket_path": self.socket(net, node)},
                     **self.node_options},
            "tun": {"enabled": True, "name": "mesh0", "mtu": WEFT_TUN_MTU},
            "dns": {"enabled": False},
            "transports": {"udp": {"bind_addr": "0.0.0.0:2121", "mtu": LINK_MTU}},
            "peers": peers}

    def socket(self, net, node):
        return os.path.join(net.dir, node, "control.sock")

    def setup(self, net):
        hosts = "".join(f"node-{n} {identity(n)[1]}\n" for n in net.nodes)
        for n in net.nodes:
            folder = os.path.join(net.dir, n)
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "node.yaml")
            with open(path, "w") as f:
                os.fchmod(f.fileno(), 0o600)
                json.dump(self.config(net, n), f)  # JSON is YAML
            if self.is_weft:
                with open(os.path.join(folder, "hosts"), "w") as f:
                    f.write(hosts)

    def launch(self, net, node, env=None):
        """Starts the daemon and does not wait for anything."""
        one = {"WEFT_ENCRYPT_WORKERS": "1", "WEFT_DECRYPT_WORKERS": "1"} if node in self.small else {}
        return net.spawn(node, self.binary, "-c", os.path.join(net.dir, node, "node.yaml"), log=node + ".log",
                         env={"RUST_LOG": "warn", **self.env, **one, **(env or {})})

    def start(self, net, node):
        proc = self.launch(net, node)
        net.wait_device(node, "mesh0", proc)
        return [proc]

    def ask(self, net, node, command):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(self.socket(net, node))
        s.sendall(json.dumps({"command": command}).encode() + b"\n")
        data = b""
        while chunk := s.recv(65536):
            data += chunk
        s.close()
        reply = json.loads(data)
        if reply.get("status") != "ok":
            raise LabError(f"{command}: {reply.get('message')}")
        return reply["data"]

    def links(self, net, node):
        return sum(p["connectivity"] == "connected" for p in self.ask(net, node, "show_peers")["peers"])

    def wait_links(self, net, node, count, seconds):
        def enough():
            try:
                return self.links(net, node) >= count
            except (OSError, ValueError):
                return False
        wait_for(f"{count} links of {node}", seconds, enough, 0.25)


def weft(name="weft", about="this repository's release build", **kw):
    return Mesh(name, WEFTD, about, **kw)


def weft_with_workers(count):
    n = str(count)
    return weft(f"weft-workers-{n}", f"weft with {n} worker{'s' if count > 1 else ''} each way",
                env={"WEFT_ENCRYPT_WORKERS": n, "WEFT_DECRYPT_WORKERS": n})


def weft_on_listening_sockets():
    return weft("weft-listening", "weft without sockets of its links' own", env={"WEFT_CONNECTED_UDP": "0"})


def reference():
    return Mesh("reference", os.path.abspath(os.environ["FIPS"]) if os.environ.get("FIPS") else "", "a reference daemon, where FIPS names one")
