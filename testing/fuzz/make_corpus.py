#!/usr/bin/env python3
"""Writes the seeds of the wire and handshake targets: corpus/NAME/SEED. Messages come from ../vectors; what those lack is put together here."""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
MESH = json.loads((HERE / "../vectors/mesh.json").read_text())
OWN = json.loads((HERE / "../vectors/own.json").read_text())
NOISE = json.loads((HERE / "../vectors/noise.json").read_text())


def put(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def h(text):
    return bytes.fromhex(text)


def node(v):
    return bytes([v]) + bytes(15)


def coords(*values):
    return struct.pack("<H", len(values)) + b"".join(node(v) for v in values)


def link_frames():
    for i, shake in enumerate(s for s in NOISE["handshakes"] if "fmp" in s):
        put("link_frame", f"msg1_{i}", h(shake["fmp"]["msg1_frame"]))
        put("link_frame", f"msg2_{i}", h(shake["fmp"]["msg2_frame"]))
        for j, e in enumerate(shake["fmp"]["established"][2:] if i == 0 else []):
            put("link_frame", f"sealed_{j}", h(e["frame"]))
    put("link_frame", "empty_plaintext", h("00000000") + bytes(28))
    put("link_frame", "punch_probe", h("4e505443") + bytes(8))
    put("link_frame", "tls_hello", h("1603010200"))
    put("link_msg", "disconnect", h("5000"))
    put("link_msg", "disconnect_config", h("5006"))
    put("link_msg", "disconnect_no_reason", h("50"))
    put("link_msg", "disconnect_unknown", h("5042aa"))
    put("link_msg", "heartbeat", h("51"))


def own_messages():
    for kind in ("hello", "mtu_probe", "mtu_notice", "mtu_ack"):
        for i, v in enumerate(OWN[kind]):
            put("own_msg", f"{kind}_{i}", h(v["hex"]))
    put("own_msg", "probe_cut", h(OWN["mtu_probe"][0]["hex"])[:-1])
    put("own_msg", "hello_longer", h("e0010300000012345678"))


def envelopes():
    mtu = struct.pack("<H", 1400)
    put("envelope", "signal", mtu + h(MESH["routing"]["coords_required_in_datagram"]["hex"]))
    put("envelope", "ttl_5", mtu + h(MESH["routing"]["forward_bytes"]["in"]))
    put("envelope", "empty_payload", mtu + h("0001ffff") + node(1) + node(2))
    put("envelope", "low_mtu", mtu + h("00400001") + node(1) + node(2) + b"x")


def sessions():
    noise = {len(h(s[k])): h(s[k]) for s in NOISE["handshakes"] if s["pattern"] == "XK"
             for k in ("noise_msg1", "noise_msg2", "noise_msg3")}

    def handshake(phase, lists, size):
        body = b"\0" + lists + struct.pack("<H", size) + noise[size]
        return bytes([phase, 0]) + struct.pack("<H", len(body)) + body

    def sealed(flags, lists, plain):
        return bytes([0, flags]) + struct.pack("<HQ", plain, 7) + lists + bytes(plain + 16)

    put("session_frame", "setup", handshake(1, coords(1, 0) + coords(2, 3, 0), 33))
    put("session_frame", "ack", handshake(2, coords(2, 0) + coords(1, 0), 57))
    put("session_frame", "msg3", handshake(3, b"", 73))
    put("session_frame", "sealed", sealed(2, b"", 20))
    put("session_frame", "sealed_empty", sealed(0, b"", 0))
    put("session_frame", "warmup", sealed(1, coords(1, 0) + coords(2, 0), 6))
    put("session_frame", "warmup_unknown_dest", sealed(3, coords(1, 0) + coords(), 6))
    put("session_frame", "short_cp", h("0001000001000000"))
    put("session_frame", "huge_count", sealed(1, h("ffff"), 40))
    put("session_frame", "signal", h(MESH["routing"]["path_broken_3_coords"]["hex"]))
    put("coord", "none", coords())
    put("coord", "one", coords(1))
    put("coord", "three_and_trailer", coords(3, 1, 0) + b"trailer")
    put("coord", "huge_count", h("ffff") + node(1))
    put("coord", "over_cap", struct.pack("<H", 256) + bytes(16 * 256))


def gossip():
    for a in MESH["tree_announce"]:
        put("tree_announce", a["name"].replace("-", "_"), h(a["message"]))
    bits = bytearray(1024)
    for at, value in MESH["bloom"]["filter_of_node1_node7_k1"]["nonzero_bytes"].items():
        bits[int(at)] = h(value)[0]
    head = h(MESH["bloom"]["filter_of_node1_node7_k1"]["announce_header_hex"])
    put("filter_announce", "three_nodes", head + bytes(bits))
    put("filter_announce", "full", head + b"\xff" * 1024)
    put("filter_announce", "wrong_class", head[:10] + b"\2" + bytes(2048))
    lookup = MESH["lookup"]
    put("lookup_msg", "request", h(lookup["request"]))
    put("lookup_msg", "response", h(lookup["response_at_target_link_mtu_1400"]))
    put("lookup_msg", "request_no_path", h(lookup["request"])[:44] + b"\0\0")


def reports():
    for name in ("coords_required", "path_broken_no_coords", "path_broken_3_coords", "mtu_exceeded_1400"):
        put("route_error", name, h(MESH["routing"][name]["hex"]))
    for name in ("sender_report", "receiver_report"):
        put("report", name + "_link", h(MESH["mmp"][name]["link"]))
        put("report", name + "_session", h(MESH["mmp"][name]["session_body"]))
    put("report", "path_mtu", h(MESH["mmp"]["path_mtu_notification"]["session_body"]))


def packets():
    header = h("6abfedcb00080640") + b"\xfd" + bytes(15) + b"\xfd\1" + bytes(14)
    put("ip6_shim", "packet", header + b"tcp here")
    put("ip6_shim", "header_only", header)
    put("ip6_shim", "shim", h("006abfedcb0640") + b"tcp here")
    put("ip6_shim", "shim_only", h("006abfedcb0640"))
    put("ip6_shim", "ect", h("006b2abcde1140"))


def handshakes():
    # Byte 0 says which message it is; the last choice of each target seals a static key.
    for i, shake in enumerate(NOISE["handshakes"]):
        target = "handshake_" + shake["pattern"].lower()
        messages = [k for k in ("noise_msg1", "noise_msg2", "noise_msg3") if k in shake]
        for bit, message in enumerate(messages):
            put(target, f"{message[6:]}_{i}", bytes([1 << bit]) + h(shake[message]))
        claim = bytes([1 << len(messages)])
        put(target, f"claim_{i}", claim + h(shake["inputs"]["initiator_static_public"]))
        put(target, "claim_no_point", claim + b"\5" * 33)


def super_packets():
    # Byte 0 even: a virtio-net header and a packet; odd: a burst, each packet with a byte that says what to repair.
    def ip6(protocol, rest):
        return struct.pack(">IHBB", 6 << 28, len(rest), protocol, 64) + b"\xfd" + bytes(15) + b"\xfd\1" + bytes(14) + rest

    def tcp(seq, flags, data):
        return ip6(6, struct.pack(">HHIIBBHHH", 1000, 80, seq, 7, 8 << 4, flags, 500, 0, 0) + b"\1" * 12 + data)

    def udp(data):
        return ip6(17, struct.pack(">HHHH", 1000, 53, 8 + len(data), 0) + data)

    def vnet(flags, kind, step, offset, start=40):
        return b"\0" + struct.pack("<BBHHHH", flags, kind, 72, step, start, offset)

    def burst(*packets):
        return b"\1" + b"".join(b"\3" + struct.pack("<H", len(p)) + p for p in packets)

    put("offload", "tso", vnet(1, 0x84, 30, 16) + tcp(0xfffffff0, 0x99, bytes(range(100))))
    put("offload", "uso", vnet(1, 5, 40, 6) + udp(bytes(range(100))))
    put("offload", "uso_options", vnet(1, 5, 40, 6, 48) + ip6(60, b"\x11\0\1\4" + bytes(4) + udp(bytes(90))[40:]))
    put("offload", "open_sum", vnet(1, 0, 0, 6) + udp(b"data"))
    put("offload", "plain", vnet(0, 0, 0, 0) + udp(b"data"))
    put("offload", "tcp_burst", burst(*(tcp(1 + 20 * i, 0x18 if i == 3 else 0x10, bytes([i]) * 20) for i in range(6))))
    put("offload", "udp_burst", burst(udp(b"a" * 20), udp(b"b" * 20), udp(b"c" * 9), udp(b"d" * 9)))
    put("offload", "mixed_burst", burst(udp(b"a" * 20), tcp(1, 0x10, b"x" * 20), ip6(44, udp(b"")[40:]), udp(b"b" * 20),
                                        tcp(21, 0x10, b""), tcp(21, 0x11, b"y" * 20)))


for part in (link_frames, own_messages, envelopes, sessions, gossip, reports, packets, handshakes, super_packets):
    part()
