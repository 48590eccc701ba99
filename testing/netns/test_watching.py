#!/usr/bin/env python3
"""What an operator looks at: history, the live view in a real terminal, the scraper's page, and the how-to's commands.

Needs root. The live view is read with pyte, a terminal emulator; the scraper's page is checked with promtool where that is installed.
"""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, HERE)
from harness import Skip, main, test  # noqa: E402
from lab import Kind, Lab, find_weft, find_weftd, run, wait_for  # noqa: E402

try:
    import pyte
except ImportError:
    pyte = None


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


class Terminal:
    """A program on a pseudo-terminal, and what its screen shows."""

    def __init__(self, argv, columns=80, rows=24, env=None):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            time.sleep(0.2)  # until the size is set
            os.execve(argv[0], argv, {**os.environ, "TERM": "xterm-256color", "LANG": "C", "LC_ALL": "C", **(env or {})})
        self.before = termios.tcgetattr(self.fd)
        self.resize(columns, rows)
        self.status = None

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self, seconds=0.1):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                return
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                return
            self.raw += data
            self.stream.feed(data)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def shows(self, pattern, seconds=8):
        def look():
            self.read()
            return re.search(pattern, self.text())
        try:
            return wait_for(f"the screen shows {pattern}", seconds, look, 0.02)
        except Exception as e:
            raise AssertionError(f"{e}\n{self.text()}") from None

    def key(self, keys):
        os.write(self.fd, keys if isinstance(keys, bytes) else keys.encode())

    def end(self, seconds=5):
        """Exit code, or minus the signal."""
        def gone():
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid
        wait_for("the program ends", seconds, gone, 0.02)
        return self.status

    def restored(self):
        """The other screen was left, the cursor is back, and the line discipline is as it was."""
        assert b"\x1b[?1049l" in self.raw, "still on the alternate screen"
        assert self.raw.rindex(b"\x1b[?25h") > self.raw.rindex(b"\x1b[?25l"), "the cursor is hidden"
        assert termios.tcgetattr(self.fd) == self.before, "the terminal is not as it was"

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def terminal_pair():
    if pyte is None:
        raise Skip("no terminal emulator: apt install python3-pyte")
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
def every_command_of_the_how_to_works():
    with pair() as lab:
        a, b = lab.node("a"), lab.node("b")
        a.sections["weft"] = {"metrics": {"listen": "127.0.0.1:9121"}}
        with open(os.path.join(ROOT, "docs", "howto", "watching.md")) as f:
            blocks = re.findall(r"^```sh\n(.*?)^```", f.read(), re.M | re.S)
        commands = [line for block in blocks for line in block.splitlines() if line.strip() and not line.startswith("#")]
        assert len(commands) >= 8, commands
        start(lab)
        assert a.ping(b, count=2) == 2
        bin_dir = os.path.join(lab.dir, "bin")
        os.makedirs(bin_dir)
        with open(os.path.join(bin_dir, "weft"), "w") as f:
            f.write(f'#!/bin/sh\nexec {find_weft()} -s {a.socket_path} "$@"\n')
        os.chmod(os.path.join(bin_dir, "weft"), 0o755)
        for name in ("friend", "node-b"):
            with open(os.path.join(a.dir, "hosts"), "a") as f:
                f.write(f"{name} {lab.npub('b')}\n")
        time.sleep(3)
        env = {**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}", "TERM": "xterm-256color"}
        for command in commands:
            words = command.split("#")[0].strip()
            if words.split()[0] == "curl" and not shutil.which("curl"):
                continue
            if words.startswith("weft top"):
                if pyte is None:
                    continue
                with Terminal(["/bin/sh", "-c", words], env=env) as t:
                    t.shows(r"^linked")
                    t.key("q")
                    assert t.end() == 0
                continue
            p = subprocess.run(a.argv("sh", "-c", words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, timeout=30,
                               cwd=lab.dir)
            assert p.returncode == 0, f"{words}: exit {p.returncode}\n{p.stdout}"
        return f"{len(commands)} commands"


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
    system = "/usr/bin/python3"  # the emulator is a package of the system, and so is the interpreter that finds it
    if pyte is None and os.path.exists(system) and os.path.realpath(sys.executable) != os.path.realpath(system):
        os.execv(system, [system, "-B", *sys.argv])
    sys.exit(main(sys.argv[1:]))
