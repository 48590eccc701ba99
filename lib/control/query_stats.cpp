#include <map>

#include "control/queries.h"

namespace weft::control {
namespace {

struct Span {
  std::chrono::seconds window;
  Granularity granularity;
};

Result<Span, std::string> span_of(const Params& p) {
  const auto window = parse_window(p.text("window").value_or("10m"));
  if (!window) return bad(window.error());
  const auto granularity = parse_granularity(p.text("granularity").value_or("1s"));
  if (!granularity) return bad(granularity.error());
  return Span{*window, *granularity};
}

Json values_json(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double x : values) out.push_back(number(x));
  return out;
}

Json series_json(const Series& s) {
  return {{"granularity_seconds", s.granularity_seconds},
          {"metric", s.metric},
          {"unit", s.unit},
          {"values", values_json(s.values)}};
}

/// The window as the ring clips it.
std::uint64_t clipped_seconds(const Series& s) { return s.values.size() * s.granularity_seconds; }

/// The `peer` of a request: its address and, for the errors, how it is called.
Result<std::optional<NodeAddr>, std::string> peer_of(const View& v, const Params& p) {
  const auto text = p.text("peer");
  if (!text) return std::optional<NodeAddr>{};
  const auto key = v.node.find_key(*text);
  if (!key) return bad("invalid peer npub: " + key.error());
  const NodeAddr addr = crypto::node_addr_of(*key);
  if (!v.node.history().tracks(addr)) return bad("peer not tracked in stats history: " + v.name(addr));
  return std::optional(addr);
}

Json stages_json(const ShardTotals& t) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kStages; ++i)
    out[std::string(name_of(static_cast<Stage>(i)))] = {
        {"items", t.stages[i].items}, {"ns", t.stages[i].ns}, {"runs", t.stages[i].runs}};
  return out;
}

}  // namespace

Answer show_metrics(const View& v, const Params&) {
  const ShardTotals t = totals(v);
  const Json lookup = lookup_json(v.node.lookups().counters());
  return Json{{"bloom", bloom_json(v.node.bloom().counters())},
              {"congestion", congestion_json(v, t)},
              {"discovery", lookup},
              {"errors", errors_json(v)},
              {"forwarding", forwarding_json(t)},
              {"lookup", lookup},
              {"native", native_json()},
              {"tree", tree_json(v.node.tree().counters())},
              {"weft", {{"drops", drops_json(v)}}}};
}

Answer show_stats_list(const View&, const Params&) {
  Json metrics = Json::array();
  for (const auto& m : node_metrics())
    metrics.push_back({{"name", m.name}, {"scope", "node"}, {"unit", m.unit}});
  for (const auto& m : peer_metrics())
    metrics.push_back({{"name", m.name}, {"scope", "peer"}, {"unit", m.unit}});
  return Json{{"fast_ring_seconds", 3600U},
              {"metrics", std::move(metrics)},
              {"peer_retention_seconds", std::chrono::seconds(24h).count()},
              {"slow_ring_minutes", 1440U}};
}

Answer show_stats_history(const View& v, const Params& p) {
  if (!p.present()) return bad(std::string("missing params for show_stats_history"));
  const auto metric = p.text("metric");
  if (!metric) return bad(std::string("missing 'metric' parameter"));
  const auto peer = peer_of(v, p);
  if (!peer) return bad(peer.error());
  const auto span = span_of(p);
  if (!span) return bad(span.error());
  const History& h = v.node.history();
  if (!*peer) {
    const auto m = parse_node_metric(*metric);
    if (!m) return bad(m.error());
    return series_json(h.query(*m, span->window, span->granularity));
  }
  const auto m = parse_peer_metric(*metric);
  if (!m) return bad(m.error());
  const auto s = h.query(**peer, *m, span->window, span->granularity);
  if (!s) return bad("peer not tracked in stats history: " + v.name(**peer));
  return series_json(*s);
}

Answer show_stats_all_history(const View& v, const Params& p) {
  const auto peer = peer_of(v, p);
  if (!peer) return bad(peer.error());
  const auto span = span_of(p);
  if (!span) return bad(span.error());
  const History& h = v.node.history();
  Json series = Json::array();
  std::uint64_t window = 0;
  const auto add = [&](const Series& s) {
    window = clipped_seconds(s);
    series.push_back(series_json(s));
  };
  if (*peer) {
    for (std::size_t i = 0; i < kPeerMetrics; ++i)
      if (const auto s = h.query(**peer, static_cast<PeerMetric>(i), span->window, span->granularity))
        add(*s);
  } else {
    for (std::size_t i = 0; i < kNodeMetrics; ++i)
      add(h.query(static_cast<NodeMetric>(i), span->window, span->granularity));
  }
  Json j = {{"granularity_seconds", seconds_of(span->granularity)},
            {"peer", nullptr},
            {"series", std::move(series)},
            {"window_seconds", window}};
  if (*peer) j["peer"] = p.text("peer").value_or("");
  return j;
}

Answer show_stats_peers(const View& v, const Params&) {
  auto peers = v.node.history().peers();
  std::vector<std::pair<std::string, TrackedPeer>> named;
  for (const auto& t : peers) named.emplace_back(v.name(t.peer), t);
  std::ranges::stable_sort(named, [](const auto& a, const auto& b) {
    return a.second.active != b.second.active ? a.second.active : a.first < b.first;
  });
  Json rows = Json::array();
  for (const auto& [name, t] : named) {
    const link::Peer* p = v.node.links().find(t.peer);
    rows.push_back({{"display_name", name},
                    {"first_seen_secs_ago", v.age_ms(t.first_seen) / 1000},
                    {"is_active", t.active},
                    {"last_contact_secs_ago", v.age_ms(t.last_contact) / 1000},
                    {"node_addr", t.peer.hex()},
                    {"npub", p ? crypto::npub_of(p->key) : t.peer.hex()}});
  }
  const std::size_t count = rows.size();
  return Json{{"count", count}, {"peers", std::move(rows)}};
}

Answer show_stats_history_all_peers(const View& v, const Params& p) {
  if (!p.present()) return bad(std::string("missing params for show_stats_history_all_peers"));
  const auto name = p.text("metric");
  if (!name) return bad(std::string("missing 'metric' parameter"));
  const auto metric = parse_peer_metric(*name);
  if (!metric) return bad(metric.error());
  const auto span = span_of(p);
  if (!span) return bad(span.error());
  const History& h = v.node.history();
  const auto& info = peer_metrics()[static_cast<std::size_t>(*metric)];
  Json rows = Json::array();
  for (const auto& t : h.peers())
    if (const auto s = h.query(t.peer, *metric, span->window, span->granularity))
      rows.push_back({{"display_name", v.name(t.peer)},
                      {"is_active", t.active},
                      {"node_addr", t.peer.hex()},
                      {"values", values_json(s->values)}});
  // A node series of the same span says how far the ring reaches.
  const Series reach = h.query(NodeMetric::peer_count, span->window, span->granularity);
  return Json{{"granularity_seconds", seconds_of(span->granularity)},
              {"metric", info.name},
              {"peers", std::move(rows)},
              {"unit", info.unit},
              {"window_seconds", clipped_seconds(reach)}};
}

Answer show_drops(const View& v, const Params&) {
  const auto n = drop_totals(v);
  Json rows = Json::array();
  for (std::size_t i = 0; i < kDropCount; ++i)
    rows.push_back(
        {{"count", n[i]}, {"name", name_of(static_cast<Drop>(i))}, {"text", text_of(static_cast<Drop>(i))}});
  return Json{{"drops", std::move(rows)}};
}

namespace {

/// Over all transports, by cause.
Json send_troubles_json(const View& v) {
  std::map<std::string_view, SendTroubleView> sum;
  for (const auto& transport : v.shell.transports)
    for (const auto& t : transport.send_troubles) {
      auto& s = sum[t.cause];
      s.count += t.count;
      if (!t.last_error.empty()) s.last_error = t.last_error;
    }
  Json out = Json::object();
  for (const auto& [cause, s] : sum)
    out[std::string(cause)] = {{"count", s.count},
                               {"last_error", s.last_error.empty() ? Json(nullptr) : Json(s.last_error)}};
  return out;
}

}  // namespace

Answer show_dataplane(const View& v, const Params&) {
  const ShardTotals& t = v.shell.shards;
  const ConnectedUdpView& c = v.shell.connected_udp;
  return Json{{"aead", v.shell.aead},
              {"burst_in", t.burst_in},
              {"connected_udp",
               {{"failed", c.failed},
                {"moved", c.moved},
                {"on", c.on},
                {"open", c.open},
                {"opened", c.opened},
                {"readdressed", c.readdressed},
                {"refused", c.refused},
                {"silent", c.silent},
                {"spoiled", c.spoiled}}},
              {"decrypt_workers", v.shell.decrypt_workers},
              {"encrypt_workers", v.shell.encrypt_workers},
              {"fragmented", t.fragmented},
              {"hairpinned", t.hairpinned},
              {"interface_queue_dropped", v.shell.interface_queue_dropped},
              {"mss_clamped", t.mss_clamped},
              {"run_out", t.run_out},
              {"send_troubles", send_troubles_json(v)},
              {"shared_threads", v.shell.shared_threads},
              {"stages", stages_json(t)},
              {"strays", t.strays},
              {"too_big_sent", t.too_big_sent},
              {"unreachable_sent", t.unreachable_sent}};
}

}  // namespace weft::control
