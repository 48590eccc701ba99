#!/usr/bin/env python3
"""weft probe, trace and doctor: each failure provoked, and what is said about it. Needs root, iproute2, nft.

Usage: test_explained.py [NAME...]     WEFTD names the daemon (else build/release is used), WEFT the client (else the one of that build)
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import main, test  # noqa: E402
from lab import Kind, Lab, find_weft, find_weftd, reaches, wait_for  # noqa: E402

STRANGER = "npub16xhnhwaxzu3w6dlf88eqnea52cqx9crdwhx4s807zd9nxmng3seqfc587p"


def new_lab(prefix="wx"):
    return Lab(prefix, {"weft": Kind("weft", find_weftd())})


def weft(node, *args, timeout=40):
    return subprocess.run(node.argv(find_weft(), "-s", node.socket_path, *args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=timeout)


def chain(lab, n, **options):
    for x, y in zip("abcd"[:n - 1], "abcd"[1:n]):
        lab.wire(x, y)
    lab.know_everybody()
    nodes = [lab.node(x) for x in "abcd"[:n]]
    for node in nodes:
        node.node_options["lookup"] = {"attempt_timeouts_secs": [1, 1]}
        node.node_options.update(options)
    return nodes


def has(p, *words, code=None):
    for w in words:
        assert w in p.stdout, f"{w!r} missing in:\n{p.stdout}"
    if code is not None:
        assert p.returncode == code, f"exit {p.returncode}:\n{p.stdout}"


def interfaces_follow(*nodes):
    """Links over veth pairs of 1500 bytes have found out what they carry, and so have the interfaces: their MTU."""
    for n in nodes:
        wait_for(f"the interface of {n.letter} to follow its links", 10, lambda: n.ask("show_status")["weft"]["tun_mtu"] == 1395)
    return 1395


def stages(node, target):
    """Verdict and reason of each stage."""
    p = weft(node, "--json", "probe", target)
    report = json.loads(p.stdout)
    return {s["stage"]: (s["verdict"], s["reason"]) for s in report["weft"]["stages"]}, report


@test
def probe_and_trace_over_three():
    with new_lab() as lab:
        a, b, c = chain(lab, 3)
        lab.start()
        reaches(a, c)
        interfaces_follow(a, b, c)
        has(weft(a, "probe", "node-c"), "claimed", "node-b", "next hop node-b", "1395 bytes", "reachable", code=0)
        has(weft(a, "probe", "node-b"), "it is a neighbour", "reachable", code=0)
        has(weft(a, "probe", lab.addr("c")), "reachable", code=0)
        trace = weft(a, "trace", "node-c")
        has(trace, "node-b", "this node's next hop", "the target; it answered", "links back", "2, by the hop limit", code=0)
        ok, report = stages(a, "node-c.fips")
        assert all(v == "ok" or v == "skipped" for v, _ in ok.values()), ok
        assert report["weft"]["rtt_by_echo"] and report["weft"]["walk"]["links_back"] == 2, report["weft"]
        # what the probe sent did not end up at programs of this machine, nor was anything left in the daemon
        assert a.ask("probe_start", npub=lab.npub("c"))["probe_id"] == 6
        return f"round trip {report['weft']['rtt_us']} us"


@test
def probe_names_the_stage_that_fails():
    with new_lab() as lab:
        a, b, c = chain(lab, 3, link_dead_timeout_secs=60)
        lab.start()
        has(weft(a, "probe", "nobody-at-all"), "neither an npub nor a name", code=1)
        has(weft(a, "probe", "fd00::1"), "no key is known", code=1)
        has(weft(a, "probe", lab.npub("a")), "cannot probe this node", code=1)
        reaches(a, c)
        p = weft(a, "probe", STRANGER)
        has(p, "none of 1 neighbour claims", "weft status", "not reachable", code=1)
        # Gone without a word. There are keys and a place for it: nothing comes back, and nobody answers for it any more.
        c.stop(signal.SIGKILL)
        got, report = stages(a, "node-c")
        assert got["round_trip"] == ("failed", "no_report") and got["recheck"] == ("failed", "bloom_unconfirmed"), got
        assert report["overall"] == "failed" and "it has gone" in report["weft"]["conclusion"], report["weft"]["conclusion"]
        # Without either: b's filter goes on claiming it, so the lookup is what fails.
        a.stop()
        a.start()
        wait_for("b's filter", 10, lambda: any(f["has_filter"] for f in a.ask("show_bloom")["peer_filters"]))
        got, report = stages(a, "node-c")
        assert got["filter"] == ("ok", None) and got["lookup"] == ("failed", "bloom_unconfirmed"), got
        assert got["session"][1] == "not_reached" and report["overall"] == "failed"
        # A daemon without its IPv6 side.
        c.sections["tun"] = {"enabled": False}
        c.start()
        wait_for("c linked again", 20, lambda: c.linked_to("b"))
        got = wait_for("c's daemon answers", 20, lambda: answered(a))
        assert got["ping"] == ("failed", "ip_silent"), got
        has(weft(a, "probe", "node-c"), "its IPv6 side does not answer ping", "tun.enabled", code=1)


def answered(node):
    got, _ = stages(node, "node-c")
    return got if got["round_trip"][0] == "ok" else None


@test
def probe_finds_the_largest_packet():
    with new_lab() as lab:
        a, b, c = chain(lab, 3)
        for n in (a, b, c):
            n.mtu_discovery = False  # which would find out, and mend it, while the probe looks
        lab.start()
        reaches(a, c)
        c.sh("nft", "add table inet t; add chain inet t i { type filter hook input priority 0; }; "
                    "add rule inet t i udp dport 2121 meta length > 1100 drop")
        got, report = stages(a, "node-c")
        assert got["full_size"] == ("failed", "too_big_lost") and got["ping"][0] == "ok", got
        largest = report["weft"]["largest_passed"]
        assert 1100 - 28 - 77 - 20 < largest <= 1100 - 28 - 77, largest
        has(weft(a, "probe", "node-c"), "do not come back", f"transports.udp.mtu: {largest + 77}", "not with large packets", code=1)


@test
def probes_are_few_and_end_with_their_client():
    with new_lab() as lab:
        a, b = chain(lab, 2, link_dead_timeout_secs=60)
        lab.wire("b", "c")
        c = lab.node("c")
        lab.know_everybody()
        c.node_options["lookup"] = a.node_options["lookup"]
        for n in (a, b):
            n.node_options["lookup"] = {"attempt_timeouts_secs": [5, 5]}
        lab.start()
        reaches(a, c)
        c.stop(signal.SIGKILL)
        clients = [a.popen(find_weft(), "-s", a.socket_path, "probe", "node-c") for _ in range(4)]
        wait_for("four probes under way", 5, lambda: not start_one(a, lab.npub("c")))
        for p in clients:
            p.kill()
            p.wait()
        # The four are given up at once, long before their ten seconds of waiting are over.
        wait_for("room again", 2, lambda: start_one(a, lab.npub("c")))


def start_one(node, npub):
    try:
        job = node.ask("probe_start", npub=npub)["probe_id"]
    except ValueError:
        return False
    node.ask("probe_cancel", probe_id=job)
    node.ask("probe_poll", probe_id=job)
    return True


# ---- doctor -----------------------------------------------------------------------------------------------------------


def doctor(node, *args, wrap=()):
    p = subprocess.run(node.argv(*wrap, find_weft(), "-s", node.socket_path, "--json", "doctor", "-c", node.config_path, *args),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=40)
    assert p.stdout, f"exit {p.returncode}: {p.stderr}"
    return p.returncode, json.loads(p.stdout)["checks"]


def finds(node, check, grade, text, fix, *args, wrap=()):
    code, checks = doctor(node, *args, wrap=wrap)
    hits = [c for c in checks if c["check"] == check and c["grade"] == grade and text in c["text"]]
    assert hits, f"no {grade} {check} with {text!r} in\n" + "\n".join(f"{c['grade']} {c['check']}: {c['text']}" for c in checks)
    assert any(fix in f for f in hits[0]["fixes"]), f"{fix!r} not among {hits[0]['fixes']}"
    assert code == (1 if any(c["grade"] == "fail" for c in checks) else 4), code


def well(node, *but):
    code, checks = doctor(node)
    wrong = [c for c in checks if c["grade"] != "ok" and c["check"] not in but]
    assert not wrong, wrong
    return code, checks


class SystemResolver:
    """The namespace's own resolv.conf names the responder, which listens on the usual port."""

    def __init__(self, node):
        self.dir = f"/etc/netns/{node.ns}"

    def __enter__(self):
        os.makedirs(self.dir)
        with open(f"{self.dir}/resolv.conf", "w") as f:
            f.write("nameserver ::1\noptions timeout:1 attempts:1\n")

    def __exit__(self, *_):
        os.unlink(f"{self.dir}/resolv.conf")
        os.rmdir(self.dir)
        try:
            os.rmdir("/etc/netns")
        except OSError:
            pass


@test
def doctor_finds_nothing_where_all_is_well():
    with new_lab() as lab:
        lab.wire("a", "b", dialers="b")
        lab.know_everybody()
        a = lab.node("a")
        with SystemResolver(a):
            a.sections["dns"] = {"enabled": True, "port": 53}
            lab.start()
            wait_for("link", 10, lambda: a.linked_to("b"))
            interfaces_follow(a, lab.node("b"))
            code, checks = well(a, "firewall")
            said = {c["check"]: c["text"] for c in checks}
            assert "reachable" in said["port"] and "1395 bytes" in said["packet"], said
            assert "programs get the answers" in said["names"], said
            # Without the resolver's help: weftd answers, nobody asks it.
            with open(f"/etc/netns/{a.ns}/resolv.conf", "w") as f:
                f.write("nameserver 127.0.0.9\noptions timeout:1 attempts:1\n")
            finds(a, "names", "warn", "does not ask it", "::1")
        holder = lab.node("b").popen("python3", "-c", "import socket,time; s=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM); "
                                     "s.bind(('::1',5354)); print('bound',flush=True); time.sleep(60)")
        assert "bound" in holder.stdout.readline()
        b = lab.node("b")
        b.stop()
        b.sections["dns"] = {"enabled": True, "port": 5354}
        b.start()
        finds(b, "names", "fail", "does not answer", "ss -ulpn")
        holder.kill()
        holder.wait()


@test
def doctor_without_a_daemon():
    with new_lab() as lab:
        a = lab.node("a")
        a.write_config()
        finds(a, "daemon", "fail", "does not run", "systemctl start weft")
        busy = a.popen("python3", "-c", "import socket,time; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); "
                                        "s.bind(('0.0.0.0',2121)); print('bound',flush=True); time.sleep(60)")
        assert "bound" in busy.stdout.readline()
        finds(a, "port", "fail", "holds this port", "ss -ulpn")
        busy.kill()
        busy.wait()
        finds(a, "interface", "fail", "/dev/net/tun", "modprobe tun", wrap=("unshare", "-m", "sh", "-c", 'mount -t tmpfs t /dev/net && exec "$@"', "sh"))
        no_admin = ("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin")
        finds(a, "interface", "fail", "CAP_NET_ADMIN", "--cap-add NET_ADMIN", wrap=no_admin)
        with open("/proc/sys/net/core/rmem_max") as f:
            if int(f.read()) < 2 << 20:
                finds(a, "buffers", "warn", "socket buffers", "net.core.rmem_max=", wrap=no_admin)
        a.sh("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        finds(a, "interface", "fail", "IPv6 is switched off", "disable_ipv6=0")
        a.sh("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=0")
        with open(a.config_path, "w") as f:
            f.write("tun: { mtu: 300 }\n")
        finds(a, "config", "fail", "tun.mtu", "weftd --check")


@test
def doctor_finds_what_is_broken_while_it_runs():
    with new_lab() as lab:
        a, b = lab.node("a"), lab.node("b")
        w, _ = lab.wire("a", "b")
        lab.know_everybody()
        lab.start()
        reaches(a, b)
        mtu = interfaces_follow(a, b)
        well(a, "firewall")
        a.sh("ip", "link", "set", "weft0", "mtu", "1300")
        finds(a, "mtu", "warn", "MTU 1300", f"ip link set weft0 mtu {mtu}")
        a.sh("ip", "link", "set", "weft0", "mtu", str(mtu))
        a.sh("ip", "link", "set", w, "mtu", "1290")
        finds(a, "mtu", "warn", "takes packets of 1290 bytes", "transports.udp.mtu: 1262")
        a.sh("ip", "link", "set", w, "mtu", "1500")
        a.sh("ip", "-6", "addr", "del", f"{a.addr}/128", "dev", "weft0")
        finds(a, "interface", "fail", "lost its address", f"ip -6 addr add {a.addr}/128 dev weft0")
        a.sh("ip", "-6", "addr", "add", f"{a.addr}/128", "dev", "weft0", "nodad")
        a.sh("ip", "-6", "route", "del", "fd00::/8", "dev", "weft0")
        finds(a, "route", "fail", "no route", "ip -6 route replace fd00::/8 dev weft0")
        a.sh("ip", "-6", "route", "add", "fd00::/8", "dev", w)
        finds(a, "route", "fail", f"goes to {w}", "ip -6 route replace")
        a.sh("ip", "-6", "route", "replace", "fd00::/8", "dev", "weft0")
        # A route that swallows the peer's own address: packets for it would go round in circles.
        a.sh("ip", "route", "add", "10.77.1.2/32", "dev", "weft0")
        finds(a, "underlay", "fail", "round in circles", "ip route get", "--no-packet")
        a.sh("ip", "route", "del", "10.77.1.2/32")
        b.sh("nft", "add table inet t; add chain inet t i { type filter hook input priority 0; }; "
                    "add rule inet t i udp dport 2121 meta length > 1100 drop")
        finds(a, "packet", "warn", "do not come back", "transports.udp.mtu")
        b.sh("nft", "delete table inet t")
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        p = subprocess.run(a.argv(*nobody, find_weft(), "-s", a.socket_path, "doctor"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert p.returncode == 1 and ("usermod -aG weft" in p.stdout or "does not run" in p.stdout), p.stdout
        assert "FAIL  port" not in p.stdout, f"the port is held by the very weftd that may not be asked:\n{p.stdout}"
        a.ask("peer_add", npub=STRANGER, addresses=["192.0.2.9:2121"])
        finds(a, "underlay", "warn", "cannot be sent to", "ip route")


@test
def doctor_says_why_there_is_no_link():
    with new_lab() as lab:
        a, b = lab.node("a"), lab.node("b")
        lab.wire("a", "b", dialers="a")
        lab.know_everybody()
        with open(os.path.join(b.dir, "peers.deny"), "w") as f:
            f.write(f"# not this one\n{lab.npub('a')}\n")
        lab.start()
        wait_for("refusal", 10, lambda: b.ask("show_refusals")["refusals"])
        finds(a, "links", "fail", "not linked", "")
        finds(b, "acl", "warn", "peers.deny", "peers.allow")
        # The side that refuses names the cause; the other one knows only silence.
        has(weft(b, "refusals"), "peers.deny")
        has(weft(b, "status"), "peers.deny")
        os.unlink(os.path.join(b.dir, "peers.deny"))
        wait_for("link after the list went", 30, lambda: a.linked_to("b"))


@test
def each_refused_handshake_has_a_cause():
    with new_lab() as lab:
        a, b, c = lab.node("a"), lab.node("b"), lab.node("c")
        lab.wire("a", "b", dialers="b")
        lab.wire("a", "c", dialers="c")
        lab.know_everybody()
        a.node_options["limits"] = {"max_peers": 1}
        a.node_options["rate_limit"] = {"handshake_burst": 5, "handshake_rate": 1.0}
        lab.start(["a", "b"])
        wait_for("b's link", 10, lambda: a.linked_to("b"))

        def reasons():
            reply = a.ask("show_refusals")
            return {r["reason"] for r in reply["refusals"]} | {r["reason"] for r in reply["counted"]}
        c.start()
        wait_for("the limit named", 10, lambda: "max_peers" in reasons())
        has(weft(a, "refusals"), "node-c", "max_peers")
        c.stop()
        # Dialled under another node's key.
        c.peers = [("d", "10.77.2.1:2121")]
        c.start()
        wait_for("the wrong key named", 10, lambda: "bad_handshake" in reasons())
        has(weft(a, "status"), "not for our key", lab.npub("a"))
        c.stop()
        # Another version, then too many at once; neither says who it is.
        c.sh("python3", "-c", "import socket; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
             "s.sendto(bytes([0x11])+bytes(113),('10.77.2.1',2121))\n"
             "for i in range(40): s.sendto(bytes([0x01,0,110,0])+bytes(110),('10.77.2.1',2121))")
        wait_for("the version named", 5, lambda: "wrong_version" in reasons())
        wait_for("the rate named", 5, lambda: "handshake_rate" in reasons())
        has(weft(a, "refusals"), "wrong_version", "handshake_rate")


@test
def doctor_notices_a_wrong_clock():
    with new_lab() as lab:
        a, b = lab.node("a"), lab.node("b")
        lab.wire("a", "b")
        lab.know_everybody()
        source, shift = os.path.join(lab.dir, "shift.c"), os.path.join(lab.dir, "shift.so")
        with open(source, "w") as f:
            f.write("#define _GNU_SOURCE\n#include <time.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
                    "int clock_gettime(clockid_t c, struct timespec *t) { long r = syscall(SYS_clock_gettime, c, t);\n"
                    "  if (c == CLOCK_REALTIME) t->tv_sec -= 7200; return (int)r; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", shift, source], check=True)
        a.env = {"LD_PRELOAD": shift}
        lab.start()
        wait_for("link", 10, lambda: a.linked_to("b"))
        wait_for("b's announce", 10, lambda: a.ask("show_tree")["peers"])
        finds(a, "clock", "warn", "at least 2 h 0 min behind", "set-ntp true")


# ---- import -----------------------------------------------------------------------------------------------------------


def imports(node, *args, code=0):
    p = subprocess.run([find_weft(), "import", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    assert p.returncode == code, p.stdout
    return p.stdout


def mode_of(path):
    s = os.stat(path)
    return s.st_mode & 0o777, s.st_uid, s.st_gid


@test
def import_takes_a_node_over():
    with new_lab() as lab:
        a, b = lab.node("a"), lab.node("b")
        lab.wire("b", "a", dialers="b")
        lab.know_everybody()
        old, new = os.path.join(lab.dir, "fips"), os.path.join(lab.dir, "etc", "weft")
        os.mkdir(old)
        key = subprocess.run([find_weft(), "keygen", "-s"], capture_output=True, text=True, check=True).stdout.split()
        files = {
            "fips.yaml": "# my node\nnode:\n  identity: { persistent: true }\n  discovery: { ttl: 32 }\n  tick_interval_secs: 2\n"
                         f"  control: {{ socket_path: {a.socket_path} }}\n"
                         "tun: { enabled: true, name: weft0 }\ndns: { enabled: false }\n"
                         "transports:\n  udp: { bind_addr: \"0.0.0.0:2121\" }\n  tcp: { bind_addr: \"0.0.0.0:8443\" }\n"
                         f"peers:\n  - {{ npub: {lab.npub('b')}, alias: bee, addresses: [ {{ transport: udp, addr: \"10.77.1.1:2121\" }} ] }}\n",
            "fips.key": key[0] + "\n", "fips.pub": key[1] + "\n", "hosts": f"far {STRANGER}\n",
            "peers.allow": "bee\n", "peers.deny": "ALL\n"}
        for name, text in files.items():
            with open(os.path.join(old, name), "w") as f:
                f.write(text)
        os.chmod(os.path.join(old, "fips.key"), 0o600)
        args = (old, "--to", new, "--user", "nobody")
        said = imports(a, *args, "--dry-run")
        assert "nothing was written (--dry-run)" in said and not os.path.exists(new), said
        for words in ("transport tcp: not supported yet", "node.tick_interval_secs: no effect", "node.discovery",
                      "no firewall on the mesh interface", "--socket"):
            assert words in said, f"{words} missing in\n{said}"
        said = imports(a, *args)
        nobody = (65534, os.stat("/").st_gid)
        import pwd
        gid = pwd.getpwnam("nobody").pw_gid
        assert mode_of(f"{new}/weft.key") == (0o600, nobody[0], gid), mode_of(f"{new}/weft.key")
        assert mode_of(f"{new}/weft.yaml") == (0o640, 0, gid)
        with open(f"{new}/weft.yaml") as f:
            assert f.read() == files["fips.yaml"], "copied as it is, remarks and all"
        stamp = {n: os.stat(f"{new}/{n}").st_mtime_ns for n in os.listdir(new)}
        assert set(stamp) == {"weft.yaml", "weft.key", "weft.pub", "hosts", "peers.allow", "peers.deny"}, stamp
        # Again: nothing to do, and nothing done.
        said = imports(a, *args)
        assert "copied" not in said.split("\n\n")[0] and stamp == {n: os.stat(f"{new}/{n}").st_mtime_ns for n in stamp}, said
        with open(f"{new}/hosts", "a") as f:
            f.write("# mine\n")
        said = imports(a, *args, code=1)
        assert "DIFFERS" in said and "--force" in said, said
        with open(f"{new}/hosts") as f:
            assert "# mine" in f.read()
        imports(a, *args, "--force")
        with open(f"{new}/hosts.old") as f:
            assert "# mine" in f.read(), "what was replaced is kept"
        os.chown(f"{new}/weft.key", 0, 0)  # this test's daemon runs as root
        # And it runs: the same identity, names and lists.
        log = open(os.path.join(lab.dir, "imported.log"), "w")
        a.proc = subprocess.Popen(a.argv(a.kind.daemon, "-c", f"{new}/weft.yaml"), stdout=log, stderr=log)
        wait_for("the imported node", 10, a.alive)
        assert a.ask("show_status")["npub"] == key[1]
        assert a.ask("resolve", name="far")["npub"] == STRANGER
        assert a.ask("show_acl")["effective_mode"] == "allow_then_deny_all"
        assert "not supported yet" in subprocess.run([find_weft(), "-s", a.socket_path, "transports"], capture_output=True, text=True).stdout


@test
def import_refuses_what_it_cannot_use():
    with new_lab() as lab:
        a = lab.node("a")
        old, new = os.path.join(lab.dir, "fips"), os.path.join(lab.dir, "weft")
        assert "does not exist" in imports(a, old, "--to", new, code=1)
        os.mkdir(old)
        assert "nothing to import" in imports(a, old, "--to", new, code=1)
        with open(os.path.join(old, "fips.yaml"), "w") as f:
            f.write("node: { limits: { max_peers: many } }\n")
        assert "fips.yaml:1" in imports(a, old, "--to", new, code=1)
        with open(os.path.join(old, "fips.yaml"), "w") as f:
            f.write("node: { identity: { persistent: true } }\ntransports: { udp: {} }\n")
        with open(os.path.join(old, "fips.key"), "w") as f:
            f.write("nsec1garbage\n")
        assert "holds no usable key" in imports(a, old, "--to", new, code=1)
        os.unlink(os.path.join(old, "fips.key"))
        assert "makes a new key" in imports(a, old, "--to", new, "--user", "no-such-user")
        assert not os.path.exists(f"{new}/weft.key")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
