#include <set>

#include "control/queries.h"

namespace weft::control {
namespace {

std::string_view stage_text(HopStage s) {
  switch (s) {
    case HopStage::direct:
      return "direct";
    case HopStage::filter:
      return "filter";
    case HopStage::greedy:
      return "greedy";
  }
  return "direct";
}

Json retries_json(const View& v) {
  Json rows = Json::array();
  for (const auto& [key, s] : v.node.peering().wanted()) {
    const auto next = v.node.peering().next_try(key);
    if (s.up || !next || s.failures == 0) continue;
    const NodeAddr addr = crypto::node_addr_of(key);
    rows.push_back({{"auto_reconnect", s.want.auto_reconnect},
                    {"display_name", v.name(addr)},
                    {"node_addr", addr.hex()},
                    {"retry_after_ms", v.unix_ms(*next)},
                    {"retry_count", s.failures}});
  }
  return rows;
}

std::size_t limit_of(const Params& p) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(p.number("limit").value_or(UINT64_MAX), SIZE_MAX));
}

}  // namespace

Answer show_routing(const View& v, const Params&) {
  const Node& n = v.node;
  Json pending = Json::array();
  for (const auto& [target, l] : n.lookups().pending())
    pending.push_back({{"age_ms", v.age_ms(l.started)},
                       {"attempt", l.attempt},
                       {"display_name", v.name(target)},
                       {"initiated_ms", v.unix_ms(l.started)},
                       {"last_sent_ms", v.unix_ms(l.last_sent)},
                       {"target", target.hex()}});
  const Json lookup = lookup_json(n.lookups().counters());
  const ShardTotals t = totals(v);
  return Json{{"congestion", congestion_json(v, t)},
              {"coord_cache_entries", n.coords().size()},
              {"discovery", lookup},
              {"error_signals", errors_json(v)},
              {"forwarding", forwarding_json(t)},
              {"identity_cache_entries", n.identities().size()},
              {"lookup", lookup},
              {"pending_lookups", std::move(pending)},
              {"pending_tun_destinations", n.sessions().pending().destinations()},
              {"pending_tun_packets", n.sessions().pending().packets()},
              {"recent_requests", n.lookups().recent_requests()},
              {"retries", retries_json(v)}};
}

Answer show_cache(const View& v, const Params& p) {
  const CoordCache& c = v.node.coords();
  const std::size_t limit = limit_of(p);
  Json entries = Json::array();
  std::uint64_t expired = 0, age_sum = 0;
  for (const auto& [addr, e] : c) {
    if (e.expires < v.now.mono) ++expired;
    age_sum += static_cast<std::uint64_t>(v.age_ms(e.inserted));
    if (entries.size() >= limit) continue;
    Json j = {{"age_ms", v.age_ms(e.inserted)},
              {"coords", path_json(e.path)},
              {"depth", e.path.empty() ? 0U : e.path.size() - 1},
              {"display_name", v.name(addr)},
              {"ipv6_addr", text_of(mesh_addr_of(addr))},
              {"last_used_ms", v.unix_ms(e.last_used)},
              {"node_addr", addr.hex()}};
    put_if(j, "path_mtu", e.path_mtu);
    entries.push_back(std::move(j));
  }
  const double size = static_cast<double>(c.size());
  return Json{{"avg_age_ms", c.size() == 0 ? 0U : age_sum / c.size()},
              {"count", c.size()},
              {"default_ttl_ms", to_ms(c.ttl())},
              {"entries", std::move(entries)},
              {"expired", expired},
              {"fill_ratio", c.max_entries() == 0 ? 0.0 : size / static_cast<double>(c.max_entries())},
              {"max_entries", c.max_entries()}};
}

Answer show_identity_cache(const View& v, const Params& p) {
  const std::size_t limit = limit_of(p);
  Json entries = Json::array();
  for (const auto& [mesh, e] : v.node.identities()) {
    if (entries.size() >= limit) break;
    entries.push_back({{"age_ms", v.age_ms(e.last_seen)},
                       {"display_name", v.name(e.addr)},
                       {"ipv6_addr", text_of(mesh)},
                       {"last_seen_ms", v.unix_ms(e.last_seen)},
                       {"node_addr", e.addr.hex()},
                       {"npub", crypto::npub_of(e.key)}});
  }
  return Json{{"count", v.node.identities().size()},
              {"entries", std::move(entries)},
              {"max_entries", v.node.identities().capacity()}};
}

Answer show_routes(const View& v, const Params& p) {
  const std::size_t limit = limit_of(p);
  std::set<NodeAddr> dests;
  for (const auto& [addr, peer] : v.node.links().peers()) dests.insert(addr);
  v.node.sessions().for_each([&](const session::View& s) { dests.insert(s.remote); });
  for (const auto& [addr, e] : v.node.coords()) {
    if (dests.size() >= limit) break;
    dests.insert(addr);
  }
  Json rows = Json::array();
  for (const NodeAddr& d : dests) {
    if (rows.size() >= limit) break;
    const auto hop = v.node.routes().explain(v.now.mono, d);
    const CoordEntry* e = v.node.coords().peek(d, v.now.mono);
    Json j = {{"display_name", v.name(d)},
              {"ipv6_addr", text_of(mesh_addr_of(d))},
              {"node_addr", d.hex()},
              {"next_hop", hop ? Json(hop->peer.hex()) : Json(nullptr)},
              {"next_hop_name", hop ? Json(v.name(hop->peer)) : Json(nullptr)},
              {"stage", hop ? Json(stage_text(hop->stage)) : Json(nullptr)},
              {"tree_distance", nullptr}};
    const Path* path = e != nullptr ? &e->path : v.node.tree().path_of(d);
    if (path != nullptr && !path->empty())
      if (const auto far = tree_distance(v.node.tree().path(), *path); far != kInfiniteDistance)
        j["tree_distance"] = far;
    rows.push_back(std::move(j));
  }
  return Json{{"cached_by_workers", v.node.routes().routes()}, {"routes", std::move(rows)}};
}

}  // namespace weft::control
