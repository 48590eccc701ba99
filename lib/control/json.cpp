#include "control/json.h"

namespace weft::control {

std::optional<std::string> Params::text(const char* key) const {
  const Json* v = find(key);
  if (v == nullptr || !v->is_string()) return std::nullopt;
  return v->get<std::string>();
}

std::optional<std::uint64_t> Params::number(const char* key) const {
  const Json* v = find(key);
  if (v == nullptr || !v->is_number_unsigned()) return std::nullopt;
  return v->get<std::uint64_t>();
}

const Json* Params::find(const char* key) const {
  if (params_ == nullptr || !params_->is_object()) return nullptr;
  const auto it = params_->find(key);
  return it == params_->end() ? nullptr : &*it;
}

Json path_json(const Path& path) {
  Json out = Json::array();
  for (const NodeAddr& a : path) out.push_back(a.hex());
  return out;
}

std::string index_text(SessionIndex i) { return fmt::format("{:08x}", i.value); }

std::string_view mode_text(config::MmpMode m) {
  switch (m) {
    case config::MmpMode::full:
      return "full";
    case config::MmpMode::lightweight:
      return "lightweight";
    case config::MmpMode::minimal:
      return "minimal";
  }
  return "full";
}

std::string transport_text(const Node& node, TransportId id) {
  const link::Transport* t = node.links().transport(id);
  if (t == nullptr) return fmt::format("transport {}", id.value);
  return t->name.empty() ? t->kind : t->kind + "/" + t->name;
}

// ---- counter families -----------------------------------------------------------------------------------------------

ShardTotals totals(const View& v) {
  ShardTotals t = v.shell.shards;
  t.add(v.node.routes().stats());
  return t;
}

namespace {

void pair(Json& to, const std::string& name, const ShardTotals::Pair& p) {
  to[name + "_bytes"] = p.bytes;
  to[name + "_packets"] = p.packets;
}

}  // namespace

Json forwarding_json(const ShardTotals& t) {
  Json j = Json::object();
  pair(j, "received", t.received);
  pair(j, "decode_error", t.decode_error);
  pair(j, "warm_malformed", t.warm_malformed);
  pair(j, "ttl_exhausted", t.ttl_exhausted);
  pair(j, "delivered", t.delivered);
  pair(j, "forwarded", t.forwarded);
  pair(j, "drop_no_route", t.drop_no_route);
  pair(j, "drop_mtu_exceeded", t.drop_mtu_exceeded);
  pair(j, "drop_send_error", t.drop_send_error);
  pair(j, "originated", t.originated);
  j["route_tree_up"] = t.route_tree_up;
  j["route_tree_down"] = t.route_tree_down;
  j["route_tree_down_cross"] = t.route_tree_down_cross;
  j["route_crosslink_descend"] = t.route_crosslink_descend;
  j["route_crosslink_ascend"] = t.route_crosslink_ascend;
  j["route_direct_peer"] = t.route_direct_peer;
  return j;
}

Json congestion_json(const View& v, const ShardTotals& t) {
  return {{"ce_forwarded", t.ce_forwarded},
          {"ce_received", t.ce_received},
          {"congestion_detected", t.congestion_detected},
          {"kernel_drop_events", v.shell.kernel_drop_events}};
}

Json lookup_json(const LookupCounters& c) {
  return {{"req_received", c.req_received},
          {"req_decode_error", c.req_decode_error},
          {"req_duplicate", c.req_duplicate},
          {"req_dedup_cache_full", c.req_dedup_cache_full},
          {"req_target_is_us", c.req_target_is_us},
          {"req_forwarded", c.req_forwarded},
          {"req_ttl_exhausted", c.req_ttl_exhausted},
          {"req_initiated", c.req_initiated},
          {"req_deduplicated", c.req_deduplicated},
          {"req_backoff_suppressed", c.req_backoff_suppressed},
          {"req_forward_rate_limited", c.req_forward_rate_limited},
          {"req_bloom_miss", c.req_bloom_miss},
          {"req_no_tree_peer", c.req_no_tree_peer},
          {"req_fallback_forwarded", c.req_fallback_forwarded},
          {"resp_received", c.resp_received},
          {"resp_decode_error", c.resp_decode_error},
          {"resp_forwarded", c.resp_forwarded},
          {"resp_identity_miss", c.resp_identity_miss},
          {"resp_proof_failed", c.resp_proof_failed},
          {"resp_no_route", c.resp_no_route},
          {"resp_accepted", c.resp_accepted},
          {"resp_timed_out", c.resp_timed_out}};
}

Json tree_json(const TreeCounters& c) {
  return {{"received", c.received},
          {"decode_error", c.decode_error},
          {"unknown_peer", c.unknown_peer},
          {"addr_mismatch", c.addr_mismatch},
          {"sig_failed", c.sig_failed},
          {"stale", c.stale},
          {"ancestry_invalid", c.ancestry_invalid},
          {"accepted", c.accepted},
          {"loop_detected", c.loop_detected},
          {"ancestry_changed", c.ancestry_changed},
          {"sent", c.sent},
          {"rate_limited", c.rate_limited},
          {"send_failed", c.send_failed},
          {"outbound_sign_failed", c.outbound_sign_failed},
          {"parent_switches", c.parent_switches},
          {"parent_losses", c.parent_losses},
          {"flap_dampened", c.flap_dampened}};
}

Json bloom_json(const BloomCounters& c) {
  return {{"received", c.received},
          {"decode_error", c.decode_error},
          {"invalid", c.invalid},
          {"non_v1", c.non_v1},
          {"unknown_peer", c.unknown_peer},
          {"stale", c.stale},
          {"fill_exceeded", c.fill_exceeded},
          {"accepted", c.accepted},
          {"sent", c.sent},
          {"debounce_suppressed", c.debounce_suppressed},
          {"send_failed", c.send_failed}};
}

Json errors_json(const View& v) {
  const ErrorCounters& c = v.node.route_errors().counters();
  return {{"coords_required", c.coords_required},
          {"path_broken", c.path_broken},
          {"mtu_exceeded", c.mtu_exceeded},
          {"path_mtu_notif_below_floor", c.path_mtu_notif_below_floor + v.node.reports().mtu_below_floor()},
          {"mtu_exceeded_below_floor", c.mtu_exceeded_below_floor},
          {"lookup_resp_mtu_below_floor", c.lookup_resp_mtu_below_floor},
          {"unbound_coords", c.unbound_coords},
          {"unbound_broken", c.unbound_broken},
          {"unbound_mtu", c.unbound_mtu},
          {"unbound_forged", c.unbound_forged}};
}

Json native_json() {
  Json j = Json::object();
  for (const char* name :
       {"flows_opened", "flows_accepted", "flows_closed", "flows_expired", "sent_datagrams", "sent_bytes",
        "received_datagrams", "received_bytes", "drop_no_port", "drop_backlog_full", "drop_too_many_flows",
        "drop_pending_queue_full", "drop_flow_queue_full", "drop_arrival_queue_full",
        "drop_listener_not_reading", "drop_listener_gone", "drop_oversize"})
    j[name] = 0U;
  return j;
}

std::array<std::uint64_t, kDropCount> drop_totals(const View& v) {
  auto n = v.shell.shards.drops;
  for (std::size_t i = 0; i < kDropCount; ++i) {
    n[i] += v.node.drops().get(static_cast<Drop>(i));
    if (v.shell.shell_drops != nullptr) n[i] += v.shell.shell_drops->get(static_cast<Drop>(i));
  }
  n[static_cast<std::size_t>(Drop::firewalled)] += v.shell.firewall_refused ? v.shell.firewall_refused() : 0;
  return n;
}

Json drops_json(const View& v) {
  const auto n = drop_totals(v);
  Json j = Json::object();
  for (std::size_t i = 0; i < kDropCount; ++i)
    if (n[i] != 0) j[std::string(name_of(static_cast<Drop>(i)))] = n[i];
  return j;
}

}  // namespace weft::control
