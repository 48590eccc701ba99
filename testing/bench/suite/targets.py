"""The ratios that weft set out to reach, each between two measurements of one run."""
from store import difference, ratio


class Target:
    """`upper` and `lower`: (part, wire, product, metric). Without `lower` the number itself counts."""

    def __init__(self, title, better, must, aim, upper, lower=None, how=ratio, digits=2, unit=""):
        self.title, self.better, self.must, self.aim, self.digits, self.unit = title, better, must, aim, digits, unit
        self.upper, self.lower, self.how = upper, lower, how

    def _text(self, v):
        return f"{'≥' if self.better == 'more' else '≤'} {v:g}{self.unit}"

    def must_text(self):
        return self._text(self.must)

    def aim_text(self):
        return self._text(self.aim)

    def measured(self, store):
        if self.lower is None:
            return store.spread(*self.upper)
        return store.compare(self.upper, self.lower, self.how)

    def word(self, value):
        def reached(limit):
            return value >= limit if self.better == "more" else value <= limit
        return "aim reached" if reached(self.aim) else "reached" if reached(self.must) else "missed"


def on(product, metric, part="pair", wire="whole"):
    return part, wire, product, metric


TARGETS = [
    Target("1 TCP stream against the null tunnel, wire whole", "more", 0.60, 0.80, on("weft", "tcp1"), on("null", "tcp1")),
    Target("the same, wire segmented", "more", 0.60, 0.80, on("weft", "tcp1", wire="segmented"), on("null", "tcp1", wire="segmented")),
    Target("1 TCP stream against wireguard-go current", "more", 1.0, 1.3, on("weft", "tcp1"), on("wireguard-go", "tcp1")),
    Target("1 TCP stream against the reference", "more", 2.5, 4, on("weft", "tcp1"), on("reference", "tcp1")),
    Target("1 TCP stream against Debian's wireguard-go", "more", 4, 6, on("weft", "tcp1"), on("wireguard-go-debian", "tcp1")),
    Target("CPU s/GiB against the null tunnel", "less", 1.7, 1.3, on("weft", "cpu_per_gib"), on("null", "cpu_per_gib")),
    Target("chain A-C-B: 1 TCP stream against the direct one", "more", 0.55, 0.70, on("weft", "tcp1", part="chain2"),
           on("weft", "direct", part="chain2")),
    Target("idle RTT p50 added over veth, ms", "less", 0.15, 0.10, on("weft", "rtt_p50"), on("veth", "rtt_p50"), difference, 3),
    Target("idle RTT p99 added over veth, ms", "less", 0.30, 0.20, on("weft", "rtt_p99"), on("veth", "rtt_p99"), difference, 3),
    Target("RTT p50 under one TCP stream, ms", "less", 0.8, 0.4, on("weft", "load_p50")),
    Target("UDP 500 Mbit/s, lost in the tunnel, %", "less", 0.01, 0, on("weft", "udp_loss"), digits=3),
    Target("64-byte UDP, one call each, against Debian's wireguard-go", "more", 2, 3, on("weft", "pps"),
           on("wireguard-go-debian", "pps")),
    Target("64-byte UDP in trains against Debian's wireguard-go", "more", 6, 10, on("weft", "pps_trains"),
           on("wireguard-go-debian", "pps_trains")),
    Target("hub with all its peers: 1 TCP stream against two nodes alone", "more", 0.85, 0.95, on("weft", "hub_ratio", part="hub")),
    Target("hub with ten peers: memory, MiB", "less", 40, 40, on("weft", "rest_rss", part="hub"), digits=1),
    Target("each further idle peer, KiB", "less", 16, 16, on("weft", "hub_per_peer_kib", part="hub"), digits=1),
]


def judge(store):
    """(target, Spread, word) of every target that this run can say something about."""
    out = []
    for t in TARGETS:
        got = t.measured(store)
        if got:
            out.append((t, got, t.word(got.median)))
    return out
