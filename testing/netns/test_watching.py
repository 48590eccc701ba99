#!/usr/bin/env python3
"""What an operator looks at: history, the live view in a real terminal, and the scraper's page.

Needs root. The live view is read with pyte, a terminal emulator; the scraper's page is checked with promtool where that is installed.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, HERE)
from harness import main, test  # noqa: E402
from lab import Kind, Lab, find_weft, find_weftd, run, wait_for  # noqa: E402
from terminal import Terminal, find_emulator, need_emulator  # noqa: E402


def pair():
    lab = Lab("ww", {"weft": Kind("weft", find_weftd())})
    lab.wire("a", "b")
    return lab


def start(lab):
    lab.know_everybody()
    lab.start()
    a, b = lab.node("a"), lab.node("b")
    wait_for("a linked to b", 15, lambda: a.linked_to("b"))
    return a, b


def weft(node, *args, code=0, env=None):
    p = subprocess.run([find_weft(), "-s", node.socket_path, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=20, env={**os.environ, **(env or {})})
    assert p.returncode == code, f"weft {' '.join(args)}: exit {p.returncode}\n{p.stdout}{p.stderr}"
    return p.stdout if code == 0 else p.stderr


def terminal_pair():
    need_emulator()
    return pair()


def top(node, *args, **kw):
    return Terminal([find_weft(), "-s", node.socket_path, "top", *args], **kw)


@test
def history_is_shown_as_table_curve_csv_and_json():
    with pair() as lab:
        a, b = start(lab)
        assert a.ping(b, count=10, interval=0.3) == 10
        time.sleep(3)
        table = weft(a, "stats")
        for name in ("bytes_in", "mean_srtt_ms", "cpu_workers", "drops"):
            assert name in table, table
        assert re.search(r"peer_count +1 +", table), table
        of_peer = weft(a, "stats", "node-b")
        assert "srtt_ms" in of_peer and "etx" in of_peer, of_peer
        curve = weft(a, "stats", "bytes_in", "--since", "1m", "--plot")
        assert curve.splitlines()[0].startswith("bytes_in, the last 60 s: now "), curve
        assert len(curve.splitlines()) == 13 and "┤" in curve and curve.splitlines()[-1].rstrip().endswith("now"), curve
        assert all(len(line) <= 80 for line in curve.splitlines()), curve
        assert any(0x2801 <= ord(c) <= 0x28FF for c in curve), curve
        assert weft(a, "stats", "bytes_in", "--plot", "--ascii").isascii()
        rows = weft(a, "stats", "node-b", "srtt_ms", "--since", "5s", "--csv").splitlines()
        assert rows[0] == "time,srtt_ms" and len(rows) == 6, rows
        newest = time.mktime(time.strptime(rows[-1].split(",")[0], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
        assert abs(newest - time.time()) < 5, rows
        assert float(rows[-1].split(",")[1]) > 0, rows
        series = json.loads(weft(a, "--json", "stats", "packets_out", "--since", "10s"))
        assert len(series["values"]) == 10 and series["unit"] == "packets/s", series
        assert "recorded for peers" in weft(a, "stats", "srtt_ms", code=1)
        assert "neither a recorded series" in weft(a, "stats", "nobody", code=1)
        assert "as in 90s, 10m, 2h, 1d" in weft(a, "stats", "--since", "soon", code=2)
        assert "bytes_in" in weft(a, "stats", "list") and "node-b" in weft(a, "stats", "peers")


@test
def live_view_at_two_sizes_with_every_page():
    with terminal_pair() as lab:
        a, b = start(lab)
        assert a.ping(b, count=5) == 5
        for columns, rows in ((80, 24), (200, 60)):
            with top(a, columns=columns, rows=rows) as t:
                t.shows(r"^linked: 1 peer")
                t.shows(r"node-b .*\d ms")
                assert ("ADDRESS" in t.text()) == (columns == 200), t.text()
                for key, page in (("2", r"root .*, depth \d"), ("3", r"established"), ("4", r"bytes_out"), ("5", r"weft-(work|dec)-0"),
                                  ("6", r"handshake")):
                    t.key(key)
                    t.shows(page)
                t.key("5")
                t.shows(r"weft-(work|dec)-0 +\d+\.\d %")  # a rate takes two answers
                t.key("1")
                t.shows(r"node-b")
                t.key("\r")
                t.shows(r"srtt_ms  \d")
                t.key("q")
                assert t.end() == 0
                t.restored()


@test
def live_view_follows_keys_and_size():
    with terminal_pair() as lab:
        a, _ = start(lab)
        with top(a) as t:
            t.shows(r"PEER .*TRAFFIC▼")
            t.key("s")
            t.shows(r"PEER▼")
            t.key("r")
            t.shows(r"PEER▲")
            t.key("/zebra")
            t.shows(r"nothing matches /zebra")
            t.key("\x7f" * 5 + "node\r")
            t.shows(r"filter: node")
            t.shows(r"node-b")
            t.key("\x1b")
            t.shows(r"1-1 of 1")
            t.key("?")
            t.shows(r"any key goes back")
            t.key("x\t")
            t.shows(r"NODES BEHIND")
            t.key("\x1b[Z ")
            t.shows(r"paused")
            t.key(" ")
            t.resize(120, 40)
            t.shows(r"RECEIVED")
            assert "q quit" in t.screen.display[39], t.text()
            t.resize(30, 5)
            t.shows(r"too small")
            t.resize(80, 24)
            t.shows(r"node-b")
            t.key("\x03")
            assert t.end() == 0
            t.restored()


@test
def live_view_outlives_the_daemon_and_puts_the_terminal_right():
    with terminal_pair() as lab:
        a, _ = start(lab)
        with top(a) as t:
            t.shows(r"^linked: 1 peer")
            a.stop()
            t.shows(r"^reconnecting \(\d+ s\): weftd is not running")
            assert "node-b" in t.text(), t.text()
            a.start()
            t.shows(r"^linked: 1 peer", 20)
            os.kill(t.pid, signal.SIGTERM)
            assert t.end() == 0
            t.restored()
        with top(a) as t:
            t.shows(r"^linked: 1 peer")
            os.kill(a.pid(), signal.SIGSTOP)  # it hangs: q must not
            time.sleep(1.5)
            t.key("q")
            assert t.end(2) == 0
            t.restored()
            os.kill(a.pid(), signal.SIGCONT)
        with top(a, env={"TERM": "no-such-terminal"}) as t:
            assert t.end() == 1
            assert "of a type that is not known here" in t.text(), t.text()
        a.stop()
        with top(a) as t:
            assert t.end() == 1
            assert "weftd is not running" in t.text() and b"1049h" not in t.raw, t.text()
        p = subprocess.run([find_weft(), "-s", a.socket_path, "top"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert p.returncode == 1 and "needs a terminal" in p.stderr, p.stderr


def scrape(node, path="/metrics", host="127.0.0.1:9121", method="GET"):
    """Status, type, body; asked inside the node's namespace."""
    code = ("import http.client,sys\nc=http.client.HTTPConnection('127.0.0.1',9121,timeout=5)\n"
            f"c.request({method!r},{path!r},headers={{'Host':{host!r}}})\nr=c.getresponse()\n"
            "sys.stdout.write(f'{r.status}\\n{r.getheader(\"Content-Type\")}\\n'+r.read().decode())")
    status, kind, body = node.sh(sys.executable, "-c", code).stdout.split("\n", 2)
    return int(status), kind, body


@test
def scraper_page_is_what_prometheus_expects():
    with pair() as lab:
        a, b = lab.node("a"), lab.node("b")
        a.sections["weft"] = {"metrics": {"listen": "127.0.0.1:9121"}}
        b.sections["weft"] = {"metrics": {"listen": f"{b.dir}/metrics.sock"}}
        start(lab)
        assert a.ping(b, count=3) == 3
        status, kind, body = scrape(a)
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8"), (status, kind)
        assert re.search(r'^weft_peer_rtt_seconds\{peer="node-b",npub="npub1', body, re.M), body
        assert re.search(r"^weft_linked 1$", body, re.M), body
        assert re.search(r'^weft_thread_cpu_seconds_total\{thread="weft-(work|dec)-0"\} ', body, re.M), body
        assert scrape(a, method="HEAD")[2] == ""
        assert scrape(a, "/")[0] == 404 and scrape(a, method="POST")[0] == 405
        assert scrape(a, host="evil.example:9121")[0] == 403, "a web page must not read it by a name of its own"
        assert scrape(a, host="localhost:9121")[0] == 200
        over_unix = run("curl", "-sS", "--unix-socket", f"{b.dir}/metrics.sock", "http://x/metrics").stdout if shutil.which("curl") else body
        assert "weft_build_info" in over_unix, over_unix
        with open(os.path.join(ROOT, "packaging", "grafana", "weft.json")) as f:
            used = set(re.findall(r"\b(?:weft|process)_[a-z_]+", json.dumps([p["targets"] for p in json.load(f)["panels"] if "targets" in p])))
        known = set(re.findall(r"^# TYPE (\S+)", body, re.M))
        assert used and used <= known, f"the dashboard asks for {used - known}"
        promtool = os.environ.get("PROMTOOL") or shutil.which("promtool")
        if not promtool:
            return "promtool is not installed: apt install prometheus"
        p = subprocess.run([promtool, "check", "metrics"], input=body, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert p.returncode == 0 and not p.stdout.strip(), p.stdout
        return "checked with promtool"


@test
def scraper_page_stays_on_this_machine_unless_told():
    with pair() as lab:
        a = lab.node("a")
        for listen, more, complaint in (("0.0.0.0:9121", {}, "others could read who this node talks to"),
                                        ("[fd00::1]:9121", {}, "others could read"),
                                        ("everywhere", {}, "neither an address with a port nor an absolute path"),
                                        ("127.0.0.1", {}, "neither an address"),
                                        ("0.0.0.0:9121", {"allow_remote": True}, None),
                                        ("/run/x.sock", {}, None)):
            a.sections["weft"] = {"metrics": {"listen": listen, **more}}
            a.write_config()
            p = subprocess.run([find_weftd(), "--check", "-c", a.config_path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert (p.returncode == 0) == (complaint is None), f"{listen}: {p.stdout}"
            assert complaint is None or (complaint in p.stdout and "weft.metrics.listen" in p.stdout), p.stdout
        # A port that is taken is said, and the node runs.
        a.sections["weft"] = {"metrics": {"listen": "127.0.0.1:9121"}}
        taken = a.popen(sys.executable, "-c", "import socket,time\ns=socket.create_server(('127.0.0.1',9121))\nprint('.',flush=True)\ntime.sleep(60)")
        try:
            taken.stdout.readline()
            a.start()
            status = a.ask("show_status")
            assert any("cannot listen on 127.0.0.1:9121" in n for n in status["weft"]["notes"]), status["weft"]["notes"]
        finally:
            taken.kill()
            taken.wait()


@test
def status_and_live_view_cost_the_daemon_little():
    """Bounds with room for a busy machine; the figures are in the note."""
    with terminal_pair() as lab:
        a, _ = start(lab)
        times = []
        for _ in range(20):
            begin = time.monotonic()
            a.ask("show_status")
            times.append((time.monotonic() - begin) * 1000)
        with top(a, "-i", "0.25") as t:
            t.shows(r"^linked")
            before = a.cpu_seconds()
            t.read(4)
            used = a.cpu_seconds() - before
        median = sorted(times)[len(times) // 2]
        assert median < 30, times
        assert used < 0.4, used
        return f"status {median:.1f} ms, live view at 4 Hz {used / 4 * 100:.1f} % of a core"


if __name__ == "__main__":
    find_emulator()
    sys.exit(main(sys.argv[1:]))
