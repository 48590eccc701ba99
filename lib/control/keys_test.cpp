// The contract with scripts and the reference's tools: every key of every answer, as data.
#include <chrono>

#include "control/rig_test.h"

namespace weft::control {
namespace {

using rig::Json;
using rig::Pair;

// A shape: leaf types u (whole, not negative), i (whole), f (number), s, b, any; `?` behind a type allows null;
// `?` behind a member makes it optional; [x] is a list of x; {"*": x} any members. Members called "weft" are our own.
constexpr const char* kForwarding = R"({
 "received_packets":"u","received_bytes":"u","decode_error_packets":"u","decode_error_bytes":"u",
 "warm_malformed_packets":"u","warm_malformed_bytes":"u","ttl_exhausted_packets":"u","ttl_exhausted_bytes":"u",
 "delivered_packets":"u","delivered_bytes":"u","forwarded_packets":"u","forwarded_bytes":"u",
 "drop_no_route_packets":"u","drop_no_route_bytes":"u","drop_mtu_exceeded_packets":"u","drop_mtu_exceeded_bytes":"u",
 "drop_send_error_packets":"u","drop_send_error_bytes":"u","originated_packets":"u","originated_bytes":"u",
 "route_tree_up":"u","route_tree_down":"u","route_tree_down_cross":"u","route_crosslink_descend":"u",
 "route_crosslink_ascend":"u","route_direct_peer":"u"})";
constexpr const char* kLookup = R"({
 "req_received":"u","req_decode_error":"u","req_duplicate":"u","req_dedup_cache_full":"u","req_target_is_us":"u",
 "req_forwarded":"u","req_ttl_exhausted":"u","req_initiated":"u","req_deduplicated":"u","req_backoff_suppressed":"u",
 "req_forward_rate_limited":"u","req_bloom_miss":"u","req_no_tree_peer":"u","req_fallback_forwarded":"u",
 "resp_received":"u","resp_decode_error":"u","resp_forwarded":"u","resp_identity_miss":"u","resp_proof_failed":"u",
 "resp_no_route":"u","resp_accepted":"u","resp_timed_out":"u"})";
constexpr const char* kTree = R"({
 "received":"u","decode_error":"u","unknown_peer":"u","addr_mismatch":"u","sig_failed":"u","stale":"u",
 "ancestry_invalid":"u","accepted":"u","loop_detected":"u","ancestry_changed":"u","sent":"u","rate_limited":"u",
 "send_failed":"u","outbound_sign_failed":"u","parent_switches":"u","parent_losses":"u","flap_dampened":"u"})";
constexpr const char* kBloom = R"({
 "received":"u","decode_error":"u","invalid":"u","non_v1":"u","unknown_peer":"u","stale":"u","fill_exceeded":"u",
 "accepted":"u","sent":"u","debounce_suppressed":"u","send_failed":"u"})";
constexpr const char* kCongestion =
    R"({"ce_forwarded":"u","ce_received":"u","congestion_detected":"u","kernel_drop_events":"u"})";
constexpr const char* kErrors = R"({
 "coords_required":"u","path_broken":"u","mtu_exceeded":"u","path_mtu_notif_below_floor":"u",
 "mtu_exceeded_below_floor":"u","lookup_resp_mtu_below_floor":"u","unbound_coords":"u","unbound_broken":"u",
 "unbound_mtu":"u","unbound_forged":"u"})";
constexpr const char* kNative = R"({
 "flows_opened":"u","flows_accepted":"u","flows_closed":"u","flows_expired":"u","sent_datagrams":"u","sent_bytes":"u",
 "received_datagrams":"u","received_bytes":"u","drop_no_port":"u","drop_backlog_full":"u","drop_too_many_flows":"u",
 "drop_pending_queue_full":"u","drop_flow_queue_full":"u","drop_arrival_queue_full":"u",
 "drop_listener_not_reading":"u","drop_listener_gone":"u","drop_oversize":"u"})";
constexpr const char* kTraffic =
    R"({"packets_sent":"u","packets_recv":"u","bytes_sent":"u","bytes_recv":"u"})";

struct Row {
  const char* command;
  const char* shape;
  const char* params = "null";
};
const Row kRows[] = {
    {"show_status",
     R"({"version":"s","npub":"s","node_addr":"s","ipv6_addr":"s","state":"s","is_leaf_only":"b",
      "peer_count":"u","session_count":"u","link_count":"u","transport_count":"u","connection_count":"u","tun_state":"s",
      "tun_name":"s","effective_ipv6_mtu":"u","control_socket":"s","pid":"u","exe_path":"s","uptime_secs":"u",
      "estimated_mesh_size":"u?","persistent":"b","root":"s","is_root":"b","transport_peer_counts":{"*":"u"},
      "forwarding":"@forwarding","sparklines":{"mesh_size":["f?"],"tree_depth":["f?"],"peer_count":["f?"],
      "bytes_in":["f?"],"bytes_out":["f?"],"loss_rate":["f?"]}})"},
    {"show_peers",
     R"({"peers":[{"node_addr":"s","npub":"s","display_name":"s","ipv6_addr":"s","connectivity":"s",
      "link_id":"u","authenticated_at_ms":"u","last_seen_ms":"u","has_tree_position":"b","has_bloom_filter":"b",
      "filter_sequence":"u","is_parent":"b","is_child":"b","transport_addr?":"s","direction?":"s","transport_type?":"s",
      "tree_depth?":"u","effective_depth":"f?","stats":"@traffic","replay_suppressed":"u",
      "consecutive_decrypt_failures":"u","nostr_traversal":{"consecutive_failures":"u","in_cooldown":"b",
      "cooldown_until_ms":"u?","last_observed_skew_ms":"i?"},"noise?":{"send_counter":"u","highest_recv_counter":"u"},
      "our_session_index?":"s","rekey_in_progress?":"b","rekey_draining?":"b","current_k_bit":"b","mmp?":{"mode":"s",
      "srtt_ms?":"f","loss_rate":"f","etx":"f","goodput_bps":"f","delivery_ratio_forward":"f",
      "delivery_ratio_reverse":"f","smoothed_loss?":"f","smoothed_etx?":"f","lqi?":"f"}}]})"},
    {"show_links",
     R"({"links":[{"link_id":"u","transport_id":"u","remote_addr":"s","direction":"s","state":"s",
      "created_at_ms":"u","stats":{"packets_sent":"u","packets_recv":"u","bytes_sent":"u","bytes_recv":"u",
      "last_recv_ms":"u"}}]})"},
    {"show_tree",
     R"({"my_node_addr":"s","root":"s","root_npub":"s?","is_root":"b","depth":"u","my_coords":["s"],
      "parent":"s","parent_display_name":"s","declaration_sequence":"u","declaration_signed":"b","peer_tree_count":"u",
      "peers":[{"node_addr":"s","display_name":"s","depth?":"u","root?":"s","coords?":["s"],"distance_to_us?":"u"}],
      "stats":"@tree"})"},
    {"show_sessions", R"({"sessions":[{"remote_addr":"s","display_name":"s","state":"s","is_initiator":"b",
      "last_activity_ms":"u","npub":"s","stats":"@traffic","resend_count?":"u","session_start_ms?":"u",
      "current_k_bit?":"b","coords_warmup_remaining?":"u","is_draining?":"b","mmp?":{"mode":"s","loss_rate":"f","etx":"f",
      "goodput_bps":"f","delivery_ratio_forward":"f","delivery_ratio_reverse":"f","path_mtu":"u","srtt_ms?":"f",
      "smoothed_loss?":"f","smoothed_etx?":"f","sqi?":"f"}}]})"},
    {"show_bloom", R"({"own_node_addr":"s","is_leaf_only":"b","sequence":"u","leaf_dependent_count":"u",
      "leaf_dependents":["s"],"peer_filters":[{"peer":"s","display_name":"s","has_filter":"b","filter_sequence":"u",
      "estimated_count?":"f?","set_bits?":"u","fill_ratio?":"f"}],"uptree_fill_ratio":"f?",
      "uptree_estimated_count":"f?","stats":"@bloom"})"},
    {"show_mmp",
     R"({"peers":[{"peer":"s","display_name":"s","mode":"s","link_layer":{"loss_rate":"f","etx":"f",
      "goodput_bps":"f","spin_bit_role":"s","smoothed_loss?":"f","smoothed_etx?":"f","srtt_ms?":"f","lqi?":"f",
      "rtt_trend?":"s","loss_trend?":"s","goodput_trend?":"s","jitter_trend?":"s","delivery_ratio_forward":"f",
      "delivery_ratio_reverse":"f","ecn_ce_count":"u"}}],"sessions":[{"remote":"s","display_name":"s","mode":"s",
      "session_layer":{"loss_rate":"f","etx":"f","path_mtu":"u","smoothed_loss?":"f","smoothed_etx?":"f","srtt_ms?":"f",
      "sqi?":"f","rtt_trend?":"s","loss_trend?":"s","etx_trend?":"s"}}]})"},
    {"show_cache", R"({"count":"u","max_entries":"u","fill_ratio":"f","default_ttl_ms":"u","expired":"u",
      "avg_age_ms":"u","entries":[{"node_addr":"s","display_name":"s","ipv6_addr":"s","depth":"u","coords":["s"],
      "age_ms":"u","last_used_ms":"u","path_mtu?":"u"}]})"},
    {"show_connections",
     R"({"connections":[{"link_id":"u","direction":"s","handshake_state":"s","started_at_ms":"u",
      "idle_ms":"u","resend_count":"u","expected_peer?":"s"}]})"},
    {"show_transports", R"({"transports":[{"transport_id":"u","type":"s","state":"s","mtu":"u","name?":"s",
      "local_addr?":"s","stats":{"packets_sent":"u","bytes_sent":"u","packets_recv":"u","bytes_recv":"u",
      "send_errors":"u","recv_errors":"u","mtu_exceeded":"u","kernel_drops":"u"}}]})"},
    {"show_routing",
     R"({"coord_cache_entries":"u","identity_cache_entries":"u","pending_lookups":[{"target":"s",
      "display_name":"s","initiated_ms":"u","last_sent_ms":"u","attempt":"u","age_ms":"u"}],
      "pending_tun_destinations":"u","pending_tun_packets":"u","recent_requests":"u","retries":[{"node_addr":"s",
      "display_name":"s","retry_count":"u","retry_after_ms":"u","auto_reconnect":"b"}],"forwarding":"@forwarding",
      "lookup":"@lookup","discovery":"@lookup","error_signals":"@errors","congestion":"@congestion"})"},
    {"show_identity_cache", R"({"entries":[{"node_addr":"s","npub":"s","display_name":"s","ipv6_addr":"s",
      "last_seen_ms":"u","age_ms":"u"}],"count":"u","max_entries":"u"})"},
    {"show_native_flows", R"({"flows":[],"listeners":[],"stats":"@native"})"},
    {"show_acl", R"({"allow_file":"s","deny_file":"s","enforcement_active":"b","effective_mode":"s",
      "default_decision":"s","allow_all":"b","deny_all":"b","allow_file_entries":["s"],"deny_file_entries":["s"],
      "allow_entries":["s"],"deny_entries":["s"]})"},
    {"show_listening_sockets",
     R"({"fips0_addr":"s","firewall_active":"b","sockets":[{"proto":"s","local_addr":"s",
      "port":"u","pid":"u?","process":"s?","filter":"s","wildcard_bind":"b"}]})"},
    {"show_metrics", R"({"forwarding":"@forwarding","lookup":"@lookup","discovery":"@lookup","tree":"@tree",
      "bloom":"@bloom","congestion":"@congestion","errors":"@errors","native":"@native"})"},
    {"show_stats_list", R"({"metrics":[{"name":"s","unit":"s","scope":"s"}],"fast_ring_seconds":"u",
      "slow_ring_minutes":"u","peer_retention_seconds":"u"})"},
    {"show_stats_history", R"({"metric":"s","unit":"s","granularity_seconds":"u","values":["f?"]})",
     R"({"metric":"mesh_size","window":"10s"})"},
    {"show_stats_all_history",
     R"({"granularity_seconds":"u","window_seconds":"u","peer":"s?","series":[{"metric":"s",
      "unit":"s","granularity_seconds":"u","values":["f?"]}]})",
     R"({"window":"10s"})"},
    {"show_stats_peers", R"({"peers":[{"npub":"s","node_addr":"s","display_name":"s","is_active":"b",
      "first_seen_secs_ago":"u","last_contact_secs_ago":"u"}],"count":"u"})"},
    {"show_stats_history_all_peers",
     R"({"metric":"s","unit":"s","granularity_seconds":"u","window_seconds":"u",
      "peers":[{"node_addr":"s","display_name":"s","is_active":"b","values":["f?"]}]})",
     R"({"metric":"bytes_in","window":"10s"})"},
};

std::string family(std::string_view name) {
  if (name == "@forwarding") return kForwarding;
  if (name == "@lookup") return kLookup;
  if (name == "@tree") return kTree;
  if (name == "@bloom") return kBloom;
  if (name == "@congestion") return kCongestion;
  if (name == "@errors") return kErrors;
  if (name == "@native") return kNative;
  return kTraffic;
}

bool fits(std::string_view type, const Json& v) {
  if (type.ends_with('?')) return v.is_null() || fits(type.substr(0, type.size() - 1), v);
  if (type == "u") return v.is_number_unsigned() || (v.is_number_integer() && v.get<std::int64_t>() >= 0);
  if (type == "i") return v.is_number_integer();
  if (type == "f") return v.is_number();
  if (type == "s") return v.is_string();
  return type == "b" && v.is_boolean();
}

void compare(const std::string& where, const Json& shape, const Json& v) {
  if (shape.is_string()) {
    const auto type = shape.get<std::string>();
    if (type.front() == '@') return compare(where, Json::parse(family(type)), v);
    EXPECT_TRUE(fits(type, v)) << where << " is not " << type << ": " << v.dump();
    return;
  }
  if (shape.is_array()) {
    ASSERT_TRUE(v.is_array()) << where;
    for (std::size_t i = 0; i < v.size(); ++i) {
      ASSERT_FALSE(shape.empty()) << where << " should be empty";
      compare(where + "[]", shape[0], v[i]);
    }
    return;
  }
  ASSERT_TRUE(v.is_object()) << where << ": " << v.dump();
  if (shape.contains("*")) {
    for (const auto& [key, value] : v.items()) compare(where + "." + key, shape["*"], value);
    return;
  }
  for (const auto& [key, type] : shape.items()) {
    const bool optional = key.ends_with('?');
    const std::string name = optional ? key.substr(0, key.size() - 1) : key;
    if (!v.contains(name)) {
      EXPECT_TRUE(optional) << where << "." << name << " is missing";
      continue;
    }
    compare(where + "." + name, type, v[name]);
  }
  for (const auto& [key, value] : v.items())
    EXPECT_TRUE(shape.contains(key) || shape.contains(key + "?") || key == "weft")
        << where << "." << key << " is not in the sheet";
}

class Keys : public testing::Test {
 protected:
  static Pair& linked() {
    static auto* pair = [] {
      auto* p = new Pair;  // NOLINT: lives as long as the program
      p->run(3s);
      p->send_packet();
      p->run(8s);
      p->send_packet();
      p->run(5s);
      return p;
    }();
    return *pair;
  }
};

TEST_F(Keys, EveryAnswerHasTheKeysAndTypesOfTheSheetOnALinkedNode) {
  Pair& p = linked();
  ASSERT_EQ(p.a->node.links().peers().size(), 1U);
  ASSERT_EQ(p.a->node.sessions().size(), 1U);
  for (const auto& row : kRows)
    for (rig::Side* s : {p.a.get(), p.b.get()})
      compare(row.command, Json::parse(row.shape), s->data(p.now, row.command, Json::parse(row.params)));
}

TEST_F(Keys, EveryAnswerHasTheKeysAndTypesOfTheSheetOnALoneNode) {
  std::deque<rig::Flight> wire;
  rig::Side s(9, {}, wire, Instant{1000s});
  for (const auto& row : kRows)
    compare(row.command, Json::parse(row.shape),
            s.data(Instant{1000s}, row.command, Json::parse(row.params)));
}

TEST_F(Keys, EveryAnswerHasTheKeysAndTypesOfTheSheetWhileDialling) {
  std::deque<rig::Flight> wire;
  SeededRng rng(5);
  config::Config c;
  c.peers.push_back(
      {crypto::Identity::generate(rng).npub(), std::nullopt, {{"udp", "192.0.2.77:2121", 100}}});
  rig::Side s(9, c, wire, Instant{1000s});
  Outbox out;
  s.node.start(rig::Side::at(Instant{1000s}), out);
  for (const auto& row : kRows)
    compare(row.command, Json::parse(row.shape),
            s.data(Instant{1000s}, row.command, Json::parse(row.params)));
  EXPECT_EQ(s.data(Instant{1000s}, "show_connections")["connections"].size(), 1U);
  EXPECT_EQ(s.data(Instant{1000s}, "show_links")["links"][0]["state"], "connecting");
  // Everything that was tried in vain shows as a retry.
  Instant t{1000s};
  for (; t < Instant{1040s}; t += 500ms) s.node.on_deadline(rig::Side::at(t), out);
  const Json routing = s.data(t, "show_routing");
  ASSERT_EQ(routing["retries"].size(), 1U) << routing.dump();
  compare("retries", Json::parse(kRows[10].shape)["retries"], routing["retries"]);
}

TEST_F(Keys, ALinkedPeerShowsWhatIsKnownOfIt) {
  Pair& p = linked();
  const Json peer = p.a->data(p.now, "show_peers")["peers"][0];
  EXPECT_EQ(peer["display_name"], "bee");
  EXPECT_EQ(peer["npub"], p.b->node.identity().npub());
  EXPECT_EQ(peer["direction"], "outbound");
  EXPECT_EQ(peer["transport_addr"], "192.0.2.2:2121");
  EXPECT_EQ(peer["connectivity"], "connected");
  EXPECT_EQ(peer["our_session_index"].get<std::string>().size(), 8U);
  EXPECT_FALSE(peer.contains("rekey_in_progress"));
  EXPECT_TRUE(peer["mmp"].contains("srtt_ms")) << peer.dump();
  EXPECT_GT(peer["stats"]["packets_recv"].get<int>(), 0);
  EXPECT_EQ(peer["is_parent"].get<bool>() || peer["is_child"].get<bool>(), true);
}

TEST_F(Keys, ASessionShowsWhatIsKnownOfIt) {
  Pair& p = linked();
  const Json s = p.a->data(p.now, "show_sessions")["sessions"][0];
  EXPECT_EQ(s["state"], "established");
  EXPECT_EQ(s["stats"]["packets_sent"], 2U);
  EXPECT_FALSE(s.contains("resend_count"));
  const Json other = p.b->data(p.now, "show_sessions")["sessions"][0];
  EXPECT_EQ(other["stats"]["packets_recv"], 2U);
  EXPECT_EQ(other["npub"], p.a->node.identity().npub());
}

TEST_F(Keys, FiveHundredRowsAboutPeersCostLittle) {
  Pair& p = linked();
  Outbox out;
  Context c{p.a->node, rig::Side::at(p.now), out, p.a->view()};
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) EXPECT_GT(handle_request(R"({"command":"show_peers"})", c).size(), 900U);
  const auto took = std::chrono::steady_clock::now() - start;
  RecordProperty("ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  EXPECT_LT(took, std::chrono::milliseconds(2000));  // with sanitizers, on a busy machine; under 30 without
}

TEST_F(Keys, MembersAreInAlphabeticalOrder) {
  Pair& p = linked();
  Outbox out;
  Context c{p.a->node, rig::Side::at(p.now), out, p.a->view()};
  const std::string reply = handle_request(R"({"command":"show_peers"})", c);
  EXPECT_TRUE(reply.starts_with(R"({"data":{"peers":[{"authenticated_at_ms":)")) << reply;
  EXPECT_TRUE(reply.ends_with(R"("status":"ok"})"));
  EXPECT_EQ(error_reply("x"), R"({"message":"x","status":"error"})");
}

TEST_F(Keys, WhatIsUnknownIsNullAndNeverNaN) {
  std::deque<rig::Flight> wire;
  rig::Side s(9, {}, wire, Instant{1000s});
  const Json h = s.data(Instant{1000s}, "show_stats_history", {{"metric", "loss_rate"}, {"window", "5s"}});
  EXPECT_EQ(h["values"], Json::parse("[null,null,null,null,null]"));
  EXPECT_EQ(s.data(Instant{1000s}, "show_status")["estimated_mesh_size"], nullptr);
}

TEST_F(Keys, HistoryIsAlwaysAsLongAsItsWindow) {
  Pair& p = linked();
  const Json h = p.a->data(p.now, "show_stats_history", {{"metric", "peer_count"}, {"window", "60s"}});
  ASSERT_EQ(h["values"].size(), 60U);
  EXPECT_EQ(h["values"][0], nullptr);
  EXPECT_EQ(h["values"][59], 1.0);
  EXPECT_EQ(
      p.a->data(p.now, "show_stats_history", {{"metric", "peer_count"}, {"window", "9h"}})["values"].size(),
      3600U);
  EXPECT_EQ(p.a->data(p.now, "show_stats_all_history", {{"peer", "bee"}, {"window", "5s"}})["series"].size(),
            kPeerMetrics);
}

}  // namespace
}  // namespace weft::control
