#!/usr/bin/env python3
"""A live mesh for people to look at: the five-node mesh, who found whom, traffic, and a transit node's death."""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import FIVE, Kind, Lab, LabError, find_weftd, wait_for  # noqa: E402
from traffic import tcp_mbit  # noqa: E402

PICTURE = r"""
        a ------- d
        |       / |        six links (UDP over veth pairs); a and b are three hops apart,
        |     /   |        and no node is told more than its own neighbours
        e ------- c ------- b
"""


def say(text=""):
    print(text, flush=True)


def step(n, text):
    say(f"\n--- {n}. {text}")


def weft(node, *args):
    cli = os.environ.get("WEFT", "weft")
    return node.sh(cli, "-s", node.socket_path, *args, check=False).stdout.rstrip()


def indent(text):
    say("\n".join("    " + line for line in text.splitlines()))


def main():
    with Lab("demo", {"weft": Kind("weft", find_weftd())}) as lab:
        say(PICTURE)
        lab.wires_of(FIVE)
        for n in lab.nodes.values():
            n.mtu = 1472
            # a silent neighbour is given up after 5 s here, so that you need not wait for the default 30
            n.node_options.update({"link_dead_timeout_secs": 5, "heartbeat_interval_secs": 1})
        lab.know_everybody()
        a, b, d = lab.node("a"), lab.node("b"), lab.node("d")

        step(1, "Five daemons start, each in a network namespace of its own")
        start = time.monotonic()
        lab.start()
        wait_for("a reaches b", 20, lambda: a.ping(b, count=1))
        say(f"    a pings b, over two nodes in between, {time.monotonic() - start:.1f} s after the first daemon was started")
        root = lab.one_root()

        step(2, "They have agreed on one tree")
        names = {n.ask("show_status")["node_addr"]: n.letter for n in lab.nodes.values()}
        say(f"    root: {names[root]}")
        for n in lab.nodes.values():
            t = n.ask("show_tree")
            say(f"    {n.letter}: " + " -> ".join(names.get(x, x) for x in t["my_coords"]))
        time.sleep(2)  # round trips need a report or two
        say("\n    weft status, on a:")
        indent(weft(a, "status"))
        say("\n    weft peers, on a:")
        indent(weft(a, "peers"))

        step(3, "Unmodified programs talk over it: ping and TCP from a to b, which are no neighbours")
        indent(a.sh("ping", "-6", "-n", "-c", "5", "-i", "0.2", b.addr).stdout.split("\n\n")[-1])
        say(f"    TCP a to b: {tcp_mbit(a, b):.0f} Mbit/s, b to a: {tcp_mbit(b, a):.0f} Mbit/s, encrypted hop by hop and end to end")
        say(f"    TCP a to d, neighbours: {tcp_mbit(a, d):.0f} Mbit/s")

        step(4, "A transit node dies without a word (kill -9)")
        before = {x: lab.node(x).ask("show_status")["forwarding"]["forwarded_packets"] for x in "de"}
        a.ping(b, count=10, interval=0.05)
        after = {x: lab.node(x).ask("show_status")["forwarding"]["forwarded_packets"] for x in "de"}
        via = max("de", key=lambda x: after[x] - before[x])
        other = "e" if via == "d" else "d"
        say(f"    a's packets to b go through {via} and c; killing {via}")
        lab.node(via).stop(signal.SIGKILL)
        start = time.monotonic()
        wait_for("a reaches b again", 30, lambda: a.ping(b, count=1))
        say(f"    a pings b again through {other}, {time.monotonic() - start:.1f} s later")
        indent(a.sh("ping", "-6", "-n", "-c", "5", "-i", "0.2", b.addr).stdout.split("\n\n")[-1])

        step(5, f"{via} comes back")
        lab.node(via).start()
        start = time.monotonic()
        wait_for(f"a reaches {via}", 30, lambda: a.ping(lab.node(via), count=1))
        say(f"    linked and reachable after {time.monotonic() - start:.1f} s")

        step(6, "Everybody says goodbye")
        for n in lab.nodes.values():
            code = n.stop()
            assert code == 0, f"{n.letter} ended with {code}"
            assert "weft0" not in n.sh("ip", "-o", "link").stdout
        say("    no interface, route or socket is left; the namespaces go now")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as e:
        say(f"\ndemo failed: {e}")
        sys.exit(1)
