#!/usr/bin/env python3
"""weftd between network namespaces, on real packets. Needs root, iproute2, ping, iperf3.

Usage: test_netns.py [--long] [NAME...]     WEFTD names the daemon (else build/release is used)
"""
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import main, test  # noqa: E402
from lab import FIVE, Kind, Lab, chain, find_weftd, reaches, wait_for  # noqa: E402
from traffic import Stream, tcp_mbit  # noqa: E402


def new_lab(prefix="wt"):
    return Lab(prefix, {"weft": Kind("weft", find_weftd())})


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
            n.mtu, n.mtu_discovery = 1280, False
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
        b.mtu_discovery = False
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
