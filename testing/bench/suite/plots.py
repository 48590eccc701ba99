"""Bars with the spread of the rounds, as SVG by gnuplot, where that is installed."""
import os
import shutil
import subprocess

from tables import METRICS

# file, title, part, metrics, unit, logarithmic, wires
PLOTS = [
    ("throughput", "TCP through the tunnel", "pair", ("tcp1", "tcp1_back", "tcp4"), "Mbit/s", True, ("whole",)),
    ("throughput-segmented", "The same, wire segmented by the kernel", "pair", ("tcp1", "tcp1_back", "tcp4"), "Mbit/s", True,
     ("segmented",)),
    ("cpu", "CPU of both daemons", "pair", ("cpu_per_gib", "cpu_per_gib_udp"), "s/GiB", False, ("whole",)),
    ("latency", "Round trips", "pair", ("rtt_p50", "rtt_p99", "load_p50", "load_p99"), "ms", True, ("whole",)),
    ("packets", "64-byte datagrams", "pair", ("pps", "pps_trains"), "packets/s", True, ("whole",)),
]
COLOURS = ("#2b6cb0", "#90cdf4", "#dd6b20", "#fbd38d")


def rows_of(store, part, wire, metrics):
    for product in store.data["products"]:
        spreads = [store.spread(part, wire, product, m) for m in metrics]
        if any(spreads):
            yield product, spreads


def script(path, title, rows, metrics, unit, logarithmic):
    data = []
    for product, spreads in rows:
        cells = " ".join(f"{s.median:g} {s.low:g} {s.high:g}" if s else "NaN NaN NaN" for s in spreads)
        data.append(f'"{product}" {cells}')
    bars = ", ".join(f"$data using {2 + 3 * i}:{3 + 3 * i}:{4 + 3 * i}:xtic(1) title \"{METRICS[m][0]}\" lc rgb '{COLOURS[i]}'"
                     for i, m in enumerate(metrics))
    scale = "set logscale y\nset yrange [*:*]" if logarithmic else "set yrange [0:*]"
    return "\n".join([
        "$data << EOD", *data, "EOD",
        "set terminal svg size 900,420 dynamic background rgb 'white' font 'Helvetica,12'", f"set output '{path}'",
        f"set title '{title}'", f"set ylabel '{unit}'", scale, "set style data histogram", "set style histogram errorbars gap 1 lw 1",
        "set style fill solid 0.9 border lt -1", "set boxwidth 0.9", "set grid ytics", "set key outside top center horizontal", "set xtics rotate by -25",
        "set bars 0.4", "plot " + bars, ""])


def possible():
    return shutil.which("gnuplot") is not None


def draw(store, folder):
    """Paths of the plots; empty without gnuplot."""
    if not possible():
        return []
    made = []
    for name, title, part, metrics, unit, logarithmic, wires in PLOTS:
        for wire in wires:
            rows = list(rows_of(store, part, wire, metrics))
            if len(rows) < 2:
                continue
            path = os.path.join(folder, name + ".svg")
            done = subprocess.run(["gnuplot"], input=script(path, title, rows, metrics, unit, logarithmic), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode == 0:
                made.append(path)
            else:
                print(f"gnuplot, {name}: {done.stdout.strip()}")
    return made
