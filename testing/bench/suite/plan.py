"""Which measurement follows which: rounds, products in rotating order within each, and how long it all takes."""
import time

import parts
from lab import LabError
from measures import PAIR
from mesh import reference, weft, weft_on_listening_sockets, weft_with_workers
from products import peers

WIRE_WORDS = {"whole": tuple(PAIR), "segmented": ("rtt", "tcp", "load", "pps"), "off": ("rtt", "tcp", "pps")}
WORDS = [*PAIR, "chain", "hub", "rekey", "workers"]
LONG_CHAINS = ("veth", "weft", "reference")  # who is measured over 3 to 5 hops too
QUICK_PEERS = ("veth", "null", "wireguard-go", "wireguard-go-debian", "weft")


def catalogue():
    """Every product, in the order of the tables."""
    before, after = peers()[:3], peers()[3:]
    return [*before, weft(), reference(), *after]


def on_request():
    """Measured only when --peers names them."""
    return [weft_on_listening_sockets()]


class Step:
    def __init__(self, round_, part, wire, product, seconds, run):
        self.round, self.part, self.wire, self.product, self.seconds, self.run = round_, part, wire, product, seconds, run

    def label(self):
        return f"round {self.round}: {self.product.name}, {self.part}" + (f", wire {self.wire}" if self.part == "pair" else "")


def rotated(items, by):
    by %= max(1, len(items))
    return items[by:] + items[:by]


def word_seconds(word, s):
    return {"first": 0, "rtt": 0.5 * max(2, s) + 0.3, "tcp": 4 * (s + 0.6), "udp": s + 2, "load": max(3, s) + 2.5,
            "pps": 2 * (min(3, s) + 1)}[word]


class Plan:
    def __init__(self, products, words, wires, rounds, seconds, spokes, quick):
        self.steps = []
        self.tell = print
        for r in range(1, rounds + 1):
            order = rotated(products, r - 1)
            for wire in wires:
                todo = [w for w in WIRE_WORDS[wire] if w in words]
                for p in order:
                    if todo and (wire == "whole" or p.offload):
                        self._pair(r, wire, p, todo, seconds)
            if "workers" in words and any(p.name == "weft" for p in products):
                for p in rotated([weft_with_workers(1), weft_with_workers(2)], r - 1):
                    self._pair(r, "whole", p, ["rtt", "tcp", "pps"], seconds)
            if "chain" in words:
                for hops in (2,) if quick else (2, 3, 4, 5):
                    for p in order:
                        if p.max_hops >= hops and (hops == 2 or p.name in LONG_CHAINS) and not (quick and p.name != "weft"):
                            self.steps.append(Step(r, f"chain{hops}", "whole", p, 5 + p.settle + 2 * seconds,
                                                   lambda p=p, h=hops: parts.chain(p, h, seconds)))
            if "hub" in words:
                for p in order:
                    if p.name == "reference" or p.name.startswith("weft"):
                        self._hub(r, p, 10 if p.name == "reference" else spokes, seconds)
            if "rekey" in words and any(p.name == "weft" for p in products):
                self.steps.append(Step(r, "rekey", "whole", weft(), 50, lambda: parts.rekey(seconds, self.tell)))

    def _pair(self, r, wire, p, words, seconds):
        guess = 1.5 + p.settle + sum(word_seconds(w, seconds) for w in words)
        self.steps.append(Step(r, "pair", wire, p, guess, lambda: parts.pair(p, wire, words, seconds, self.tell)))

    def _hub(self, r, p, spokes, seconds):
        hub = type(p)(p.name, p.binary, p.about, env=p.env, node_options={"limits": {"max_peers": 300, "max_links": 600,
                                                                          "max_connections": 600}},
                      small=[f"s{i}" for i in range(1, spokes)]) if p.name.startswith("weft") else p
        guess = 20 + 2 * max(10, 3 * seconds) + 0.6 * spokes + 2 * seconds
        self.steps.append(Step(r, "hub", "whole", p, guess, lambda: parts.hub(hub, spokes, min(20, spokes - 5), seconds, self.tell)))

    def run(self, store):
        """Every step; what fails is noted and the rest goes on."""
        total = sum(s.seconds for s in self.steps)
        done, begin = 0.0, time.monotonic()
        for n, step in enumerate(self.steps, 1):
            spent = time.monotonic() - begin
            pace = spent / done if done > 30 else 1.0
            left = (total - done) * pace
            print(f"[{n}/{len(self.steps)}, {left / 60:.0f} min left] {step.label()}", flush=True)
            self.tell = lambda text, at=step: self._note(store, at, text)
            try:
                got = step.run()
                store.add(step.round, step.part, step.wire, step.product.name, got)
                print("    " + ", ".join(f"{k} {v:.4g}" for k, v in got.items()), flush=True)
            except (LabError, OSError, KeyError, ValueError, IndexError) as problem:  # one product must not end the comparison
                self._note(store, step, f"failed: {problem}")
            done += step.seconds
            store.save()

    @staticmethod
    def _note(store, step, text):
        print("    " + text.replace("\n", "\n    "), flush=True)
        if "failed" in text:
            store.data["failed"].append(f"{step.product.name}, {step.part} {step.wire}: {text.splitlines()[0][:120]}")
