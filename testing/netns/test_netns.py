#!/usr/bin/env python3
"""weftd between network namespaces, on real packets. Needs root, iproute2, ping, iperf3.

Usage: test_netns.py [--long] [NAME...]     WEFTD names the daemon (else build/release is used)
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import main, test  # noqa: E402
from lab import FIVE, Kind, Lab, LabError, find_weftd, iperf_server, mbit_by_second, tcp_mbit, wait_for  # noqa: E402

LETTERS = "abcdef"


def new_lab(prefix="wt"):
    return Lab(prefix, {"weft": Kind("weft", find_weftd())})


def chain(lab, n, **kw):
    for x, y in zip(LETTERS[:n - 1], LETTERS[1:n]):
        lab.wire(x, y, **kw)
    lab.know_everybody()
    return [lab.node(x) for x in LETTERS[:n]]


def reaches(x, y, seconds=15):
    wait_for(f"{x.letter} pings {y.letter}", seconds, lambda: x.ping(y, count=1, wait=1))


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


@test
def chains_of_two_to_six():
    notes = []
    for n in range(2, 7):
        with new_lab() as lab:
            nodes = chain(lab, n)
            start = time.monotonic()
            lab.start()
            reaches(nodes[0], nodes[-1])
            notes.append(f"{n}: {time.monotonic() - start:.1f} s")
            reaches(nodes[-1], nodes[0])
            if n >= 3:
                assert tcp_mbit(nodes[0], nodes[-1], seconds=1) > 20
    return "first ping " + ", ".join(notes)


@test
def first_ping_over_three_within_three_seconds():
    with new_lab() as lab:
        a, _, c = chain(lab, 3)
        start = time.monotonic()
        lab.start()
        wait_for("first ping", 3, lambda: a.ping(c, count=1, wait=1))
        return f"{time.monotonic() - start:.2f} s after starting all three"


@test
def five_node_mesh_every_pair():
    with new_lab() as lab:
        lab.wires_of(FIVE)
        lab.know_everybody()
        lab.start()
        lab.one_root()
        for x in "abcde":
            for y in "abcde":
                if x != y:
                    reaches(lab.node(x), lab.node(y), 10)
        assert tcp_mbit(lab.node("a"), lab.node("b"), seconds=1) > 20
        assert tcp_mbit(lab.node("a"), lab.node("b"), seconds=1, reverse=True) > 20


@test
def ring_survives_the_death_of_its_transit_node():
    with new_lab() as lab:
        # a dead link is noticed after link_dead_timeout_secs; the file may set it lower than the default 30
        for x in "abcd":
            lab.node(x).node_options.update({"link_dead_timeout_secs": 5, "heartbeat_interval_secs": 1})
        lab.wires_of(["ab", "bc", "cd", "da"])
        lab.know_everybody()
        lab.start()
        a, c = lab.node("a"), lab.node("c")
        reaches(a, c)
        transit = "b" if any(p["is_parent"] or p["is_child"] for p in a.ask("show_peers")["peers"]
                             if p["npub"] == lab.npub("b")) else "d"
        lab.node(transit).stop(signal.SIGKILL)
        start = time.monotonic()
        reaches(a, c, 20)
        gap = time.monotonic() - start
        lab.node(transit).start()
        reaches(a, lab.node(transit), 15)
        return f"traffic back {gap:.1f} s after kill -9 (link_dead_timeout_secs: 5)"


@test
def flapping_link_and_restarted_end():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        lab.start()
        reaches(a, b)
        dev = "w1b"
        for _ in range(3):
            a.sh("ip", "link", "set", dev, "down")
            time.sleep(0.4)
            a.sh("ip", "link", "set", dev, "up")
        start = time.monotonic()
        reaches(a, b, 10)
        flap = time.monotonic() - start
        b.stop(signal.SIGKILL)
        b.start()
        start = time.monotonic()
        reaches(a, b, 10)
        restart = time.monotonic() - start
        b.stop()
        time.sleep(0.5)
        assert not a.linked_to("b"), "SIGTERM says goodbye"
        b.start()
        start = time.monotonic()
        reaches(a, b, 10)
        return f"after flaps {flap:.1f} s, after kill -9 {restart:.1f} s, after an orderly restart {time.monotonic() - start:.1f} s"


@test
def address_change_under_traffic():
    with new_lab() as lab:
        a, b = chain(lab, 2, dialers="b")
        lab.start()
        reaches(a, b)
        gaps = []
        got = []
        stop = threading.Event()

        def pings():
            p = a.popen("ping", "-6", "-n", "-i", "0.05", "-D", b.addr)
            for line in p.stdout:
                if "bytes from" in line:
                    got.append(time.monotonic())
                if stop.is_set():
                    break
            p.kill()

        t = threading.Thread(target=pings)
        t.start()
        time.sleep(1.5)
        for i in (30, 40):
            b.sh("ip", "addr", "del", f"10.77.1.{2 if i == 30 else 30}/24", "dev", "w1a")
            b.sh("ip", "addr", "add", f"10.77.1.{i}/24", "dev", "w1a")
            time.sleep(4)
        stop.set()
        t.join()
        gaps = [y - x for x, y in zip(got, got[1:])]
        assert got[-1] > time.monotonic() - 2, "still answered after both changes"
        assert max(gaps) < 3, f"longest gap {max(gaps):.2f} s"
        return f"longest gap {max(gaps):.2f} s over two address changes"


@test
def full_size_packets_over_a_narrow_middle():
    with new_lab() as lab:
        a, b, c = chain(lab, 3)
        for n in (a, b, c):
            n.mtu = 1280
        lab.start()
        reaches(a, c)
        # 1280-byte IPv6 packets (1232 of ping payload) over links that carry 1203: as two fragments
        assert a.ping(c, count=5, size=1232, wait=2) == 5
        lost, sent = Stream(a, c, 20, 2, size=1232).result()
        assert sent > 1000 and lost <= sent * 0.01, f"{lost} of {sent} QUIC-sized datagrams lost"
        return f"{lost} of {sent} full-size UDP datagrams lost"


@test
def mtu_step_in_the_path():
    with new_lab() as lab:
        a, b, c = chain(lab, 3)
        a.mtu = c.mtu = 1472
        b.mtu = 1400
        lab.start()
        reaches(a, c)
        assert tcp_mbit(a, c, seconds=2) > 20
        assert tcp_mbit(c, a, seconds=2) > 20


@test
def udp_at_500_mbit_loses_nothing():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        a.mtu = b.mtu = 1472
        lab.start()
        reaches(a, b)
        Stream(a, b, 100, 1).result()
        lost, sent = Stream(a, b, 500, 4).result()
        assert lost <= sent * 0.002, f"{lost} of {sent} lost"
        return f"{lost} of {sent} lost"


@test
def tcp_stream_between_neighbours():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        a.mtu = b.mtu = 1472
        lab.start()
        reaches(a, b)
        there, back = tcp_mbit(a, b, seconds=3), tcp_mbit(b, a, seconds=3)
        assert max(there, back) > 500, f"{there:.0f} and {back:.0f} Mbit/s"  # the bench has the real bound; this is a shared machine
        return f"{there:.0f} and {back:.0f} Mbit/s at link MTU 1472"


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
        assert lost <= 2, f"{lost} of {sent} pings lost while the sockets changed"
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


def start_together(times):
    worst = 0.0
    for _ in range(times):
        with new_lab() as lab:
            a, b = chain(lab, 2)
            for n in (a, b):
                n.write_config()
            start = time.monotonic()
            lab.start()
            reaches(a, b, 10)
            worst = max(worst, time.monotonic() - start)
            reaches(b, a, 10)
    return f"{times} times, slowest first ping {worst:.1f} s"


@test
def two_nodes_started_together():
    return start_together(6)


@test(long=True)
def two_nodes_started_together_200_times():
    return start_together(200)


@test(long=True)
def both_rekeys_under_500_mbit():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        for n in (a, b):
            n.mtu = 1472
            n.node_options["rekey"] = {"after_secs": 16, "after_messages": 1 << 40}
        lab.start()
        reaches(a, b)
        Stream(a, b, 100, 1).result()
        seconds = 480
        stream = Stream(a, b, 500, seconds)
        flips = {"link": 0, "session": 0}
        last = {}
        end = time.monotonic() + seconds
        while time.monotonic() < end - 1:
            link = a.ask("show_peers")["peers"][0].get("our_session_index")
            sess = next((s.get("current_k_bit") for s in a.ask("show_sessions")["sessions"]), None)
            for k, v in (("link", link), ("session", sess)):
                if v is not None and last.get(k) not in (None, v):
                    flips[k] += 1
                last[k] = v
            time.sleep(0.5)
        lost, sent = stream.result()
        assert flips["link"] >= 10 and flips["session"] >= 10, flips
        assert lost <= sent * 0.0005, f"{lost} of {sent} lost over {flips}"
        return f"{flips['link']} link and {flips['session']} session rekeys, {lost} of {sent} datagrams lost"


@test
def nothing_is_left_behind():
    with new_lab() as lab:
        a, b = chain(lab, 2)
        lab.start()
        reaches(a, b)
        for n in (a, b):
            assert n.stop() == 0
            assert "weft0" not in n.sh("ip", "-o", "link").stdout
            assert "fd00::/8" not in n.sh("ip", "-6", "route", "show", "table", "all").stdout
            assert "fd00::/8" not in n.sh("ip", "-6", "rule").stdout
            assert not os.path.exists(n.socket_path)
            assert not n.sh("ss", "-lunH").stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
