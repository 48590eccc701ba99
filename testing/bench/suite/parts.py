"""The measurements that need more than two nodes, or a longer look: chains, a hub, key changes."""
import json
import time

from lab import LabError
from measures import LOAD, bring_up, iperf, iperf_json, mbit, ping, start_receiver
from mesh import weft
from net import Net, cpu_seconds, cpu_seconds_fine, memory_mib
from measures import GIB, PAIR, Ends
from traffic import mbit_by_second

CHAIN = "abcdef"


def pair(product, wire, words, seconds, tell):
    """Two neighbours; `words` are keys of PAIR."""
    out = {}
    with Net("ab", ["ab"]) as net:
        e = bring_up(net, product, wire)
        for word in words:
            try:
                got = PAIR[word](e, seconds)
            except (LabError, OSError, KeyError, ValueError) as problem:
                tell(f"{word} failed: {str(problem).strip()[-400:]}")
                e.alive()
                continue
            out.update(got)
    return out


def chain(product, hops, seconds):
    """One end to the other over `hops` wires; the direct neighbour too, with the same daemons running."""
    nodes = CHAIN[:hops + 1]
    with Net(nodes, list(zip(nodes, nodes[1:]))) as net:
        e = bring_up(net, product)
        p50, p99 = ping(e, 200, 0.005)
        cpu = cpu_seconds(e.pids)
        end = iperf(e, seconds)
        cpu = cpu_seconds(e.pids) - cpu
        out = {"first_ms": e.first_ms, "rtt_p50": p50, "rtt_p99": p99, "tcp1": mbit(end)}
        if e.pids:
            out["cpu_per_gib"] = cpu / (end["sum_received"]["bytes"] / GIB)
        direct = Ends(net, product, e.procs, 0)
        direct.b = nodes[1]
        out["direct"] = mbit(iperf(direct, seconds))
    return out


def rest_of(net, hub, pid, product, seconds):
    """CPU (% of a core) and memory of a hub at which nothing happens."""
    cpu, begin = cpu_seconds_fine([pid]), time.monotonic()
    time.sleep(seconds)
    used = (cpu_seconds_fine([pid]) - cpu) / (time.monotonic() - begin)
    return 100 * used, memory_mib(pid)


def hub(product, spokes, senders, seconds, tell):
    """A star: one TCP stream to the hub with one spoke there, memory and CPU at rest with ten, then with all.

    `senders` of the spokes send 1 Mbit/s of UDP to the hub while the stream runs again.
    """
    names = ["h"] + [f"s{i}" for i in range(spokes)]
    out = {}
    tell(f"{spokes} namespaces")
    with Net(names, [("h", n) for n in names[1:]]) as net:
        product.setup(net)
        procs = {}

        def start(wanted):
            for n in wanted:
                procs[n] = [product.launch(net, n)]
                if len(procs) % 10 == 0:  # two cores, and every start is a key and a handshake
                    product.wait_links(net, "h", len(procs) - 1 - 5, 90)
            product.wait_links(net, "h", len(procs) - 1, 90)

        procs["h"] = product.start(net, "h")
        pid = procs["h"][0].pid
        start(names[1:2])
        e = Ends(net, product, procs, 0)
        e.a, e.b = names[1], "h"
        ping(e, 5, 0.2)
        time.sleep(2)
        alone = mbit(iperf(e, seconds))
        rested = max(10, 3 * seconds)
        start(names[2:11])
        time.sleep(8)
        out["rest_cpu"], out["rest_rss"] = rest_of(net, "h", pid, product, rested)
        if spokes <= 10:
            return out
        tell(f"starting {spokes - 10} more")
        start(names[11:])
        tell("all linked")
        time.sleep(10)
        cpu, rss = rest_of(net, "h", pid, product, rested)
        out["hub_rest_cpu"], out["hub_per_peer_kib"] = cpu, (rss - out["rest_rss"]) * 1024 / (spokes - 10)
        out["hub_rss"], out["hub_peers"] = rss, spokes
        out.update(hub_under_load(e, names[2:2 + senders], seconds))
        out["hub_alone"] = alone
        out["hub_ratio"] = out["hub_tcp"] / alone
    return out


def hub_under_load(e, names, seconds):
    net, port, size = e.net, 7100, 1200
    receivers = [start_receiver(net, "h", e.target(), port + i, seconds + 30) for i in range(len(names))]
    last = seconds + 4
    sending = [net.spawn(n, LOAD, "send", e.target(), str(port + i), str(last), str(size), "--mbit", "1")
               for i, n in enumerate(names)]
    time.sleep(2)
    stream = mbit(iperf(e, seconds))
    sent = sum(json.loads(p.communicate(timeout=last + 30)[0].splitlines()[-1])["sent"] for p in sending)
    got = sum(json.loads(p.communicate(timeout=60)[0].splitlines()[-1])["packets"] for p in receivers)
    return {"hub_tcp": stream, "hub_loss": 100 * (sent - got) / max(1, sent)}


def rekey(seconds, tell):
    """One TCP stream across several changes of both keys, as often as a configuration may ask for."""
    product = weft(node_options={"rekey": {"enabled": True, "after_secs": 16}})
    with Net("ab", ["ab"]) as net:
        e = bring_up(net, product)
        took = max(40, 4 * seconds)
        tell(f"one stream for {took} s")
        end = iperf_intervals(e, took)
        rekeys = sum(p.get("weft", {}).get("rekeys", 0) for p in product.ask(net, "a", "show_peers")["peers"])
    per_second = sorted(end["seconds"][2:])
    middle = per_second[len(per_second) // 2]
    return {"rekey_tcp": middle, "rekey_worst": per_second[0] / middle, "rekey_count": rekeys,
            "rekey_retransmits": end["retransmits"]}


def iperf_intervals(e, seconds):
    result = iperf_json(e, seconds)
    return {"seconds": mbit_by_second(result), "retransmits": result["end"]["sum_sent"]["retransmits"]}
