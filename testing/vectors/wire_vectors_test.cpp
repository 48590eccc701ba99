/// Every message of the vector files, decoded, compared field by field, and encoded again to the same bytes.
#include <gtest/gtest.h>

#include "testing/vectors/load.h"
#include "wire/envelope.h"
#include "wire/filter_announce.h"
#include "wire/ip6_shim.h"
#include "wire/link_frame.h"
#include "wire/lookup_msg.h"
#include "wire/own_msg.h"
#include "wire/report.h"
#include "wire/route_error.h"
#include "wire/session_frame.h"
#include "wire/tree_announce.h"

namespace weft {
namespace {

using vectors::bytes;
using vectors::id;
using vectors::load;
using vectors::node;

const nlohmann::json& mesh() {
  static const auto j = load("mesh.json");
  return j;
}

Path path_of(const nlohmann::json& numbers) {
  Path p;
  for (const auto& v : numbers) p.push_back(node(v.get<unsigned>()));
  return p;
}

template <class F, class M>
Buffer encoded(F encode, const M& m) {
  Buffer out;
  encode(out, m);
  return out;
}

TEST(Vectors, TreeAnnounces) {
  ASSERT_FALSE(mesh()["tree_announce"].empty());
  for (const auto& v : mesh()["tree_announce"]) {
    SCOPED_TRACE(v["name"]);
    const auto b = bytes(v["message"]);
    EXPECT_EQ(b.size(), v["message_len"]);
    EXPECT_EQ(b.size() + wire::kFrameCost, v["frame_len_with_link_overhead"]);
    const auto m = wire::decode_tree_announce(b);
    ASSERT_TRUE(m);
    EXPECT_EQ(m->sender(), id<NodeAddr>(v["node_addr"]));
    EXPECT_EQ(m->parent, id<NodeAddr>(v["parent"]));
    EXPECT_EQ(m->sequence, v["sequence"]);
    EXPECT_EQ(m->timestamp, v["timestamp"]);
    EXPECT_EQ(to_hex(m->signature), v["signature"]);
    ASSERT_EQ(m->ancestry.size(), v["ancestry"].size());
    for (std::size_t i = 0; i < m->ancestry.size(); ++i) {
      EXPECT_EQ(m->ancestry[i].addr, id<NodeAddr>(v["ancestry"][i]["addr"]));
      EXPECT_EQ(m->ancestry[i].sequence, v["ancestry"][i]["sequence"]);
      EXPECT_EQ(m->ancestry[i].timestamp, v["ancestry"][i]["timestamp"]);
    }
    EXPECT_EQ(to_hex(wire::tree_preimage(m->sender(), m->parent, m->sequence, m->timestamp)),
              v["signed_bytes"]);
    EXPECT_EQ(encoded(wire::encode_tree_announce, *m), b);
  }
}

TEST(Vectors, MessagesOfOurOwn) {
  const auto own = load("own.json");
  for (const auto& v : own["hello"]) {
    const auto m = wire::decode_hello(bytes(v["hex"]));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->answer, v["answer"]);
    EXPECT_EQ(m->features, v["features"]);
    EXPECT_EQ(encoded(wire::encode_hello, *m), bytes(v["hex"]));
  }
  for (const auto& v : own["mtu_probe"]) {
    const auto m = wire::decode_mtu_probe(bytes(v["hex"]));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->id, v["id"]);
    EXPECT_EQ(m->size, v["size"]);
    Buffer again(bytes(v["hex"]).size());
    wire::write_mtu_probe(again, m->id);
    EXPECT_EQ(again, bytes(v["hex"]));
  }
  for (const auto& v : own["mtu_notice"]) {
    const auto m = wire::decode_mtu_notice(bytes(v["hex"]));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->id, v["id"]);
    EXPECT_EQ(m->size, v["size"]);
    EXPECT_EQ(m->counter, v["counter"]);
    EXPECT_EQ(encoded(wire::encode_mtu_notice, *m), bytes(v["hex"]));
  }
  for (const auto& v : own["mtu_ack"]) {
    const auto m = wire::decode_mtu_ack(bytes(v["hex"]));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->id, v["id"]);
    EXPECT_EQ(m->size, v["size"]);
    EXPECT_EQ(encoded(wire::encode_mtu_ack, *m), bytes(v["hex"]));
  }
}

TEST(Vectors, FilterAnnounce) {
  const auto& v = mesh()["bloom"]["filter_of_node1_node7_k1"];
  Buffer bits(wire::kFilterBytes);
  for (const auto& [at, value] : v["nonzero_bytes"].items()) bits.at(std::stoul(at)) = bytes(value).at(0);
  const auto b = encoded(wire::encode_filter_announce, wire::FilterAnnounce{v["announce_seq"], bits});
  EXPECT_EQ(b.size(), v["announce_len"]);
  EXPECT_EQ(to_hex(Bytes(b).first(11)), v["announce_header_hex"]);
  const auto m = wire::decode_filter_announce(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->sequence, v["announce_seq"]);
  EXPECT_TRUE(equal(m->bits, bits));
}

TEST(Vectors, LookupRequestsBeforeAndAfterAHop) {
  const auto& v = mesh()["lookup"];
  const auto b = bytes(v["request"]);
  EXPECT_EQ(b.size(), v["request_len"]);
  auto m = wire::decode_lookup_request(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(std::to_string(m->id), v["request_id"]);
  EXPECT_EQ(m->target, id<NodeAddr>(v["target"]));
  EXPECT_EQ(m->origin, id<NodeAddr>(v["origin"]));
  EXPECT_EQ(m->ttl, 64);
  EXPECT_EQ(m->path.front(), m->origin);
  EXPECT_EQ(encoded(wire::encode_lookup_request, *m), b);
  --m->ttl;
  EXPECT_EQ(encoded(wire::encode_lookup_request, *m), bytes(v["request_after_one_transit"]));
}

TEST(Vectors, LookupResponsesAndTheirProof) {
  const auto& v = mesh()["lookup"];
  const auto b = bytes(v["response_at_target_link_mtu_1400"]);
  EXPECT_EQ(b.size(), v["response_len"]);
  auto m = wire::decode_lookup_response(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->path_mtu, 1400);
  EXPECT_EQ(to_hex(m->proof), v["proof_signature"]);
  EXPECT_EQ(to_hex(wire::lookup_proof_preimage(m->id, m->target, m->path)), v["proof_preimage"]);
  EXPECT_EQ(encoded(wire::encode_lookup_response, *m), b);
  m->path_mtu = 1280;
  EXPECT_EQ(encoded(wire::encode_lookup_response, *m), bytes(v["response_after_transit_link_mtu_1280"]));
  const auto& small = v["small_proof_preimage"];
  EXPECT_EQ(to_hex(wire::lookup_proof_preimage(small["request_id"], node(small["target"].get<std::string>()),
                                               path_of(small["coords"]))),
            small["hex"]);
}

TEST(Vectors, RouteErrors) {
  const auto& v = mesh()["routing"];
  for (const char* name :
       {"coords_required", "path_broken_no_coords", "path_broken_3_coords", "mtu_exceeded_1400"}) {
    SCOPED_TRACE(name);
    const auto& e = v[name];
    const auto b = bytes(e["hex"]);
    const auto m = wire::decode_route_error(b);
    ASSERT_TRUE(m);
    EXPECT_EQ(wire::dest_of(*m), node(e["dest"].get<std::string>()));
    EXPECT_EQ(wire::reporter_of(*m), node(e["reporter"].get<std::string>()));
    if (e.contains("coords")) {
      EXPECT_EQ(std::get<wire::PathBroken>(*m).last_known, path_of(e["coords"]));
    }
    EXPECT_EQ(encoded(wire::encode_route_error, *m), b);
  }
  EXPECT_EQ(std::get<wire::MtuExceeded>(*wire::decode_route_error(bytes(v["mtu_exceeded_1400"]["hex"]))).mtu,
            1400);
}

TEST(Vectors, RouteErrorInsideItsEnvelope) {
  const auto& v = mesh()["routing"]["coords_required_in_datagram"];
  const auto b = bytes(v["hex"]);
  const auto e = wire::decode_envelope(b);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->ttl, 64);
  EXPECT_EQ(e->path_mtu, wire::kMtuUnknown);
  EXPECT_EQ(e->to, node(v["reporter_sends_to"].get<std::string>()));
  EXPECT_EQ(*wire::classify_session_payload(e->payload), wire::SessionKind::signal);
  EXPECT_EQ(wire::reporter_of(*wire::decode_route_error(e->payload)), e->from);
  EXPECT_EQ(encoded(wire::encode_envelope, *e), b);
}

TEST(Vectors, ForwardingAHop) {
  for (const auto& v : mesh()["routing"]["forward"]) {
    SCOPED_TRACE(v.dump());
    wire::Envelope e;
    e.ttl = v["in_ttl"];
    if (v.contains("in_path_mtu")) e.path_mtu = v["in_path_mtu"];
    auto b = encoded(wire::encode_envelope, e);
    const auto moved = wire::advance_envelope(b, v.value("link_mtu", std::uint16_t{1280}));
    ASSERT_EQ(moved.has_value(), v["out"].is_object());
    if (!moved) continue;
    const auto out = wire::decode_envelope(b);
    EXPECT_EQ(out->ttl, v["out"]["ttl"]);
    EXPECT_EQ(out->path_mtu, v["out"]["path_mtu"]);
  }
  const auto& v = mesh()["routing"]["forward_bytes"];
  auto b = bytes(v["in"]);
  ASSERT_TRUE(wire::advance_envelope(b, v["link_mtu"]));
  EXPECT_EQ(to_hex(b), v["out"]);
}

TEST(Vectors, SenderReports) {
  const auto& v = mesh()["mmp"]["sender_report"];
  const auto& f = v["fields"];
  const wire::SenderReport want{f["interval_start_counter"],   f["interval_end_counter"],
                                f["interval_start_timestamp"], f["interval_end_timestamp"],
                                f["interval_bytes_sent"],      f["cumulative_packets_sent"],
                                f["cumulative_bytes_sent"]};
  for (const auto form : {wire::ReportForm::link, wire::ReportForm::session}) {
    const auto b = bytes(v[form == wire::ReportForm::link ? "link" : "session_body"]);
    const auto r = wire::decode_sender_report(b, form);
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, want);
    Buffer again;
    wire::encode_sender_report(again, *r, form);
    EXPECT_EQ(again, b);
  }
}

TEST(Vectors, ReceiverReports) {
  const auto& v = mesh()["mmp"]["receiver_report"];
  const auto& f = v["fields"];
  wire::ReceiverReport want;
  want.highest_counter = f["highest_counter"];
  want.total_frames = f["cumulative_packets_recv"];
  want.total_bytes = f["cumulative_bytes_recv"];
  want.timestamp_echo = f["timestamp_echo"];
  want.dwell_ms = f["dwell_time"];
  want.max_burst_loss = f["max_burst_loss"];
  want.mean_burst_loss = f["mean_burst_loss"];
  want.jitter_us = f["jitter"];
  want.ce_count = f["ecn_ce_count"];
  want.owd_trend = f["owd_trend"];
  want.burst_count = f["burst_loss_count"];
  want.reordered = f["cumulative_reorder_count"];
  want.interval_frames = f["interval_packets_recv"];
  want.interval_bytes = f["interval_bytes_recv"];
  for (const auto form : {wire::ReportForm::link, wire::ReportForm::session}) {
    const auto b = bytes(v[form == wire::ReportForm::link ? "link" : "session_body"]);
    const auto r = wire::decode_receiver_report(b, form);
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, want);
    Buffer again;
    wire::encode_receiver_report(again, *r, form);
    EXPECT_EQ(again, b);
  }
  const auto& n = mesh()["mmp"]["path_mtu_notification"];
  EXPECT_EQ(wire::decode_path_mtu_notification(bytes(n["session_body"]))->path_mtu, n["path_mtu"]);
}

TEST(Vectors, CongestionMarks) {
  for (const auto& v : mesh()["mmp"]["ipv6_ce_mark"]) {
    auto b = bytes(v["in"]);
    wire::mark_congested(b);
    EXPECT_EQ(to_hex(b), v["out"]);
  }
}

void check_sealed(const nlohmann::json& v) {
  SCOPED_TRACE(v["name"]);
  const auto b = bytes(v["frame"]);
  EXPECT_EQ(*wire::classify_link_frame(b), wire::LinkPhase::sealed);
  const auto h = wire::decode_link_header(b);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->receiver.value, v["receiver_idx"]);
  EXPECT_EQ(std::to_string(h->counter), v["counter"]);
  EXPECT_EQ(h->flags.bits(), v["flags"]);
  EXPECT_EQ(h->payload_len, v["payload_len"]);
  Buffer header(wire::kLinkHeader);
  wire::write_link_header(header, *h);
  EXPECT_EQ(to_hex(header), v["header_aad"]);
  const auto message = bytes(v["link_message"]);
  EXPECT_EQ(message.size() + wire::kFrameCost, v["frame_len"]);
  switch (*wire::link_msg_of(message)) {
    case wire::LinkMsg::heartbeat:
      EXPECT_TRUE(wire::decode_heartbeat(message));
      break;
    case wire::LinkMsg::disconnect:
      EXPECT_EQ(encoded(wire::encode_disconnect, *wire::decode_disconnect(message)), message);
      break;
    case wire::LinkMsg::envelope:
      EXPECT_EQ(encoded(wire::encode_envelope, *wire::decode_envelope(message)), message);
      break;
    default:
      ADD_FAILURE() << "no such message in this file";
  }
}

TEST(Vectors, LinkFrames) {
  const auto noise = load("noise.json");
  unsigned links = 0;
  for (const auto& h : noise["handshakes"]) {
    if (!h.contains("fmp")) continue;
    ++links;
    const auto& v = h["fmp"];
    const auto m1 = wire::decode_link_msg1(bytes(v["msg1_frame"]));
    ASSERT_TRUE(m1);
    EXPECT_EQ(m1->sender.value, v["initiator_index"]);
    EXPECT_EQ(to_hex(m1->noise), h["noise_msg1"]);
    EXPECT_EQ(to_hex(encoded(wire::encode_link_msg1, *m1)), v["msg1_frame"]);
    const auto m2 = wire::decode_link_msg2(bytes(v["msg2_frame"]));
    ASSERT_TRUE(m2);
    EXPECT_EQ(m2->sender.value, v["responder_index"]);
    EXPECT_EQ(m2->receiver, m1->sender);
    EXPECT_EQ(to_hex(m2->noise), h["noise_msg2"]);
    EXPECT_EQ(to_hex(encoded(wire::encode_link_msg2, *m2)), v["msg2_frame"]);
    for (const auto& e : v["established"]) check_sealed(e);
  }
  EXPECT_EQ(links, 2U);
}

TEST(Vectors, SessionHandshakesFrameTheirNoiseMessages) {
  const auto noise = load("noise.json");
  for (const auto& h : noise["handshakes"]) {
    if (h["pattern"] != "XK") continue;
    wire::SessionSetup s{{node(1)}, {node(2)}, {}};
    const auto m1 = bytes(h["noise_msg1"]);
    ASSERT_EQ(m1.size(), s.noise.size());
    std::copy(m1.begin(), m1.end(), s.noise.begin());
    EXPECT_EQ(to_hex(wire::decode_session_setup(encoded(wire::encode_session_setup, s))->noise),
              h["noise_msg1"]);
    wire::SessionMsg3 m;
    const auto m3 = bytes(h["noise_msg3"]);
    ASSERT_EQ(m3.size(), m.noise.size());
    std::copy(m3.begin(), m3.end(), m.noise.begin());
    EXPECT_EQ(to_hex(encoded(wire::encode_session_msg3, m)),
              "03004c00004900" + h["noise_msg3"].get<std::string>());
  }
}

}  // namespace
}  // namespace weft
