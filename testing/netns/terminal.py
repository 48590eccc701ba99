"""A program on a pseudo-terminal, read with pyte, a terminal emulator."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

from harness import Skip
from lab import wait_for

try:
    import pyte
except ImportError:
    pyte = None


def need_emulator():
    if pyte is None:
        raise Skip("no terminal emulator: apt install python3-pyte")


def find_emulator():
    """Begins the program anew with the system's interpreter, if that is the one which finds the system's package."""
    system = "/usr/bin/python3"
    if pyte is None and os.path.exists(system) and os.path.realpath(sys.executable) != os.path.realpath(system):
        os.execv(system, [system, "-B", *sys.argv])


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
