#include "control/queries.h"

namespace weft::control {
namespace {

std::string_view connectivity(const View& v, const link::Peer& p) {
  const auto& s = v.node.links().settings();
  return v.now.mono - p.last_heard() > std::max(s.heartbeat * 2, s.dead_after / 2) ? "stale" : "connected";
}

std::optional<std::string> trend_text(const DualEwma& e) {
  const auto t = e.trend();
  return t ? std::optional(std::string(name_of(*t))) : std::nullopt;
}

Json peer_json(const View& v, const NodeAddr& addr, const link::Peer& p, const LinkCosts& costs) {
  const Node& n = v.node;
  const LinkStats& s = *p.stats;
  const Path* path = n.tree().path_of(addr);
  const auto* filter = n.bloom().inbound(addr);
  const auto* transport = n.links().transport(p.transport);
  Json j = {{"authenticated_at_ms", p.up_since_unix_ms},
            {"connectivity", connectivity(v, p)},
            {"consecutive_decrypt_failures", s.bad_tags_in_row.get()},
            {"current_k_bit", p.k},
            {"direction", p.initiator ? "outbound" : "inbound"},
            {"display_name", v.name(addr)},
            {"effective_depth", number(effective_depth(n.tree().state(), addr, costs))},
            {"filter_sequence", filter ? filter->sequence : 0U},
            {"has_bloom_filter", filter != nullptr},
            {"has_tree_position", path != nullptr},
            {"ipv6_addr", text_of(mesh_addr_of(addr))},
            {"is_child", n.tree().is_child(addr)},
            {"is_parent", n.tree().is_parent(addr)},
            {"last_seen_ms", v.unix_ms(p.last_heard())},
            {"link_id", p.link.value},
            {"node_addr", addr.hex()},
            {"npub", crypto::npub_of(p.key)},
            {"our_session_index", index_text(p.current.ours)},
            {"replay_suppressed", s.replay_suppressed.get()},
            {"transport_addr", p.to.text()}};
  j["noise"] = {{"highest_recv_counter", s.epoch_highest.get()},
                {"send_counter", p.current.send->next.load(std::memory_order_relaxed)}};
  j["nostr_traversal"] = {{"consecutive_failures", 0U},
                          {"cooldown_until_ms", nullptr},
                          {"in_cooldown", false},
                          {"last_observed_skew_ms", nullptr}};
  j["stats"] = {{"bytes_recv", s.bytes_recv.get()},
                {"bytes_sent", s.bytes_sent.get()},
                {"packets_recv", s.frames_recv.get()},
                {"packets_sent", s.frames_sent.get()}};
  if (transport != nullptr) j["transport_type"] = transport->kind;
  if (path != nullptr) j["tree_depth"] = path->size() - 1;
  if (n.links().rekeying(addr)) j["rekey_in_progress"] = true;
  if (p.previous) j["rekey_draining"] = true;
  if (const LinkQuality* q = n.reports().quality(p.link))
    j["mmp"] = quality_json(*q, mode_text(n.config().node.mmp.mode), "lqi");
  // Ours: the same keys everywhere, whatever else is there.
  j["weft"] = {{"congested", p.congested}, {"mtu", p.mtu}, {"rekeys", p.rekeys}};
  return j;
}

Json link_layer_json(const LinkQuality& q, bool initiator) {
  Json j = {{"delivery_ratio_forward", number(q.forward())},
            {"delivery_ratio_reverse", number(q.reverse())},
            {"ecn_ce_count", q.peer_ce_frames()},
            {"etx", number(q.etx())},
            {"goodput_bps", number(q.goodput())},
            {"loss_rate", number(q.loss())},
            {"spin_bit_role", initiator ? "initiator" : "responder"}};
  put_if(j, "smoothed_loss", q.smoothed_loss());
  put_if(j, "smoothed_etx", q.smoothed_etx());
  put_if(j, "srtt_ms", q.srtt_ms());
  put_if(j, "lqi", q.quality_index());
  put_if(j, "rtt_trend", trend_text(q.rtt_ewma()));
  put_if(j, "loss_trend", trend_text(q.loss_ewma()));
  put_if(j, "goodput_trend", trend_text(q.goodput_ewma()));
  put_if(j, "jitter_trend", trend_text(q.jitter_ewma()));
  return j;
}

Json session_layer_json(const ReportFlow::SessionQuality& s) {
  const LinkQuality& q = s.quality;
  Json j = {{"etx", number(q.etx())}, {"loss_rate", number(q.loss())}, {"path_mtu", s.limit.current()}};
  put_if(j, "smoothed_loss", q.smoothed_loss());
  put_if(j, "smoothed_etx", q.smoothed_etx());
  put_if(j, "srtt_ms", q.srtt_ms());
  put_if(j, "sqi", q.quality_index());
  put_if(j, "rtt_trend", trend_text(q.rtt_ewma()));
  put_if(j, "loss_trend", trend_text(q.loss_ewma()));
  put_if(j, "etx_trend", trend_text(q.etx_ewma()));
  return j;
}

}  // namespace

Json quality_json(const LinkQuality& q, std::string_view mode, const char* index_key) {
  Json j = {{"delivery_ratio_forward", number(q.forward())},
            {"delivery_ratio_reverse", number(q.reverse())},
            {"etx", number(q.etx())},
            {"goodput_bps", number(q.goodput())},
            {"loss_rate", number(q.loss())},
            {"mode", mode}};
  put_if(j, "srtt_ms", q.srtt_ms());
  put_if(j, "smoothed_loss", q.smoothed_loss());
  put_if(j, "smoothed_etx", q.smoothed_etx());
  put_if(j, index_key, q.quality_index());
  return j;
}

Answer show_peers(const View& v, const Params&) {
  Json rows = Json::array();
  const LinkCosts costs = v.node.reports().costs();
  for (const auto& [addr, p] : v.node.links().peers()) rows.push_back(peer_json(v, addr, p, costs));
  return Json{{"peers", std::move(rows)}};
}

Answer show_mmp(const View& v, const Params&) {
  Json peers = Json::array();
  const auto& c = v.node.config().node;
  for (const auto& [addr, p] : v.node.links().peers()) {
    const LinkQuality* q = v.node.reports().quality(p.link);
    if (q == nullptr) continue;
    peers.push_back({{"display_name", v.name(addr)},
                     {"link_layer", link_layer_json(*q, p.initiator)},
                     {"mode", mode_text(c.mmp.mode)},
                     {"peer", addr.hex()}});
  }
  Json sessions = Json::array();
  v.node.sessions().for_each([&](const session::View& s) {
    const auto* q = v.node.reports().session(s.remote);
    if (q == nullptr) return;
    sessions.push_back({{"display_name", v.name(s.remote)},
                        {"mode", mode_text(c.session_mmp.mode)},
                        {"remote", s.remote.hex()},
                        {"session_layer", session_layer_json(*q)}});
  });
  return Json{{"peers", std::move(peers)}, {"sessions", std::move(sessions)}};
}

Answer show_wanted_peers(const View& v, const Params&) {
  Json rows = Json::array();
  for (const auto& [key, s] : v.node.peering().wanted()) {
    const NodeAddr addr = crypto::node_addr_of(key);
    Json addresses = Json::array();
    for (const auto& a : s.want.addresses)
      addresses.push_back({{"addr", a.addr}, {"priority", a.priority}, {"transport", a.transport}});
    const auto next = v.node.peering().next_try(key);
    rows.push_back({{"addresses", std::move(addresses)},
                    {"alias", text_or_null(s.want.alias)},
                    {"auto_connect", s.want.auto_connect},
                    {"dialling", v.node.links().is_dialling(key)},
                    {"display_name", v.name(addr)},
                    {"failures", s.failures},
                    {"kept", s.want.kept},
                    {"next_try_ms", next && !s.up ? Json(v.unix_ms(*next)) : Json(nullptr)},
                    {"node_addr", addr.hex()},
                    {"npub", crypto::npub_of(key)},
                    {"trouble", text_or_null(s.trouble)},
                    {"up", v.node.links().find(addr) != nullptr}});
  }
  return Json{{"peers", std::move(rows)}};
}

}  // namespace weft::control
