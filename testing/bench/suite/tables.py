"""A run as tables in Markdown: medians, and the smallest and largest of the rounds."""
from targets import judge

# metric: title, digits behind the point
METRICS = {
    "tcp1": ("TCP 1 there", 0), "tcp1_back": ("TCP 1 back", 0), "tcp4": ("TCP 4 there", 0), "tcp4_back": ("TCP 4 back", 0),
    "cpu_per_gib": ("s/GiB TCP", 2), "cpu_per_gib_udp": ("s/GiB UDP", 2), "machine_per_gib": ("whole machine, s/GiB TCP", 2),
    "retransmits": ("TCP retransmits", 0), "rss": ("peak RSS, MiB", 0),
    "udp_mbit": ("Mbit/s arrived", 0), "udp_loss": ("lost in the tunnel, %", 3), "udp_loss_buffer": ("in iperf3's buffer, %", 3),
    "rtt_p50": ("idle p50", 3), "rtt_p99": ("idle p99", 3), "load_p50": ("under TCP p50", 2), "load_p99": ("under TCP p99", 2),
    "first_ms": ("first ping", 0), "pps": ("one call each", 0), "pps_trains": ("in trains", 0), "pps_late": ("late, one call each", 0),
    "pps_trains_late": ("late, in trains", 0), "direct": ("TCP 1 to the neighbour", 0),
    "hub_alone": ("TCP 1, two nodes alone", 0), "hub_tcp": ("TCP 1, hub loaded", 0), "hub_ratio": ("ratio", 2),
    "hub_loss": ("UDP lost of the senders, %", 2), "rest_cpu": ("10 peers: CPU, % of a core", 2), "rest_rss": ("RSS, MiB", 1),
    "hub_peers": ("all peers", 0), "hub_rest_cpu": ("with all: CPU, % of a core", 2), "hub_rss": ("with all: RSS, MiB", 1),
    "hub_per_peer_kib": ("KiB per further peer", 1),
    "rekey_tcp": ("TCP 1, median second", 0), "rekey_worst": ("worst second / median", 2), "rekey_count": ("link key changes", 0),
    "rekey_retransmits": ("TCP retransmits", 0)}

# title, part, wires, metrics, heading
TABLES = [
    ("Throughput", "pair", ("whole", "segmented", "off"), ("tcp1", "tcp1_back", "tcp4", "tcp4_back"), "Mbit/s of payload received"),
    ("Round trips", "pair", ("whole", "segmented", "off"), ("rtt_p50", "rtt_p99", "load_p50", "load_p99", "first_ms"),
     "ms; first ping: from the start of the daemons to the first reply"),
    ("CPU and memory", "pair", ("whole", "segmented", "off"), ("cpu_per_gib", "cpu_per_gib_udp", "machine_per_gib", "retransmits", "rss"),
     "CPU seconds of both daemons per GiB of payload; `whole machine` has iperf3 and the kernel's own work in it"),
    ("UDP at 500 Mbit/s", "pair", ("whole",), ("udp_mbit", "udp_loss", "udp_loss_buffer"), "full payload of the path's MTU"),
    ("64-byte datagrams", "pair", ("whole", "segmented", "off"), ("pps", "pps_trains", "pps_late", "pps_trains_late"),
     "received per second, one way; the sender makes one call each, or both ends have trains (UDP_SEGMENT, UDP_GRO); late: "
     "overtaken by a later one"),
] + [(f"Chain of {n} hops", f"chain{n}", ("whole",), ("tcp1", "direct", "rtt_p50", "rtt_p99", "cpu_per_gib", "first_ms"),
      "end to end over the chain; Mbit/s, ms, CPU seconds of all daemons per GiB") for n in (2, 3, 4, 5)] + [
    ("A hub and its peers", "hub", ("whole",), ("rest_cpu", "rest_rss", "hub_peers", "hub_rest_cpu", "hub_rss", "hub_per_peer_kib", "hub_alone",
                                               "hub_tcp", "hub_ratio", "hub_loss"), "at rest with 10 peers, then with all of them"),
    ("Key changes under load", "rekey", ("whole",), ("rekey_tcp", "rekey_worst", "rekey_count", "rekey_retransmits"),
     "one stream, both keys renewed as often as a configuration may ask for"),
]
WIRE_TEXT = {"whole": "super-datagrams cross whole", "segmented": "the kernel segments, the receiving veth joins (GRO)",
             "off": "no offload on the wire nor on the interface"}


def markdown(head, rows):
    width = [max(len(str(r[i])) for r in [head, *rows]) for i in range(len(head))]
    lines = ["| " + " | ".join(str(c).ljust(width[i]) for i, c in enumerate(r)) + " |" for r in [head, *rows]]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in width) + "|")
    return "\n".join(lines)


def one_table(store, part, wire, metrics):
    rows = []
    present = [m for m in metrics if any(s[1] == part and s[2] == wire and s[4] == m for s in store.data["samples"])]
    for product in store.data["products"]:
        cells = [store.spread(part, wire, product, m) for m in present]
        if any(cells):
            rows.append([product] + [c.text(METRICS[m][1]) if c else "-" for c, m in zip(cells, present)])
    return markdown(["", *(METRICS[m][0] for m in present)], rows) if rows else None


def targets_table(store):
    rows = [[t.title, t.must_text(), t.aim_text(), got.text(t.digits), word] for t, got, word in judge(store)]
    return markdown(["in this run", "must", "aim", "measured", ""], rows) if rows else None


def about(store):
    d, m = store.data, store.data["machine"]
    lines = [f"Made by `{d['command']}` at commit {d['commit']}, {d['date']}: {d['rounds']} rounds, "
             f"{d['seconds']} s for each throughput figure.", "",
             f"{m['cores']} cores ({m['cpu']}; {', '.join(m['flags'])}), {m['memory_gib']:.0f} GiB, {m['system']}, kernel {m['kernel']}, "
             f"{m['iperf3']}. Load before the run: {d['load_before']}.", ""]
    lines.append(markdown(["product", "version", "what"], [[n, p["version"], p["about"]] for n, p in d["products"].items()]))
    if d["skipped"]:
        lines += ["", "Not here, so skipped: " + "; ".join(f"{n} ({why})" for n, why in d["skipped"].items()) + "."]
    if d["failed"]:
        lines += ["", "Failed, so missing above or below: " + "; ".join(sorted(set(d["failed"]))) + "."]
    return "\n".join(lines)


def sections(store):
    """(name, Markdown) in order; names are what docs/performance.md has as markers."""
    out = [("about", about(store))]
    targets = targets_table(store)
    if targets:
        out.append(("targets", targets))
    results = []
    for title, part, wires, metrics, unit in TABLES:
        for wire in wires:
            table = one_table(store, part, wire, metrics)
            if table:
                label = "" if part != "pair" or len(wires) == 1 else f", {wire}"
                unit_text = unit if not label else f"{unit}. Wire: {WIRE_TEXT[wire]}"
                results.append(f"### {title}{label}\n\n{unit_text[0].upper() + unit_text[1:]}.\n\n{table}")
    if results:
        out.append(("results", "\n\n".join(results)))
    return out
