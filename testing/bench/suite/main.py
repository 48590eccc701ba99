#!/usr/bin/env python3
"""Measures weft beside other tunnels, in interleaved rounds of one run. Called by scripts/bench, which builds what it needs."""
import argparse
import os
import shlex
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "netns")]

import budget  # noqa: E402
import report  # noqa: E402
from measures import PAIR  # noqa: E402
from net import WIRES  # noqa: E402
from plan import QUICK_PEERS, WORDS, Plan, catalogue, on_request  # noqa: E402
from products import ROOT  # noqa: E402
from store import Store  # noqa: E402

DEFAULT_OUT = os.path.join(ROOT, "build", "bench")


def arguments():
    ap = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    ap.add_argument("words", nargs="*", help=f"what: {' '.join(WORDS)}; pair: the first {len(PAIR)}; net: all (default). "
                    "Or one of: peers (who is here), check (against the budget), report (tables and plots of a run)")
    ap.add_argument("--peers", help="products by name, with commas (default: all that are here)")
    ap.add_argument("--wire", default=",".join(WIRES), help="wire modes, with commas: whole, segmented, off")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=int, default=5, help="of each throughput figure")
    ap.add_argument("--spokes", type=int, default=200, help="peers of the hub")
    ap.add_argument("--quick", action="store_true", help="one short round with few peers, under five minutes: to see that it works")
    ap.add_argument("--out", default=DEFAULT_OUT, help="folder for results.json, report.md and plots (default: build/bench)")
    ap.add_argument("--docs", action="store_true", help="with report: put tables and plots into docs/performance.md")
    return ap.parse_args()


def chosen_words(args):
    words = []
    for w in args.words or ["net"]:
        words += {"pair": list(PAIR), "net": WORDS}.get(w, [w])
    for w in words:
        if w not in WORDS:
            sys.exit(f"bench: unknown word {w}; there are: {' '.join(WORDS)}, pair, net, micro, peers, check, report")
    return words


def chosen_products(args, store):
    known = catalogue()
    names = args.peers.split(",") if args.peers else [p.name for p in known if not args.quick or p.name in QUICK_PEERS]
    known += [p for p in on_request() if p.name in names]
    for n in names:
        if n not in [p.name for p in known]:
            sys.exit(f"bench: unknown peer {n}; there are: {' '.join(p.name for p in known)}")
    out = []
    for p in known:
        if p.name not in names:
            continue
        why = p.missing()
        if why:
            store.data["skipped"][p.name] = why
            print(f"skipped: {p.name}: {why}")
        else:
            out.append(p)
            store.data["products"][p.name] = {"version": p.version(), "about": p.about}
    return out


def list_peers():
    for p in catalogue():
        print(f"{p.name:22} {p.missing() or p.version():40} {p.about}")


def main():
    args = arguments()
    if args.words == ["peers"]:
        return list_peers()
    if args.words[:1] == ["report"]:
        return report.write(Store.load(os.path.join(args.out, "results.json")), args.out, args.docs)
    if os.geteuid() != 0:
        sys.exit("bench: namespaces need root")
    if args.words == ["check"]:
        sys.exit(budget.check())
    os.makedirs(args.out, exist_ok=True)
    store = Store(os.path.join(args.out, "results.json"))
    words = chosen_words(args)
    if args.quick:
        args.rounds, args.seconds, args.spokes = 1, 2, min(args.spokes, 30)
        if not args.words:
            words = [w for w in words if w not in ("workers", "rekey")]
        args.wire = "whole" if args.wire == ",".join(WIRES) else args.wire
    products = chosen_products(args, store)
    plan = Plan(products, words, args.wire.split(","), args.rounds, args.seconds, args.spokes, args.quick)
    if "workers" in words:
        for n in (1, 2):
            store.data["products"][f"weft-workers-{n}"] = {"version": "", "about": f"weft with {n} worker{'s' * (n > 1)} each way"}
    store.begin(shlex.join(["scripts/bench", *sys.argv[1:]]), args.rounds, args.seconds)
    try:
        plan.run(store)
    except KeyboardInterrupt:
        print("\ninterrupted: what was measured so far is reported")
    store.save()
    report.write(store, args.out, False)


if __name__ == "__main__":
    main()
