#!/usr/bin/env python3
"""weft and the reference in one mesh. See README.md; needs root, and FIPS naming a reference binary."""
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "netns"))
from harness import Skip, main, test  # noqa: E402
from lab import FIVE, Kind, Lab, find_weft, find_weftd, wait_for  # noqa: E402
from terminal import Terminal, find_emulator, need_emulator  # noqa: E402
from traffic import tcp_mbit  # noqa: E402

FIPS = os.environ.get("FIPS", "")
FIPSTOP = os.environ.get("FIPSTOP", os.path.join(os.path.dirname(FIPS), "fipstop") if FIPS else "")
FIPSCTL = os.environ.get("FIPSCTL", os.path.join(os.path.dirname(FIPS), "fipsctl") if FIPS else "")


def mixed(assignment):
    if not FIPS or not os.access(FIPS, os.X_OK):
        raise Skip("no reference binary: set FIPS to the path of one")
    kinds = {"w": Kind("weft", find_weftd()), "r": Kind("reference", FIPS, weft=False)}
    return Lab("wi", kinds, assignment)


def names(assignment):
    return "".join(assignment[x] for x in sorted(assignment))


def reaches(x, y, seconds=20):
    wait_for(f"{x.letter} ({x.kind.name}) pings {y.letter} ({y.kind.name})", seconds, lambda: x.ping(y, count=1, wait=1))


def prime(lab):
    """The reference reads names from its own system-wide hosts file only, so every node is told every other as a peer
    without being dialled: an address that nobody answers on would cost dials, a manual policy costs nothing."""
    for n in lab.nodes.values():
        known = {p for p, _ in n.peers}
        n.known = [x for x in sorted(lab.nodes) if x != n.letter and x not in known]
    lab.know_everybody()


def mesh(assignment, edges, dialers="both"):
    lab = mixed(assignment)
    for e in edges:
        lab.wire(e[0], e[1], dialers=dialers if dialers == "both" else e[int(dialers)])
    prime(lab)
    return lab


def every_pair(lab, tcp=True, seconds=20):
    slow = []
    for x in sorted(lab.nodes):
        for y in sorted(lab.nodes):
            if x == y:
                continue
            reaches(lab.nodes[x], lab.nodes[y], seconds)
            if tcp:
                mbit = tcp_mbit(lab.nodes[x], lab.nodes[y], seconds=1)
                slow.append((mbit, x + y))
                assert mbit > 5, f"TCP {x}->{y}: {mbit:.1f} Mbit/s"
    return min(slow) if slow else None


@test
def two_nodes_either_side_dials():
    notes = []
    for assignment in ({"a": "w", "b": "r"}, {"a": "r", "b": "w"}):
        for dialers in ("both", "0", "1"):
            with mesh(assignment, ["ab"], dialers) as lab:
                lab.start()
                every_pair(lab, tcp=dialers == "both")
        notes.append(names(assignment))
    return ", ".join(notes)


@test
def chains_of_mixed_kinds():
    notes = []
    for kinds in ("wrw", "rwr", "rww", "wrr", "wrwr", "rwwr"):
        assignment = dict(zip("abcd", kinds))
        with mesh(assignment, ["ab", "bc", "cd"][:len(kinds) - 1]) as lab:
            lab.start()
            lab.one_root(30)
            slowest = every_pair(lab)
            notes.append(f"{kinds}: slowest TCP {slowest[0]:.0f} Mbit/s ({slowest[1]})")
    return "; ".join(notes)


@test
def five_node_mesh_in_several_assignments():
    notes = []
    for kinds in ("wrwrw", "rwrwr", "wwrrr", "rrrww"):
        assignment = dict(zip("abcde", kinds))
        with mesh(assignment, FIVE) as lab:
            lab.start()
            lab.one_root(40)
            slowest = every_pair(lab, tcp=kinds in ("wrwrw", "rwrwr"), seconds=30)
            notes.append(kinds + (f": slowest TCP {slowest[0]:.0f} Mbit/s ({slowest[1]})" if slowest else ""))
    return "; ".join(notes)


@test
def each_kind_restarted_and_killed():
    notes = []
    for victim in ("w", "r"):
        assignment = {"a": "w", "b": "r"}
        v = "a" if victim == "w" else "b"
        o = "b" if victim == "w" else "a"
        for sig in (signal.SIGTERM, signal.SIGKILL):
            with mesh(assignment, ["ab"]) as lab:
                lab.start()
                reaches(lab.nodes["a"], lab.nodes["b"])
                lab.nodes[v].stop(sig)
                time.sleep(1)
                lab.nodes[v].start()
                begin = time.monotonic()
                reaches(lab.nodes[o], lab.nodes[v], 60)
                reaches(lab.nodes[v], lab.nodes[o], 60)
                notes.append(f"{lab.nodes[v].kind.name} {sig.name}: back after {time.monotonic() - begin:.1f} s")
    return "; ".join(notes)


@test
def the_references_control_client_reads_us():
    with mesh({"a": "w", "b": "r"}, ["ab"]) as lab:
        if not os.access(FIPSCTL, os.X_OK):
            raise Skip("no fipsctl beside the reference binary: set FIPSCTL")
        lab.start()
        a, b = lab.nodes["a"], lab.nodes["b"]
        reaches(a, b)
        shows = "status peers links tree sessions bloom mmp cache connections transports routing identity-cache".split()
        differences = []
        for what in shows:
            ours = subprocess.run([FIPSCTL, "-s", a.socket_path, "show", what], capture_output=True, text=True, timeout=20)
            assert ours.returncode == 0, f"show {what}: {ours.stderr}"
            theirs = subprocess.run([FIPSCTL, "-s", b.socket_path, "show", what], capture_output=True, text=True, timeout=20)
            import json
            missing = missing_keys(json.loads(theirs.stdout), json.loads(ours.stdout))
            if missing:
                differences.append(f"{what} lacks {missing}")
        for args in (["acl", "show"], ["stats", "list"], ["stats", "metrics"], ["stats", "peers"],
                     ["stats", "history", "peer_count", "--window", "10s"]):
            p = subprocess.run([FIPSCTL, "-s", a.socket_path, *args], capture_output=True, text=True, timeout=20)
            assert p.returncode == 0, f"{args}: {p.stderr}"
        assert not differences, "; ".join(differences)
        p = subprocess.run([FIPSCTL, "-s", a.socket_path, "disconnect", lab.npub("b")], capture_output=True, text=True, timeout=20)
        assert p.returncode == 0, p.stderr
        p = subprocess.run([FIPSCTL, "-s", a.socket_path, "connect", lab.npub("b"), "10.77.1.2:2121", "udp"],
                           capture_output=True, text=True, timeout=20)
        assert p.returncode == 0, p.stderr
        reaches(a, b, 60)
        return f"show {' '.join(shows)}"


@test
def the_references_client_knows_every_command_of_ours():
    """Each subcommand of the client, of whatever version it is, against both daemons; the answers have the same shape."""
    import json
    with mesh({"a": "w", "b": "r"}, ["ab"]) as lab:
        if not os.access(FIPSCTL, os.X_OK):
            raise Skip("no fipsctl beside the reference binary: set FIPSCTL")
        lab.start()
        a, b = lab.nodes["a"], lab.nodes["b"]
        reaches(a, b)

        def ctl(node, *args):
            return subprocess.run([FIPSCTL, "-s", node.socket_path, *args], capture_output=True, text=True, timeout=60)
        shows = [w for w in subcommands(ctl(a, "show", "--help").stdout) if w != "help"]
        assert len(shows) >= 12, shows
        done = []
        calls = [["show", w] for w in shows] + [["acl", "show"], ["stats", "list"], ["stats", "metrics"], ["stats", "peers"]]
        calls += [["stats", "history", m, "--window", "10s", *more] for m in ("mesh_size", "bytes_in") for more in ([], ["--plot"])]
        for args in calls:
            ours, theirs = ctl(a, *args), ctl(b, *args)
            assert ours.returncode == theirs.returncode == 0, f"{args}: {ours.stderr} {theirs.stderr}"
            if "--plot" not in args:
                missing = missing_keys(json.loads(theirs.stdout), json.loads(ours.stdout))
                assert not missing, f"{args} lacks {missing}"
            done.append(" ".join(args[:2]))
        for peer_of, node in (("b", a), ("a", b)):
            # A peer is in the record from the first second on, in either daemon.
            wait_for("a record of the peer", 5, lambda: ctl(node, "stats", "history", "srtt_ms", "--peer", lab.npub(peer_of),
                                                            "--window", "10s").returncode == 0)
        if "probe" in subcommands(ctl(a, "--help").stdout):
            ours, theirs = ctl(a, "probe", lab.npub("b"), "--json"), ctl(b, "probe", lab.npub("a"), "--json")
            assert ours.returncode == 0, ours.stdout + ours.stderr
            missing = missing_keys(json.loads(theirs.stdout), json.loads(ours.stdout))
            # What was not measured is left out by the reference too.
            missing = [m for m in missing if m not in ("rtt.rtt_ms", "rtt.srtt_ms", "session.path_mtu")]
            assert not missing, f"probe lacks {missing}"
            text = ctl(a, "probe", lab.npub("b")).stdout
            assert "round trip" in text and "overall   ok" in text, text
            p = ctl(a, "probe", lab.npub("a"))
            assert p.returncode == 1 and "cannot probe this node" in p.stderr, p.stderr
            p = ctl(a, "probe", lab.npub("f"))
            assert p.returncode == 1 and "no peer filter holds this address" in p.stdout, p.stdout
            done.append("probe")
        for bad in (["stats", "history", "nonsense"], ["stats", "history", "srtt_ms"], ["connect", lab.npub("b"), "fd00::1", "udp"],
                    ["disconnect", lab.npub("f")]):
            ours, theirs = ctl(a, *bad), ctl(b, *bad)
            assert ours.returncode == theirs.returncode, f"{bad}: {ours.returncode} and {theirs.returncode}: {ours.stderr}"
        return ", ".join(done)


def subcommands(help_text):
    """First words of the lines under "Commands:"."""
    lines = help_text.split("Commands:", 1)[-1].split("\n\n", 1)[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]


@test
def probe_of_a_reference_node():
    """Round trip, echo and a full-size packet to a node of the reference, next door and behind another one."""
    import json
    notes = []
    for kinds in ("wr", "wrr", "wwr"):
        assignment = dict(zip("abc", kinds))
        with mesh(assignment, ["ab", "bc"][:len(kinds) - 1]) as lab:
            lab.start()
            lab.one_root(30)
            a, target = lab.nodes["a"], lab.nodes["abc"[len(kinds) - 1]]
            reaches(a, target)
            p = subprocess.run(a.argv(find_weft(), "-s", a.socket_path, "--json", "probe", lab.npub(target.letter)), capture_output=True,
                               text=True, timeout=60)
            assert p.returncode == 0, p.stdout + p.stderr
            report = json.loads(p.stdout)
            assert report["weft"]["rtt_by_echo"] and report["weft"]["largest_passed"] == 1203, report["weft"]
            assert report["weft"]["walk"]["links_back"] == len(kinds) - 1, report["weft"]["walk"]
            notes.append(f"{kinds}: {report['weft']['rtt_us']} us")
            # Without its interface the daemon still answers, by its reports.
            if kinds == "wrr":
                target.stop()
                target.sections["tun"] = {"enabled": False}
                target.start()
                reason = wait_for("the reports of a node without interface", 40, lambda: ping_stage(a, lab.npub(target.letter)))
                assert reason == "ip_silent", reason
    return ", ".join(notes)


def ping_stage(node, npub):
    import json
    p = subprocess.run(node.argv(find_weft(), "-s", node.socket_path, "--json", "probe", npub), capture_output=True, text=True, timeout=60)
    stages = {s["stage"]: s for s in json.loads(p.stdout)["weft"]["stages"]} if p.stdout else {}
    return stages["ping"]["reason"] if stages and stages["round_trip"]["verdict"] == "ok" else None


@test
def a_file_of_the_reference_runs_unchanged():
    """Both start with the very same file, key file and lists; then they are one mesh."""
    import json
    with mesh({"a": "w", "b": "r"}, ["ab"]) as lab:
        for n in lab.nodes.values():
            n.tun = "fips0"  # as the reference's packaged file has it
        lab.start()
        a, b = lab.nodes["a"], lab.nodes["b"]
        reaches(a, b)
        assert a.ask("show_status")["tun_name"] == "fips0"


@test
def reference_monitor_shows_every_tab_of_a_weft_node():
    if not FIPSTOP or not os.access(FIPSTOP, os.X_OK):
        raise Skip("no terminal monitor of the reference: set FIPSTOP")
    need_emulator()
    with mesh(dict(zip("ab", "ww")), ["ab"]) as lab:
        lab.start()
        a, b = lab.nodes["a"], lab.nodes["b"]
        reaches(a, b)
        with Terminal([FIPSTOP, "-s", a.socket_path, "-r", "1"], columns=110, rows=36) as t:
            for tab in (r"state: running +tun: active", r"node-b .*udp/10\.77\.1\.2:2121", r"udp 0\.0\.0\.0:2121 +up",
                        r"node-b .*established", r"Depth: \d", r"Sequence +: \d", r"node-b +srtt: \d", r"Coord Cache +: \d",
                        r"mesh_size +\[nodes\] +min 2\.00"):
                t.shows(tab, 10)
                t.key("\t")
            t.key("q")
            assert t.end() == 0
        return os.path.basename(FIPSTOP)


@test
def links_to_the_reference_keep_their_size():
    """Jumbo links outside, the reference in the middle: what weft nodes find out among themselves does not reach it."""
    assignment = {"a": "w", "b": "w", "c": "r", "d": "w"}
    lab = mixed(assignment)
    for pair in ("ab", "bc", "cd"):
        lab.wire(*pair, mtu=9000)
    lab.nodes["c"].env = {"RUST_LOG": "debug"}
    prime(lab)
    with lab:
        lab.start()
        a, b, c, d = (lab.nodes[x] for x in "abcd")
        reaches(a, d, 30)
        reaches(d, a, 30)

        def mtus(node):
            return sorted(row["weft"]["mtu"] for row in node.ask("show_links")["links"] if "weft" in row)
        wait_for("a jumbo link between weft nodes", 10, lambda: mtus(a) == [9000 - 28])
        assert mtus(b) == [1280, 9000 - 28] and mtus(d) == [1280], (mtus(b), mtus(d))
        notes = []
        for x, y in ((a, d), (d, a), (a, c), (c, a)):
            mbit = tcp_mbit(x, y, seconds=1)
            assert mbit > 5, f"TCP {x.letter}->{y.letter}: {mbit:.1f} Mbit/s"
            notes.append(f"{x.letter}{y.letter} {mbit:.0f}")
            if y.kind.weft and x.kind.weft:  # the reference's own answers of 1280 bytes do not fit its link
                assert x.ping(y, count=3, size=1232) == 3, f"1280 bytes {x.letter}->{y.letter}"
        paths = {s["mmp"]["path_mtu"] for s in a.ask("show_sessions")["sessions"] if "mmp" in s}
        assert paths == {1280}, paths
        time.sleep(16)
        with open(os.path.join(c.dir, "log")) as f:
            unknown = f.read().count("Unknown link message type")
        assert unknown <= 8, f"{unknown} messages that the reference does not know, from two neighbours"
        return f"Mbit/s {', '.join(notes)}; {unknown} unknown messages at its debug log"


def missing_keys(theirs, ours, at=""):
    """Keys of the reference's reply that ours lacks; lists by their first element, where both have one."""
    out = []
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for k, v in theirs.items():
            if k not in ours:
                out.append(f"{at}{k}")
            else:
                out += missing_keys(v, ours[k], f"{at}{k}.")
    elif isinstance(theirs, list) and isinstance(ours, list) and theirs and ours:
        out += missing_keys(theirs[0], ours[0], f"{at}[].")
    return out


def rekeys(kinds, seconds):
    """How often link and session keys changed, counted from both ends, with a ping every 100 ms all the time."""
    assignment = dict(zip("ab", kinds))
    with mesh(assignment, ["ab"]) as lab:
        for n in lab.nodes.values():
            n.node_options["rekey"] = {"after_secs": 31 if n.kind.weft else 46}
        lab.start()
        a, b = lab.nodes["a"], lab.nodes["b"]
        reaches(a, b)
        p = a.popen("ping", "-6", "-n", "-q", "-i", "0.1", "-w", str(seconds), "-W", "1", b.addr)
        flips, last = {"link": 0, "session": 0}, {}
        end = time.monotonic() + seconds
        weft = a if a.kind.weft else b
        while time.monotonic() < end:
            peers = weft.ask("show_peers")["peers"]
            sessions = weft.ask("show_sessions")["sessions"]
            now = {"link": peers[0].get("our_session_index") if peers else None,
                   "session": sessions[0].get("current_k_bit") if sessions else None}
            for k, v in now.items():
                if v is not None and last.get(k) not in (None, v):
                    flips[k] += 1
                last[k] = v if v is not None else last.get(k)
            time.sleep(0.5)
        out = p.communicate(timeout=20)[0]
        summary = next(line for line in out.splitlines() if "transmitted" in line)
        return flips, summary


@test(long=True)
def both_rekeys_at_the_shortest_interval():
    notes = []
    for kinds in ("wr", "rw"):
        flips, summary = rekeys(kinds, 420)
        assert flips["link"] >= 5 and flips["session"] >= 5, f"{kinds}: {flips}"
        sent, received = int(summary.split()[0]), int(summary.split()[3])
        assert sent - received < sent * 0.02, summary
        notes.append(f"{kinds}: {flips['link']} link, {flips['session']} session rekeys; {summary}")
    return "; ".join(notes)


if __name__ == "__main__":
    find_emulator()
    sys.exit(main(sys.argv[1:]))
