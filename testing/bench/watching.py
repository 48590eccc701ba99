#!/usr/bin/env python3
"""What it costs to look at a node with hundreds of peers, and how soon a daemon is ready. Prints a table.

Usage: testing/bench/watching.py [PEERS]     500 when left out; the release build of weftd, weft and weft-crowd. The start needs
root and /dev/net/tun. Figures mean something on a machine that does nothing else.
"""
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build", "release")
ROUNDS = 21


def program(*path):
    return os.path.join(BUILD, *path)


def milliseconds(call):
    begin = time.monotonic()
    call()
    return (time.monotonic() - begin) * 1e3


def line(what, samples, bound):
    print(f"{what:<44} {statistics.median(samples):8.1f} ms  (largest {max(samples):.1f}; wanted: < {bound:g})")


def clients(folder, peers):
    """`weft` as it is typed, against the hub of a simulated star."""
    path = os.path.join(folder, "crowd.sock")
    crowd = subprocess.Popen([program("testing", "sim", "weft-crowd"), path, str(peers)], stdout=subprocess.PIPE, text=True)
    try:
        assert crowd.stdout.readline().startswith("ready"), "weft-crowd did not come up"
        for words, bound in ((["status"], 30), (["--json", "status"], 30), (["peers"], 30)):
            argv = [program("daemon", "weft", "weft"), "-s", path, *words]
            line("weft " + " ".join(words), [milliseconds(lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL))
                                             for _ in range(ROUNDS)], bound)
    finally:
        crowd.kill()
        crowd.wait()


def answers(peers):
    said = subprocess.run([program("testing", "sim", "weft-crowd"), "--time", str(peers)], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(said, end="")
    tops = [float(us) for us in re.findall(r"^show_top .* ([0-9]+) us", said, re.M)]
    print(f"{'dearest page of weft top, once a second':<44} {max(tops) / 1e4:8.3f} % of a core (wanted: < 0.5)")


def starts(folder):
    """From the start of the process until it says READY=1, in a namespace of its own; its key exists but the first time."""
    path = os.path.join(folder, "notify.sock")
    said = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    said.bind(path)
    said.settimeout(10)
    config = os.path.join(folder, "weft.yaml")
    with open(config, "w") as f:
        f.write(f'node: {{ control: {{ socket_path: "{folder}/control.sock" }} }}\nweft: {{ firewall: {{ enabled: true }} }}\n')
    env = {**os.environ, "NOTIFY_SOCKET": path, "STATE_DIRECTORY": folder}
    argv = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", program("daemon", "weftd", "weftd"), "-c", config]

    def once():
        begin = time.monotonic()
        daemon = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while b"READY=1" not in said.recv(4096):
                pass
            return (time.monotonic() - begin) * 1e3
        finally:
            daemon.terminate()
            daemon.wait()
            said.setblocking(False)
            try:
                while said.recv(4096):
                    pass
            except BlockingIOError:
                said.settimeout(10)

    line("weftd, first start, to ready", [once()], 200)
    line("weftd, to ready", [once() for _ in range(ROUNDS)], 200)


def main():
    peers = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0 and os.path.exists("/dev/net/tun"):
            starts(folder)
        else:
            print("start: skipped, needs root and a TUN device")
        clients(folder, peers)
    answers(peers)


if __name__ == "__main__":
    main()
