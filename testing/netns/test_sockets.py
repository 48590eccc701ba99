#!/usr/bin/env python3
"""Links' own sockets and the kernel's offloads while addresses, routes and interfaces change. Needs root, iproute2, ping,
iperf3, ethtool.

Usage: test_sockets.py [NAME...]     WEFTD names the daemon (else build/release is used)
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import main, test  # noqa: E402
from lab import Kind, Lab, chain, find_weftd, reaches, wait_for  # noqa: E402
from traffic import Pings, Stream, Tcp, tcp_mbit  # noqa: E402


def new_lab():
    return Lab("wk", {"weft": Kind("weft", find_weftd())})


def link_to(node, letter):
    """The row of show_links for the link to a neighbour, or None."""
    want = node.lab.npub(letter)
    ids = [p["link_id"] for p in node.ask("show_peers")["peers"] if p["npub"] == want]
    return next((row for row in node.ask("show_links")["links"] if row["link_id"] in ids and row["state"] == "connected"), None)


def own_socket(node, letter, addr=None, seconds=10):
    """Waits until the link has a socket of its own, connected to `addr`."""
    def probe():
        row = link_to(node, letter)
        return row if row and row["socket"] == "connected" and addr in (None, row["remote_addr"]) else None
    return wait_for(f"{node.letter} has a socket of its own for {letter}", seconds, probe)


def connected_count(node):
    return len([line for line in node.sh("ss", "-unH", "state", "established").stdout.splitlines() if ":2121" in line])


@test
def every_link_has_a_socket_of_its_own_and_loses_it_with_the_link():
    with new_lab() as lab:
        a, b, c = chain(lab, 3)
        lab.start()
        reaches(a, c)
        for x, y in ((a, "b"), (b, "a"), (b, "c"), (c, "b")):
            own_socket(x, y)
        assert [connected_count(n) for n in (a, b, c)] == [1, 2, 1]
        pings = Pings(a, c)
        time.sleep(1)
        opened = b.ask("show_dataplane")["connected_udp"]["opened"]
        b.ask("disconnect", npub=lab.npub("a"))
        own_socket(a, "b", seconds=20)
        # the peer is back within milliseconds: one more was opened, and the old one is gone
        wait_for("a new socket in place of the old one", 20, lambda: connected_count(b) == 2 and
                 b.ask("show_dataplane")["connected_udp"]["opened"] > opened)
        reaches(a, c)
        pings.lost()
        c.stop(signal.SIGKILL)
        c.start()
        reaches(a, c)
        own_socket(b, "c")
        own_socket(c, "b")
        counts = b.ask("show_dataplane")["connected_udp"]
        assert counts["open"] == 2 and connected_count(b) == 2, counts
        # what the far sockets' end says while nobody is home (ICMP port unreachable) is no reason to give one up
        assert counts["spoiled"] == 0, counts
        return f"{counts['opened']} opened at the middle, 2 open"


@test
def own_sockets_come_and_go_without_loss():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        # new keys every few seconds: the socket stays; a far address that comes and goes: it is replaced
        lab.start()
        reaches(a, b)
        own_socket(a, "b")
        b.sh("ip", "addr", "add", "10.77.1.30/24", "dev", "w1a")
        a.sh("ip", "addr", "add", "10.77.1.31/24", "dev", "w1b")
        pings = Pings(a, b)
        time.sleep(0.5)
        for src in ("10.77.1.30", "10.77.1.2", "10.77.1.30"):  # the source that b sends from; it keeps both addresses
            b.sh("ip", "route", "replace", "10.77.1.0/24", "dev", "w1a", "src", src)
            own_socket(a, "b", f"{src}:2121")
            time.sleep(0.5)
        lost, sent = pings.lost()
        assert lost == 0, f"{lost} of {sent} pings lost while the sockets changed"
        counts = a.ask("show_dataplane")["connected_udp"]
        assert counts["moved"] >= 3, counts
        assert b.ask("show_dataplane")["connected_udp"]["readdressed"] >= 3
        return f"{lost} of {sent} pings lost over three changes of address"


@test
def without_own_sockets_everything_works_too():
    with new_lab() as lab:
        a, b, c = chain(lab, 3)
        a.env = {"WEFT_CONNECTED_UDP": "0"}
        c.env = {"FIPS_CONNECTED_UDP": "off"}
        lab.start()
        reaches(a, c)
        own_socket(b, "a")
        assert link_to(a, "b")["socket"] == "listening" and link_to(c, "b")["socket"] == "listening"
        assert connected_count(a) == 0 and connected_count(c) == 0
        assert tcp_mbit(a, c, seconds=1) > 20
        b.stop()
        b.env = {"WEFT_CONNECTED_UDP": "0"}
        b.start()
        reaches(a, c)
        assert tcp_mbit(a, c, seconds=1) > 20


@test
def few_descriptors_leave_links_on_the_listening_socket():
    with new_lab() as lab:
        hub = lab.node("a")
        for x in "bcd":
            lab.wire("a", x)
        lab.know_everybody()
        hub.kind = Kind("few", find_weftd(), wrap=("prlimit", f"--nofile={161 + min(os.cpu_count() or 1, 16)}"))
        lab.start()
        for x in "bcd":
            reaches(hub, lab.node(x))
        counts = hub.ask("show_dataplane")["connected_udp"]
        assert counts["open"] == 1 and counts["refused"] >= 1, counts
        assert hub.log_tail(200).count("no descriptors for more") == 1
        assert sorted(link_to(hub, x)["socket"] for x in "bcd") == ["connected", "listening", "listening"]


def trouble(node, cause):
    return node.ask("show_dataplane")["send_troubles"].get(cause, {}).get("count", 0)


@test
def interface_mtu_shrinks_during_a_burst():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        a.mtu = b.mtu = 1472
        lab.start()
        reaches(a, b)
        own_socket(a, "b")
        tcp = Tcp(a, b, 8)
        time.sleep(2)
        a.sh("ip", "link", "set", "w1b", "mtu", "1300")
        b.sh("ip", "link", "set", "w1a", "mtu", "1300")
        time.sleep(2)
        refused = trouble(a, "offload")
        a.sh("ip", "link", "set", "w1b", "mtu", "1500")
        b.sh("ip", "link", "set", "w1a", "mtu", "1500")
        rates = tcp.rates()
        assert refused > 0, "no burst was refused: this test does not see what it should"
        assert min(rates[1:]) > 1, f"the stream stood still: {rates}"
        wait_for("offload is back", 5, lambda: "segmentation offload works again" in a.log_tail(200))
        assert a.log_tail(200).count("would not segment") == 1, "one line"
        assert trouble(a, "too_big") == 0 and trouble(a, "unreachable") == 0
        assert a.linked_to("b")
        return "Mbit/s by second " + " ".join(f"{r:.0f}" for r in rates)


@test
def offloads_are_switched_off_while_a_stream_runs():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        a.mtu = b.mtu = 1472
        lab.start()
        reaches(a, b)
        tcp = Tcp(a, b, 8)
        for state in ("off", "on", "off"):
            time.sleep(1.5)
            for node, dev in ((a, "w1b"), (b, "w1a")):
                node.sh("ethtool", "-K", dev, "tx-udp-segmentation", state, "gro", state, "tx", state, "rx", state)
        rates = tcp.rates()
        assert min(rates[1:]) > 1, f"the stream stood still: {rates}"
        assert a.linked_to("b") and trouble(a, "other") == 0
        return "Mbit/s by second " + " ".join(f"{r:.0f}" for r in rates)


@test
def a_node_without_any_offload_and_one_with_a_single_queue():
    with new_lab() as lab:
        a, b, c = chain(lab, 3)
        a.env = {"WEFT_OFFLOAD": "0"}
        # an interface left by a crash, with one queue for all workers
        c.sh("ip", "tuntap", "add", "dev", "weft0", "mode", "tun", "user", "root")
        c.env = {"WEFT_ENCRYPT_WORKERS": "3", "WEFT_DECRYPT_WORKERS": "3"}
        lab.start()
        reaches(a, c)
        reaches(c, a)
        assert "TCP offload" not in a.log_tail(50)
        assert "has 1 of 3 queues" in c.log_tail(50)
        there, back = tcp_mbit(a, c, seconds=1), tcp_mbit(c, a, seconds=1)
        assert min(there, back) > 20
        lost, sent = Stream(a, c, 5, 1).result()
        assert lost <= sent * 0.01, f"{lost} of {sent} lost"
        return f"{there:.0f} and {back:.0f} Mbit/s"


@test
def own_address_goes_and_comes_back_under_traffic():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        lab.start()
        reaches(a, b)
        own_socket(a, "b")
        pings = Pings(a, b)
        time.sleep(0.5)
        a.sh("ip", "addr", "del", "10.77.1.1/24", "dev", "w1b")
        time.sleep(1.5)
        a.sh("ip", "addr", "add", "10.77.1.1/24", "dev", "w1b")
        back = time.monotonic()
        reaches(a, b, 5)
        gap = time.monotonic() - back
        own_socket(a, "b", "10.77.1.2:2121", 5)
        pings.lost()
        assert a.linked_to("b")
        return f"traffic {gap:.1f} s after the address was back"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
