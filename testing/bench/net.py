#!/usr/bin/env python3
"""Measures weftd between network namespaces, in interleaved rounds, beside a reference binary where FIPS names one.

Usage: net.py [--rounds N] [--seconds S] [--json FILE] [--only NAME...]
Prints medians with minimum and maximum; all nodes and the load share this machine's cores. Needs root.
"""
import argparse
import json
import os
import re
import statistics
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "netns"))
from lab import Kind, Lab, find_weftd, wait_for  # noqa: E402

LETTERS = "abcdef"


def iperf(client, server, *extra, seconds):
    srv = server.popen("iperf3", "-s", "-1", "-B", server.addr)
    time.sleep(0.3)
    out = client.sh("iperf3", "-6", "-J", "-c", server.addr, "-t", str(seconds), *extra, timeout=seconds + 40, check=False).stdout
    srv.kill()
    srv.wait()
    result = json.loads(out)
    if "error" in result:
        raise RuntimeError(result["error"])
    return result["end"]


def rtt(node, other, count, interval):
    out = node.sh("ping", "-6", "-n", "-c", str(count), "-i", str(interval), other.addr, timeout=count + 20, check=False).stdout
    times = sorted(float(m) for m in re.findall(r"time=([\d.]+)", out))
    if not times:
        raise RuntimeError("no reply")
    return times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.99))]


def chain(lab, n, mtu):
    for x, y in zip(LETTERS[:n - 1], LETTERS[1:n]):
        lab.wire(x, y)
    for x in LETTERS[:n]:
        lab.node(x).mtu = mtu
    lab.know_everybody()
    # the reference has no hosts file of its own beside its configuration: it learns keys from its list of peers
    for x in LETTERS[:n]:
        node = lab.node(x)
        if not node.kind.weft:
            known = {p for p, _ in node.peers} | {x}
            extra = [{"npub": lab.npub(y), "connect_policy": "manual", "addresses": [{"transport": "udp", "addr": "10.255.255.1:9"}]}
                     for y in LETTERS[:n] if y not in known]
            write = node.write_config

            def with_extra(write=write, node=node, extra=extra):
                write()
                with open(node.config_path) as f:
                    config = json.load(f)
                config["peers"] += extra
                with open(node.config_path, "w") as f:
                    json.dump(config, f)
            node.write_config = with_extra
    return [lab.node(x) for x in LETTERS[:n]]


def measure_pair(kind, seconds):
    out = {}
    with Lab("wb", {kind.name: kind}, default=kind.name) as lab:
        a, b = chain(lab, 2, 1472)
        start = time.monotonic()
        lab.start()
        wait_for("first ping", 30, lambda: a.ping(b, count=1), 0.02)
        out["first ping, s"] = time.monotonic() - start
        time.sleep(2)
        out["idle RTT p50, ms"], out["idle RTT p99, ms"] = rtt(a, b, 200, 0.01)
        cpu = a.cpu_seconds() + b.cpu_seconds()
        end = iperf(a, b, seconds=seconds)
        cpu = a.cpu_seconds() + b.cpu_seconds() - cpu
        received = end["sum_received"]
        out["TCP 1 stream, Mbit/s"] = received["bits_per_second"] / 1e6
        out["CPU, s/GiB"] = cpu / (received["bytes"] / 2**30)
        out["TCP 1 stream back, Mbit/s"] = iperf(a, b, "-R", seconds=seconds)["sum_received"]["bits_per_second"] / 1e6
        out["TCP 4 streams, Mbit/s"] = iperf(a, b, "-P", "4", seconds=seconds)["sum_received"]["bits_per_second"] / 1e6
        load = a.popen("iperf3", "-s", "-1", "-B", a.addr)
        time.sleep(0.3)
        push = b.popen("iperf3", "-6", "-c", a.addr, "-t", "4")
        time.sleep(1)
        out["RTT p50 under TCP, ms"], out["RTT p99 under TCP, ms"] = rtt(a, b, 100, 0.02)
        push.wait()
        load.kill()
        s = iperf(a, b, "-u", "-b", "500M", "-l", "1200", seconds=seconds)["sum"]
        out["UDP 500 Mbit/s, loss %"] = 100.0 * s["lost_packets"] / max(1, s["packets"])
        out["RSS, MiB"] = a.rss_mib()
    return out


def measure_chain(kind, seconds):
    with Lab("wb", {kind.name: kind}, default=kind.name) as lab:
        a, _, c = chain(lab, 3, 1472)
        start = time.monotonic()
        lab.start()
        wait_for("first ping", 60, lambda: a.ping(c, count=1), 0.02)
        first = time.monotonic() - start
        time.sleep(1)
        p50, p99 = rtt(a, c, 100, 0.01)
        mbit = iperf(a, c, seconds=seconds)["sum_received"]["bits_per_second"] / 1e6
        return {"chain of 3: first ping, s": first, "chain of 3: TCP, Mbit/s": mbit, "chain of 3: RTT p50, ms": p50,
                "chain of 3: RTT p99, ms": p99}


def measure_rest(kind, seconds):
    """A hub with ten neighbours, at rest, and what twenty more cost it."""
    with Lab("wb", {kind.name: kind}, default=kind.name) as lab:
        hub = lab.node("a")
        spokes = []
        secrets = {f"s{i}": f"{i + 16:02x}" * 32 for i in range(30)}
        import lab as labmod
        for name, secret in secrets.items():
            labmod.SECRETS[name] = secret
        keys = weft_keys(kind, list(secrets.values()))
        if keys is None:
            return {}
        for name, secret in secrets.items():
            labmod.NPUBS[name] = keys[secret]
            lab.wire("a", name, dialers=name)
            spokes.append(lab.node(name))
        names = list(secrets)
        lab.start(["a"])
        lab.start(names[:10])
        wait_for("ten links", 40, lambda: len(hub.ask("show_peers")["peers"]) == 10)
        time.sleep(12)
        cpu = hub.cpu_seconds()
        begin = time.monotonic()
        time.sleep(max(15, seconds * 2))
        used = (hub.cpu_seconds() - cpu) / (time.monotonic() - begin)
        rss = hub.rss_mib()
        lab.start(names[10:])
        wait_for("thirty links", 40, lambda: len(hub.ask("show_peers")["peers"]) == 30)
        time.sleep(8)
        return {"at rest, 10 peers: CPU, % of a core": 100 * used, "at rest, 10 peers: RSS, MiB": rss,
                "each further peer, KiB": (hub.rss_mib() - rss) * 1024 / 20}


def weft_keys(kind, secrets):
    """npubs of secrets, by the schoolbook curve: a benchmark needs no library for ten points."""
    p = 2**256 - 2**32 - 977
    gx = 0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798
    gy = 0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8

    def add(a, b):
        if a is None or b is None:
            return a or b
        if a[0] == b[0] and (a[1] + b[1]) % p == 0:
            return None
        m = (3 * a[0] * a[0] * pow(2 * a[1], -1, p) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, p)) % p
        x = (m * m - a[0] - b[0]) % p
        return x, (m * (a[0] - x) - a[1]) % p

    charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

    def polymod(values):
        chk = 1
        for v in values:
            top = chk >> 25
            chk = (chk & 0x1FFFFFF) << 5 ^ v
            for i, g in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                chk ^= g if (top >> i) & 1 else 0
        return chk

    out = {}
    for secret in secrets:
        k, q, base = int(secret, 16), None, (gx, gy)
        while k:
            if k & 1:
                q = add(q, base)
            base, k = add(base, base), k >> 1
        key = q[0].to_bytes(32, "big")
        acc = bits = 0
        data = []
        for byte in key:
            acc, bits = (acc << 8) | byte, bits + 8
            while bits >= 5:
                bits -= 5
                data.append((acc >> bits) & 31)
        data.append((acc << (5 - bits)) & 31)
        hrp = [ord(c) >> 5 for c in "npub"] + [0] + [ord(c) & 31 for c in "npub"]
        check = polymod(hrp + data + [0] * 6) ^ 1
        out[secret] = "npub1" + "".join(charset[d] for d in data + [(check >> 5 * (5 - i)) & 31 for i in range(6)])
    return out


PARTS = {"pair": measure_pair, "chain": measure_chain, "rest": measure_rest}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=int, default=5)
    ap.add_argument("--json")
    ap.add_argument("--only", nargs="*", default=list(PARTS))
    args = ap.parse_args()
    kinds = [Kind("weft", find_weftd())]
    fips = os.environ.get("FIPS", "")
    if os.access(fips, os.X_OK):
        kinds.append(Kind("reference", fips, weft=False))
    else:
        print("no reference binary (FIPS names none): weft alone is measured")
    samples = {k.name: {} for k in kinds}
    for r in range(args.rounds):
        for kind in kinds if r % 2 == 0 else reversed(kinds):
            for part in args.only:
                print(f"round {r + 1} of {args.rounds}: {kind.name}, {part}", file=sys.stderr, flush=True)
                try:
                    for k, v in PARTS[part](kind, args.seconds).items():
                        samples[kind.name].setdefault(k, []).append(v)
                except Exception as e:  # one product that fails must not end the comparison
                    print(f"  failed: {e}", file=sys.stderr, flush=True)
    rows = list(dict.fromkeys(k for s in samples.values() for k in s))
    print(f"\n{'':38}" + "".join(f"{k.name:>32}" for k in kinds))
    for row in rows:
        line = f"{row:38}"
        for k in kinds:
            v = samples[k.name].get(row)
            line += f"{'-':>32}" if not v else f"{f'{statistics.median(v):.3g} [{min(v):.3g} to {max(v):.3g}]':>32}"
        print(line)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(samples, f, indent=1)


if __name__ == "__main__":
    main()
