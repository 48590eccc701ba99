#!/usr/bin/env python3
"""What links carry is found out while they run. Needs root, iproute2, ping, iperf3.

Usage: test_mtu.py [--long] [NAME...]     WEFTD names the daemon (else build/release is used)
"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import main, test  # noqa: E402
from lab import Kind, Lab, LabError, chain, find_weftd, reaches, run, wait_for  # noqa: E402
from traffic import Tcp, tcp_mbit  # noqa: E402

V4 = 28  # IPv4 and UDP headers
FRAME = 77  # what weft puts around an IPv6 packet


def new_lab():
    return Lab("wm", {"weft": Kind("weft", find_weftd())})


def link_to(node, letter):
    want = node.lab.npub(letter)
    ids = [p["link_id"] for p in node.ask("show_peers")["peers"] if p["npub"] == want]
    return next((row for row in node.ask("show_links")["links"] if row["link_id"] in ids and row["state"] == "connected"), None)


def link_mtu(node, letter):
    row = link_to(node, letter)
    return row["weft"]["mtu"] if row else 0


def carries(node, letter, mtu, seconds=8):
    try:
        begin = time.monotonic()
        wait_for("", seconds, lambda: link_mtu(node, letter) == mtu, 0.05)
        return time.monotonic() - begin
    except LabError:
        raise LabError(f"{node.letter}-{letter} carries {link_to(node, letter)['weft']}, not {mtu}, after {seconds} s") from None


def settled(node, letter, seconds=8):
    wait_for(f"{node.letter}-{letter} settled", seconds, lambda: link_to(node, letter)["weft"]["mtu_from"] == "found")


def tun_mtu(node):
    return int(re.search(r"mtu (\d+)", node.sh("ip", "-o", "link", "show", node.tun).stdout).group(1))


def whole(src, dst, size, count=3):
    """Replies to echo requests of `size` bytes of IPv6 in all that may not be fragmented."""
    p = src.sh("ping", "-6", "-n", "-M", "do", "-c", str(count), "-i", "0.2", "-W", "1", "-s", str(size - 48), dst.addr, check=False)
    return int(re.search(r"(\d+) received", p.stdout).group(1))


def losses(node):
    """Of its links, as they were ever measured."""
    return [m["link_layer"]["smoothed_loss"] for m in node.ask("show_mmp")["peers"] if "smoothed_loss" in m["link_layer"]]


def set_mtu(node, device, mtu):
    node.sh("ip", "link", "set", device, "mtu", str(mtu))


@test
def jumbo_frames_between_neighbours():
    with new_lab() as lab:
        a, b = chain(lab, 2, mtu=9000)
        lab.start()
        reaches(a, b)
        took = max(carries(a, "b", 9000 - V4), carries(b, "a", 9000 - V4))
        wait_for("interface of 8895", 3, lambda: tun_mtu(a) == tun_mtu(b) == 9000 - V4 - FRAME)
        assert a.ask("show_status")["weft"]["tun_mtu"] == 9000 - V4 - FRAME
        assert whole(a, b, 9000 - V4 - FRAME) == 3
        rate = tcp_mbit(a, b, seconds=2)
        settled(a, "b")
        time.sleep(2)
        assert not any(losses(a) + losses(b)), f"probes count as loss: {losses(a)} {losses(b)}"
        assert link_to(a, "b")["weft"]["black_holes"] == 0
        return f"found within {took:.1f} s of the first ping, {rate:.0f} Mbit/s"


@test
def mtu_changes_while_a_stream_flows():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        lab.start()
        reaches(a, b)
        carries(a, "b", 1500 - V4)
        tcp = Tcp(a, b, 9)
        time.sleep(2)
        for n, dev in ((a, "w1b"), (b, "w1a")):
            set_mtu(n, dev, 9000)
        grown = carries(a, "b", 9000 - V4)
        time.sleep(1)
        for n, dev in ((a, "w1b"), (b, "w1a")):
            set_mtu(n, dev, 1400)
        shrunk = carries(a, "b", 1400 - V4)
        rates = tcp.rates()
        assert min(rates[1:]) > 1, f"the stream stood still: {rates}"
        assert a.linked_to("b")
        after = tcp_mbit(a, b, seconds=1)
        assert after > 5, f"{after} Mbit/s afterwards"
        return f"grown after {grown:.1f} s, shrunk after {shrunk:.1f} s; Mbit/s " + " ".join(f"{r:.0f}" for r in rates)


@test
def a_silent_bottleneck_is_found_and_followed():
    """A switch drops frames that its far port is too narrow for, and says nothing."""
    with new_lab() as lab:
        a, b = lab.node("a"), lab.node("b")
        switch = f"{lab.prefix}sw"
        run("ip", "netns", "add", switch)
        try:
            def sw(*args):
                run("ip", "netns", "exec", switch, *args)
            sw("ip", "link", "add", "br0", "mtu", "9000", "type", "bridge")
            sw("ip", "link", "set", "br0", "up")
            for n, ip, other in ((a, "10.78.0.1", "b"), (b, "10.78.0.2", "a")):
                run("ip", "link", "add", "e0", "netns", n.ns, "mtu", "9000", "type", "veth", "peer", "name", f"p{n.letter}",
                    "netns", switch, "mtu", "9000")
                n.sh("ip", "addr", "add", f"{ip}/24", "dev", "e0")
                n.sh("ip", "link", "set", "e0", "up")
                sw("ip", "link", "set", f"p{n.letter}", "master", "br0")
                sw("ip", "link", "set", f"p{n.letter}", "up")
                n.peers.append((other, f"10.78.0.{2 if other == 'b' else 1}:2121"))
            lab.know_everybody()
            sw("ip", "link", "set", "pb", "mtu", "1500")
            lab.start()
            reaches(a, b)
            found = carries(a, "b", 1500 - V4)
            carries(b, "a", 1500 - V4)  # such a port takes no more than it gives
            wait_for("interface of 1395", 3, lambda: tun_mtu(a) == 1500 - V4 - FRAME)
            assert whole(a, b, 1500 - V4 - FRAME) == 3
            sw("ip", "link", "set", "pb", "mtu", "1400")
            pings = a.popen("ping", "-6", "-n", "-i", "0.02", "-s", "1200", "-w", "6", b.addr)
            lost = carries(a, "b", 1400 - V4)
            pings.communicate(timeout=20)
            assert link_to(a, "b")["weft"]["black_holes"] == 1
            assert "no longer carries" in a.log_tail(100)
            assert tcp_mbit(a, b, seconds=1) > 5
            return f"found within {found:.1f} s, its narrowing within {lost:.1f} s"
        finally:
            run("ip", "netns", "del", switch, check=False)


@test
def a_narrow_middle_between_jumbo_links():
    with new_lab() as lab:
        for pair, mtu in (("ab", 9000), ("bc", 1500), ("cd", 9000)):
            lab.wire(pair[0], pair[1], mtu=mtu)
        lab.know_everybody()
        a, b, c, d = (lab.node(x) for x in "abcd")
        lab.start()
        reaches(a, d, 25)
        reaches(d, a)
        carries(a, "b", 9000 - V4)
        carries(b, "c", 1500 - V4)
        carries(d, "c", 9000 - V4)
        for x, y in ((a, d), (d, a)):
            assert tcp_mbit(x, y, seconds=1) > 5
            assert whole(x, y, 1500 - V4 - FRAME) == 3
        assert whole(a, b, 8000) == 3, "what one path cannot, another can"
        paths = {s["remote_addr"]: s["mmp"]["path_mtu"] for s in a.ask("show_sessions")["sessions"] if "mmp" in s}
        assert 1500 - V4 in paths.values(), paths
        return f"path MTUs of a: {sorted(paths.values())}"


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("these tests make network namespaces and need root")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
