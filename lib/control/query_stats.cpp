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

/// Wall time of the last value, so that every value has one.
Json newest_json(const View& v, Granularity g) {
  const Instant newest = v.node.history().newest(g);
  return {{"newest_ms", newest == Instant{} ? Json(nullptr) : Json(v.unix_ms(newest))}};
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

Answer show_stats_list(const View& v, const Params&) {
  Json metrics = Json::array();
  const auto add = [&](const MetricInfo& m, const char* scope) {
    metrics.push_back({{"name", m.name}, {"scope", scope}, {"unit", m.unit}, {"weft", {{"text", m.text}}}});
  };
  for (const auto& m : node_metrics()) add(m, "node");
  for (const auto& m : peer_metrics()) add(m, "peer");
  // Every refusal has a series; those that happened are worth a look.
  Json refusals = Json::array();
  const auto n = drop_totals(v);
  for (std::size_t i = 0; i < kDropCount; ++i) {
    const NodeSeries s(static_cast<Drop>(i));
    if (n[i] != 0)
      refusals.push_back({{"name", s.name()}, {"scope", "node"}, {"text", s.text()}, {"unit", s.unit()}});
  }
  return Json{{"fast_ring_seconds", kSecondsKept},
              {"metrics", std::move(metrics)},
              {"peer_retention_seconds", to_ms(History::kPeerRetention) / 1000},
              {"slow_ring_minutes", kMinutesKept},
              {"weft", {{"refusals", std::move(refusals)}}}};
}

Answer show_stats_history(const View& v, const Params& p) {
  if (!p.present()) return missing_params("show_stats_history");
  const auto metric = p.text("metric");
  if (!metric) return missing("metric");
  const auto peer = peer_of(v, p);
  if (!peer) return bad(peer.error());
  const auto span = span_of(p);
  if (!span) return bad(span.error());
  const History& h = v.node.history();
  if (!*peer) {
    const auto m = parse_node_series(*metric);
    if (!m) return bad(m.error());
    Json j = series_json(h.query(*m, span->window, span->granularity));
    j["weft"] = newest_json(v, span->granularity);
    return j;
  }
  const auto m = parse_peer_metric(*metric);
  if (!m) return bad(m.error());
  const auto s = h.query(**peer, *m, span->window, span->granularity);
  if (!s) return bad("peer not tracked in stats history: " + v.name(**peer));
  Json j = series_json(*s);
  j["weft"] = newest_json(v, span->granularity);
  return j;
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
            {"weft", newest_json(v, span->granularity)},
            {"window_seconds", window}};
  if (*peer) j["peer"] = p.text("peer").value_or("");
  return j;
}

Answer show_stats_summary(const View& v, const Params& p) {
  constexpr std::uint64_t kPoints = 60, kMostPoints = 1000;
  const auto peer = peer_of(v, p);
  if (!peer) return bad(peer.error());
  const auto window = parse_window(p.text("window").value_or("1h"));
  if (!window) return bad(window.error());
  const auto points = static_cast<std::size_t>(std::min(p.number("points").value_or(kPoints), kMostPoints));
  const auto grain = granularity_for(*window);
  Json rows = Json::array();
  std::uint64_t reach = 0;
  const auto add = [&](const Series& s, const std::vector<double>& newest) {
    reach = clipped_seconds(s);
    double lo = kNoValue, hi = kNoValue, sum = 0;
    std::size_t known = 0;
    for (const double x : s.values) {
      if (!std::isfinite(x)) continue;
      lo = known == 0 ? x : std::min(lo, x);
      hi = known == 0 ? x : std::max(hi, x);
      sum += x;
      ++known;
    }
    rows.push_back({{"max", number(hi)},
                    {"mean", known == 0 ? Json(nullptr) : Json(sum / static_cast<double>(known))},
                    {"metric", s.metric},
                    {"min", number(lo)},
                    {"now", newest.empty() ? Json(nullptr) : number(newest[0])},
                    {"unit", s.unit},
                    {"values", values_json(thinned(s.values, points))}});
  };
  const History& h = v.node.history();
  if (*peer) {
    for (std::size_t i = 0; i < kPeerMetrics; ++i) {
      const auto m = static_cast<PeerMetric>(i);
      const auto now = h.query(**peer, m, 1s, Granularity::second);
      if (const auto s = h.query(**peer, m, *window, grain)) add(*s, now->values);
    }
  } else {
    for (std::size_t i = 0; i < kNodeMetrics; ++i) {
      const auto m = static_cast<NodeMetric>(i);
      add(h.query(m, *window, grain), h.recent(m, 1));
    }
  }
  return Json{{"peer", *peer ? Json(v.name(**peer)) : Json(nullptr)},
              {"series", std::move(rows)},
              {"window_seconds", reach}};
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
  if (!p.present()) return missing_params("show_stats_history_all_peers");
  const auto name = p.text("metric");
  if (!name) return missing("metric");
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
    out[std::string(cause)] = {{"count", s.count}, {"last_error", text_or_null(s.last_error)}};
  return out;
}

}  // namespace

Answer show_dataplane(const View& v, const Params&) {
  const ShardTotals& t = v.shell.shards;
  const ConnectedUdpView& c = v.shell.connected_udp;
  return Json{
      {"aead", v.shell.aead},
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
      {"interface_queue_dropped", v.shell.interface_queue_dropped ? v.shell.interface_queue_dropped() : 0U},
      {"mss_clamped", t.mss_clamped},
      {"queue_marked", t.queue_marked},
      {"queue_dropped", t.queue_dropped},
      {"run_out", t.run_out},
      {"send_troubles", send_troubles_json(v)},
      {"shared_threads", v.shell.shared_threads},
      {"stages", stages_json(t)},
      {"strays", t.strays},
      {"too_big_sent", t.too_big_sent},
      {"unreachable_sent", t.unreachable_sent}};
}

}  // namespace weft::control
