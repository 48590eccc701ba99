#!/usr/bin/env python3
"""Writes the seeds of the targets that read what operators write or resolvers ask: config, hosts, dns, control."""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
NPUB = "npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57m"


def put(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def config():
    put("config", "example", (HERE / "../../config/example.yaml").read_text())
    put("config", "peer", f"peers:\n- npub: {NPUB}\n  alias: a\n  addresses: [{{transport: udp, addr: \"192.0.2.1:1\", priority: 0x10}}]\n")
    put("config", "named", "transports:\n udp: {a: {mtu: 1300}, b: {}}\n tor: {directory_service: {bind_addr: x}}\n tcp: {}\n")
    put("config", "old_names", "node:\n discovery: {ttl: 9, lan: {enabled: yes}, nostr: {policy: open}}\n dataplane: {encrypt_workers: 2}\n")
    put("config", "gateway", "gateway: {pool: fd01::/112, lan_interface: e, port_forwards: [{listen_port: 80, proto: tcp, target: \"[::1]:1\"}]}\n")
    put("config", "numbers", "node: {rate_limit: {handshake_rate: .inf, handshake_burst: -1}, lookup: {ttl: 0o17, attempt_timeouts_secs: [1, 1e3]}}\n")
    put("config", "two_files", "tun: {mtu: 1300}\ntransports: {udp: {mtu: 300}}\n\0tun: {enabled: false}\ntransports: {udp: {x: {}}}\n")
    put("config", "aliases", "a: &a [x, x]\nb: &b [*a, *a]\nc: {<<: {d: 1}, e: *b}\n")
    put("config", "duplicate", "a: 1\na: 2\n")
    put("config", "open_quote", "a: \"b\n")
    put("config", "deep", "[" * 40 + "]" * 40)
    put("config", "block_text", "node:\n  log_level: |\n    a\n    b\n  identity: {nsec: >-\n   x\n   y}\n")


def hosts():
    put("hosts", "plain", f"# c\nbox {NPUB}\r\nBOX\t{NPUB}\nother {NPUB} # no\n")
    put("hosts", "lists", f"ALL\n{NPUB} # me\nbox\n")
    put("hosts", "mark", b"\xef\xbb\xbfa " + NPUB.encode())
    put("hosts", "not_utf8", b"a\xff\xfe\x00\n")


def dns():
    def name(text):
        return b"".join(bytes([len(p)]) + p.encode() for p in text.split(".")) + b"\0"

    def query(text, kind=28, flags=0x0100, extra=b"", more=0):
        return struct.pack(">6H", 0x1234, flags, 1, 0, 0, more) + name(text) + struct.pack(">2H", kind, 1) + extra

    opt = b"\0" + struct.pack(">HHIH", 41, 1232, 0x8000, 4) + bytes(4)
    put("dns", "aaaa", query("box.fips"))
    put("dns", "a", query("Www.BoX.fips", 1))
    put("dns", "npub", query(NPUB + ".fips"))
    put("dns", "edns", query("box.fips", extra=opt, more=1))
    put("dns", "edns_twice", query("box.fips", extra=opt + opt, more=2))
    put("dns", "reply", query("box.fips", flags=0x8180))
    put("dns", "notify", query("box.fips", flags=0x2000))
    put("dns", "unknown", query("box.example"))
    put("dns", "pointer", struct.pack(">6H", 1, 0, 2, 0, 0, 0) + name("box.fips") + b"\0\x1c\0\1" + b"\xc0\x0c\0\1\0\1")
    put("dns", "loop", struct.pack(">6H", 1, 0, 1, 0, 0, 0) + b"\xc0\x0c\0\x1c\0\1")


def control():
    for command in ("acl", "bloom", "cache", "connections", "dataplane", "drops", "identity_cache", "links", "listening_sockets",
                    "metrics", "mmp", "native_flows", "peers", "refusals", "routes", "routing", "sessions", "stats_list",
                    "stats_peers", "status", "top", "transports", "tree", "wanted_peers"):
        put("control", f"show_{command}", f'{{"command":"show_{command}","params":{{"limit":3}}}}')
    put("control", "show_stats_summary", '{"command":"show_stats_summary","params":{"window":"5m","points":9}}')
    for command in ("show_stats_history", "show_stats_all_history", "show_stats_history_all_peers"):
        put("control", command, f'{{"command":"{command}","params":{{"metric":"bytes_in","window":"5m","granularity":"1m","peer":"{NPUB}"}}}}')
    put("control", "connect", f'{{"command":"connect","params":{{"npub":"{NPUB}","address":"192.0.2.1:2121","transport":"udp"}}}}')
    put("control", "disconnect", f'{{"command":"disconnect","params":{{"npub":"{NPUB}"}}}}')
    put("control", "peer_add", f'{{"command":"peer_add","params":{{"npub":"{NPUB}","alias":"a","addresses":["h:1",{{"addr":"[2001:db8::1]:1","priority":9}}]}}}}')
    put("control", "peer_remove", f'{{"command":"peer_remove","params":{{"npub":"{NPUB}"}}}}')
    put("control", "resolve", '{"command":"resolve","params":{"name":"fd00::1"}}')
    put("control", "probe", f'{{"command":"probe","params":{{"target":"{NPUB}"}}}}')
    put("control", "probe_start", f'{{"command":"probe_start","params":{{"npub":"{NPUB}"}}}}')
    put("control", "probe_poll", '{"command":"probe_poll","params":{"probe_id":1}}')
    put("control", "probe_cancel", '{"command":"probe_cancel","params":{"probe_id":1}}')
    put("control", "deep", '{"command":"show_status","params":' + "[" * 60 + "]" * 60 + "}")
    put("control", "not_utf8", b'{"command":"\xff\xed\xa0\x80"}')
    put("control", "nothing", "")


config()
hosts()
dns()
control()
