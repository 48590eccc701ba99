#!/usr/bin/env python3
"""The commands of the how-to pages, run as they stand there. Needs root, iproute2.

Usage: test_howto.py [NAME...]     WEFTD names the daemon (else build/release is used), WEFT the client (else the one of that build)
"""
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
HOWTO = os.path.join(ROOT, "docs", "howto")
sys.path.insert(0, HERE)
from harness import main, test  # noqa: E402
from lab import Kind, Lab, find_weft, find_weftd, wait_for  # noqa: E402
from terminal import Terminal, find_emulator, pyte  # noqa: E402


def new_lab():
    return Lab("wh", {"weft": Kind("weft", find_weftd())})


@test
def every_command_of_the_how_to_works():
    with new_lab() as lab:
        lab.wire("a", "b")
        lab.know_everybody()
        a, b = lab.node("a"), lab.node("b")
        a.sections["weft"] = {"metrics": {"listen": "127.0.0.1:9121"}}
        with open(os.path.join(HOWTO, "watching.md")) as f:
            blocks = re.findall(r"^```sh\n(.*?)^```", f.read(), re.M | re.S)
        commands = [line for block in blocks for line in block.splitlines() if line.strip() and not line.startswith("#")]
        assert len(commands) >= 8, commands
        lab.start()
        wait_for("a linked to b", 15, lambda: a.linked_to("b"))
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


def commands_of(page):
    """Lines of fenced blocks, and what stands in backquotes, that begin with weft or weftd."""
    with open(os.path.join(HOWTO, page)) as f:
        text = f.read()
    blocks, inline = [], []
    for i, part in enumerate(text.split("```")):
        if i % 2:
            blocks += [line.split("#")[0].strip() for line in part.splitlines()]
        else:
            inline += re.findall(r"`([^`]+)`", part)

    def ours(lines):
        lines = [x.removeprefix("sudo ") for x in lines]
        return [x.split() for x in lines if re.match(r"(weft|weftd) [a-z-]", x)]
    return ours(blocks), ours(inline)


def run_words(node, words, extra=()):
    program = [find_weft(), "-s", node.socket_path] if words[0] == "weft" else [node.kind.daemon]
    p = subprocess.run(node.argv(*program, *words[1:], *extra), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert p.returncode in (0, 4), f"{' '.join(words)}: exit {p.returncode}\n{p.stdout}"
    return 1


@test
def commands_of_the_how_to_pages_run():
    ran = 0
    with new_lab() as lab:
        a, b = lab.node("a"), lab.node("b")
        lab.wire("a", "b", dialers="a")
        old = os.path.join(lab.dir, "fips")
        os.mkdir(old)
        a.write_config()
        os.rename(a.config_path, f"{old}/fips.yaml")
        with open(f"{old}/hosts", "w") as f:
            f.write(f"friend {lab.npub('b')}\nNAME {lab.npub('b')}\n")
        a.write_config = lambda: None
        # As the package leaves it.
        os.mkdir(os.path.join(lab.dir, "weft"))
        shutil.copy(os.path.join(ROOT, "config", "example.yaml"), os.path.join(lab.dir, "weft", "weft.yaml"))
        b.start()
        blocks, inline = commands_of("moving-from-fips.md")
        for words in blocks:
            words = [w.replace("/etc/fips", old) for w in words]
            if words[0] == "weftd" and "--check" not in words:  # it stays: that is the daemon of the rest
                log = open(os.path.join(a.dir, "log"), "a")
                a.proc = subprocess.Popen(a.argv(a.kind.daemon, *words[1:]), stdout=log, stderr=log)
                wait_for("the node moved over", 10, a.alive)
                wait_for("its link", 15, lambda: a.linked_to("b"))
                continue
            ran += run_words(a, words, extra=["--to", os.path.join(lab.dir, "weft")] if "import" in words else [])
        for page in ("troubleshooting.md", "moving-from-fips.md"):
            blocks, inline = commands_of(page)
            for words in blocks if page == "troubleshooting.md" else []:
                ran += run_words(a, words)
            for words in inline:
                p = subprocess.run([find_weft() if words[0] == "weft" else a.kind.daemon, *[w for w in words[1:2] if not w.startswith("-")], "--help"],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=10)
                assert p.returncode == 0, f"`{' '.join(words)}`: {p.stdout}"
                ran += 1
    return f"{ran} commands"


if __name__ == "__main__":
    find_emulator()
    sys.exit(main(sys.argv[1:]))
