// What a live view asks for once a second: one page, sorted and cut here, as rows without keys.
#include <algorithm>

#include "control/advice.h"
#include "control/queries.h"
#include "names/hosts.h"

namespace weft::control {
namespace {

constexpr std::uint64_t kMostRows = 500;
constexpr std::uint64_t kMostPoints = 600;
constexpr std::uint64_t kDefaultRows = 50;
constexpr std::size_t kHeadPoints = 60;

/// How a page is wanted.
struct Wish {
  std::string sort, filter;
  bool reverse = false;
  std::size_t offset = 0, limit = kDefaultRows, points = 30;
  std::chrono::seconds window{600};
};

Wish wish_of(const Params& p) {
  Wish w;
  w.sort = p.text("sort").value_or("");
  w.filter = names::lower_case(p.text("filter").value_or(""));
  w.reverse = p.number("reverse").value_or(0) != 0;
  w.offset = p.number("offset").value_or(0);
  w.limit = std::min(p.number("limit").value_or(kDefaultRows), kMostRows);
  w.points = std::min(p.number("points").value_or(30), kMostPoints);
  w.window = std::chrono::seconds(std::clamp<std::uint64_t>(p.number("window").value_or(600), 60, 86'400));
  return w;
}

// ---- series ---------------------------------------------------------------------------------------------------------

/// Four digits are more than a curve shows.
Json short_number(double v) {
  if (!std::isfinite(v)) return nullptr;
  if (v == std::floor(v) && v < 1e15) return static_cast<std::int64_t>(v);
  if (v >= 1000) return static_cast<std::int64_t>(std::lround(v));
  return std::round(v * 1e4) / 1e4;
}
Json line_json(const std::vector<double>& values) {
  Json out = Json::array();
  out.get_ref<Json::array_t&>().reserve(values.size());
  for (const double x : values) out.push_back(short_number(x));
  return out;
}
Json curve(const Wish& w, const Series& s) {
  return {{"name", s.metric}, {"unit", s.unit}, {"values", line_json(thinned(s.values, w.points))}};
}

// ---- rows -----------------------------------------------------------------------------------------------------------

/// A row before it is made: what it is sorted by. Numbers fall, texts rise, unless reversed.
template <class T>
struct Entry {
  T what;
  std::string name;
  double key = 0;
  std::string text;
};

/// Sorts what passes the filter, and makes rows of the piece that is wanted.
template <class T, class Make>
Json page_json(const Wish& w, std::vector<Entry<T>> entries, std::size_t of, bool by_text, Json columns,
               const Make& make) {
  std::ranges::stable_sort(entries, [&](const Entry<T>& a, const Entry<T>& b) {
    const bool less = by_text          ? a.text != b.text ? a.text < b.text : a.name < b.name
                      : a.key != b.key ? a.key > b.key
                                       : a.name < b.name;
    return less;
  });
  if (w.reverse) std::ranges::reverse(entries);
  Json rows = Json::array();
  const auto total = entries.size();
  // A view that was scrolled further than there are rows by now sees the last ones.
  const auto from = std::min(w.offset, total > w.limit ? total - w.limit : 0);
  for (auto i = from; i < std::min(total, from + w.limit); ++i) rows.push_back(make(entries[i]));
  return {{"columns", std::move(columns)},
          {"of", of},
          {"offset", from},
          {"rows", std::move(rows)},
          {"total", total}};
}

bool passes(const Wish& w, std::string_view name, std::string_view other = {}) {
  return w.filter.empty() || names::lower_case(name).find(w.filter) != std::string::npos ||
         names::lower_case(other).find(w.filter) != std::string::npos;
}

double last(const History& h, const NodeAddr& addr, PeerMetric m) {
  const auto s = h.query(addr, m, std::chrono::seconds(1), Granularity::second);
  return s && !s->values.empty() && std::isfinite(s->values[0]) ? s->values[0] : 0;
}

std::string_view role_of(const View& v, const NodeAddr& addr) {
  return v.node.tree().is_parent(addr) ? "parent" : v.node.tree().is_child(addr) ? "child" : "";
}

std::string_view state_of(const View& v, const link::Peer& p) {
  const auto& s = v.node.links().settings();
  if (v.now.mono - p.last_heard() > std::max(s.heartbeat * 2, s.dead_after / 2)) return "stale";
  return p.congested ? "congested" : "ok";
}

Json peers_page(const View& v, const Wish& w) {
  using Item = std::pair<const NodeAddr*, const link::Peer*>;
  const History& h = v.node.history();
  std::vector<Entry<Item>> entries;
  const auto& peers = v.node.links().peers();
  entries.reserve(peers.size());
  const auto quality = [&](const link::Peer& p) { return v.node.reports().quality(p.link); };
  for (const auto& [addr, p] : peers) {
    Entry<Item> e{{&addr, &p}, v.name(addr), 0, {}};
    if (!w.filter.empty() && !passes(w, e.name, crypto::npub_of(p.key)) && !passes(w, p.to.text())) continue;
    const LinkQuality* q = quality(p);
    if (w.sort == "rtt") e.key = q != nullptr ? q->srtt_ms().value_or(-1) : -1;
    else if (w.sort == "loss") e.key = q != nullptr ? q->loss() : -1;
    else if (w.sort == "cost") e.key = q != nullptr && q->srtt_ms() ? q->cost() : -1;
    else if (w.sort == "in") e.key = last(h, addr, PeerMetric::bytes_in);
    else if (w.sort == "out") e.key = last(h, addr, PeerMetric::bytes_out);
    else if (w.sort == "received") e.key = static_cast<double>(p.stats->bytes_recv.get());
    else if (w.sort == "sent") e.key = static_cast<double>(p.stats->bytes_sent.get());
    else if (w.sort == "up") e.key = static_cast<double>(v.now.unix_ms - p.up_since_unix_ms);
    else if (w.sort == "role") e.text = role_of(v, addr).empty() ? "z" : std::string(role_of(v, addr));
    else if (w.sort == "state") e.text = state_of(v, p) == "ok" ? "z" : std::string(state_of(v, p));
    else if (w.sort == "rate")
      e.key = last(h, addr, PeerMetric::bytes_in) + last(h, addr, PeerMetric::bytes_out);
    entries.push_back(std::move(e));
  }
  const bool by_text = w.sort.empty() || w.sort == "name" || w.sort == "role" || w.sort == "state";
  const auto make = [&](const Entry<Item>& e) {
    const auto& [addr, p] = e.what;
    const LinkQuality* q = quality(*p);
    const auto span = std::chrono::seconds(w.points);
    std::vector<double> traffic, rtt;
    if (w.points > 0) {
      if (auto in = h.query(*addr, PeerMetric::bytes_in, span, Granularity::second))
        traffic = std::move(in->values);
      if (const auto out = h.query(*addr, PeerMetric::bytes_out, span, Granularity::second))
        for (std::size_t i = 0; i < traffic.size(); ++i) traffic[i] += out->values[i];
      if (auto r = h.query(*addr, PeerMetric::srtt_ms, span, Granularity::second)) rtt = std::move(r->values);
    }
    return Json::array(
        {e.name, role_of(v, *addr), state_of(v, *p), q ? number(q->srtt_ms()) : Json(nullptr),
         q ? short_number(q->loss()) : Json(nullptr), q ? short_number(q->etx()) : Json(nullptr),
         q && q->srtt_ms() ? short_number(q->cost()) : Json(nullptr),
         short_number(last(h, *addr, PeerMetric::bytes_in)),
         short_number(last(h, *addr, PeerMetric::bytes_out)), p->stats->bytes_recv.get(),
         p->stats->bytes_sent.get(), (v.now.unix_ms - p->up_since_unix_ms) / 1000, v.age_ms(p->last_heard()),
         p->to.text(), crypto::npub_of(p->key), line_json(traffic), line_json(rtt)});
  };
  return page_json(w, std::move(entries), peers.size(), by_text,
                   {"name", "role", "state", "rtt_ms", "loss", "etx", "cost", "in", "out", "received", "sent",
                    "up_s", "heard_ms", "address", "npub", "traffic", "rtt"},
                   make);
}

Json tree_page(const View& v, const Wish& w) {
  const TreeState& s = v.node.tree().state();
  const double max_fpr = v.node.config().node.bloom.max_inbound_fpr;
  using Item = std::pair<const NodeAddr*, const Path*>;
  std::vector<Entry<Item>> entries;
  const LinkCosts costs = v.node.reports().costs();
  const auto nodes_behind = [&](const NodeAddr& addr) -> std::optional<double> {
    const auto* in = v.node.bloom().inbound(addr);
    return in == nullptr ? std::nullopt : in->filter.estimate(max_fpr);
  };
  const auto distance = [&](const Path& path) -> std::optional<double> {
    const auto d = path.empty() ? kInfiniteDistance : tree_distance(s.path(), path);
    return d == kInfiniteDistance ? std::nullopt : std::optional(static_cast<double>(d));
  };
  for (const auto& [addr, claim] : s.claims()) {
    Entry<Item> e{{&addr, &claim.path}, v.name(addr), 0, {}};
    if (!passes(w, e.name)) continue;
    if (w.sort == "nodes") e.key = nodes_behind(addr).value_or(-1);
    else if (w.sort == "depth") e.key = -static_cast<double>(claim.path.size());
    else if (w.sort == "distance") e.key = -distance(claim.path).value_or(1e9);
    else if (w.sort == "cost") e.key = v.node.reports().cost(addr);
    else if (w.sort == "role") e.text = role_of(v, addr).empty() ? "z" : std::string(role_of(v, addr));
    entries.push_back(std::move(e));
  }
  const auto make = [&](const Entry<Item>& e) {
    const auto& [addr, path] = e.what;
    const auto reach = effective_depth(s, *addr, costs);
    return Json::array({e.name, role_of(v, *addr), path->empty() ? Json(nullptr) : Json(path->size() - 1),
                        or_null(distance(*path)), short_number(v.node.reports().cost(*addr)),
                        reach ? short_number(*reach) : Json(nullptr),
                        nodes_behind(*addr) ? Json(std::llround(*nodes_behind(*addr))) : Json(nullptr),
                        path->empty() ? Json(nullptr) : Json(v.name(path->back()))});
  };
  Json j = page_json(w, std::move(entries), s.claims().size(),
                     w.sort.empty() || w.sort == "name" || w.sort == "role",
                     {"name", "role", "depth", "distance", "cost", "effective_depth", "nodes", "root"}, make);
  Json path = Json::array();
  for (const auto& addr : s.path()) path.push_back(v.name(addr));
  j["path"] = std::move(path);
  j["parent"] = s.is_root() ? Json(nullptr) : Json(v.name(s.parent()));
  j["parent_switches"] = v.node.parent_switches();
  return j;
}

Json sessions_page(const View& v, const Wish& w) {
  std::vector<Entry<session::View>> entries;
  const auto quality = [&](const NodeAddr& addr) { return v.node.reports().session(addr); };
  std::size_t all = 0;
  v.node.sessions().for_each([&](const session::View& s) {
    ++all;
    Entry<session::View> e{s, v.name(s.remote), 0, {}};
    if (!passes(w, e.name)) return;
    const auto* q = quality(s.remote);
    const auto count = [&](const auto& gauge) {
      return s.stats ? static_cast<double>(gauge(*s.stats).get()) : 0;
    };
    if (w.sort == "rtt") e.key = q != nullptr ? q->quality.srtt_ms().value_or(-1) : -1;
    else if (w.sort == "loss") e.key = q != nullptr ? q->quality.loss() : -1;
    else if (w.sort == "received")
      e.key = count([](const SessionStats& x) -> const auto& { return x.bytes_recv; });
    else if (w.sort == "sent")
      e.key = count([](const SessionStats& x) -> const auto& { return x.bytes_sent; });
    else if (w.sort == "idle") e.key = -static_cast<double>(v.age_ms(s.last_activity));
    else if (w.sort == "up") e.key = static_cast<double>(v.age_ms(s.created));
    else if (w.sort == "state") e.text = std::string(s.state == session::State::established ? "z" : "a");
    entries.push_back(std::move(e));
  });
  const auto make = [&](const Entry<session::View>& e) {
    const auto& s = e.what;
    const bool up = s.state == session::State::established;
    const auto* q = up ? quality(s.remote) : nullptr;
    const auto mtu = q != nullptr ? q->limit.current() : 0;
    return Json::array({e.name,
                        up                                      ? "established"
                        : s.state == session::State::initiating ? "asking"
                                                                : "answering",
                        s.is_initiator ? "out" : "in", q ? number(q->quality.srtt_ms()) : Json(nullptr),
                        q ? short_number(q->quality.loss()) : Json(nullptr),
                        mtu == 0 || mtu == UINT16_MAX ? Json(nullptr) : Json(mtu),
                        s.stats ? s.stats->packets_recv.get() : 0U,
                        s.stats ? s.stats->packets_sent.get() : 0U, s.stats ? s.stats->bytes_recv.get() : 0U,
                        s.stats ? s.stats->bytes_sent.get() : 0U, v.age_ms(s.last_activity),
                        v.age_ms(s.created) / 1000, s.remote.hex()});
  };
  return page_json(w, std::move(entries), all, w.sort.empty() || w.sort == "name" || w.sort == "state",
                   {"name", "state", "dir", "rtt_ms", "loss", "mtu", "packets_in", "packets_out", "received",
                    "sent", "idle_ms", "up_s", "id"},
                   make);
}

Json traffic_page(const View& v, const Wish& w) {
  Json curves = Json::array();
  for (const auto m : {NodeMetric::link_bytes_in, NodeMetric::link_bytes_out, NodeMetric::forwarded_bytes,
                       NodeMetric::mean_srtt_ms, NodeMetric::loss_rate, NodeMetric::active_sessions})
    curves.push_back(curve(w, v.node.history().query(m, w.window, granularity_for(w.window))));
  return {{"curves", std::move(curves)}, {"window_s", w.window.count()}};
}

Json peer_page(const View& v, const Wish& w, const NodeAddr& addr) {
  Json curves = Json::array();
  for (const auto m : {PeerMetric::bytes_in, PeerMetric::bytes_out, PeerMetric::srtt_ms,
                       PeerMetric::loss_rate, PeerMetric::etx, PeerMetric::cost})
    if (const auto s = v.node.history().query(addr, m, w.window, granularity_for(w.window)))
      curves.push_back(curve(w, *s));
  Json j = {{"curves", std::move(curves)}, {"name", v.name(addr)}, {"window_s", w.window.count()}};
  j["up"] = v.node.links().find(addr) != nullptr;
  return j;
}

Json workers_page(const View& v, const Wish& w) {
  Json rows = Json::array();
  if (v.shell.workers)
    for (const auto& x : v.shell.workers())
      rows.push_back(Json::array({x.name, to_ms(x.cpu), x.packets, x.bytes, x.drops, x.strays, x.broken}));
  Json curves = Json::array();
  for (const auto m : {NodeMetric::cpu_control, NodeMetric::cpu_workers})
    curves.push_back(curve(w, v.node.history().query(m, w.window, granularity_for(w.window))));
  const std::size_t n = rows.size();
  return {{"aead", v.shell.aead},
          {"columns", {"name", "cpu_ms", "packets", "bytes", "drops", "strays", "broken"}},
          {"curves", std::move(curves)},
          {"kernel_drops", v.shell.kernel_drop_events},
          {"of", n},
          {"offset", 0},
          {"rows", std::move(rows)},
          {"total", n},
          {"window_s", w.window.count()}};
}

Json refusals_page(const View& v, const Wish& w) {
  const auto n = drop_totals(v);
  const History& h = v.node.history();
  std::vector<Entry<std::size_t>> entries;
  std::size_t all = 0;
  const auto recent = [&](std::size_t i) {
    double sum = 0;
    for (const double x : h.recent(static_cast<Drop>(i), 60))
      if (std::isfinite(x)) sum += x;
    return sum;
  };
  for (std::size_t i = 0; i < kDropCount; ++i) {
    if (n[i] == 0) continue;
    ++all;
    Entry<std::size_t> e{i, std::string(name_of(static_cast<Drop>(i))), 0, {}};
    if (!passes(w, e.name, text_of(static_cast<Drop>(i)))) continue;
    e.key = w.sort == "minute" || w.sort.empty() ? recent(i) : static_cast<double>(n[i]);
    entries.push_back(std::move(e));
  }
  const auto make = [&](const Entry<std::size_t>& e) {
    const auto d = static_cast<Drop>(e.what);
    return Json::array(
        {e.name, n[e.what], short_number(recent(e.what)), text_of(d), line_json(h.recent(d, w.points))});
  };
  Json j = page_json(w, std::move(entries), all, w.sort == "name",
                     {"name", "count", "minute", "text", "curve"}, make);
  Json handshakes = Json::array();
  const auto& refused = v.node.links().refusals();
  for (auto r = refused.rbegin(); r != refused.rend() && handshakes.size() < 8; ++r)
    handshakes.push_back(Json::array({(v.now.unix_ms - r->unix_ms) / 1000, r->from.text(),
                                      r->who ? v.name(crypto::node_addr_of(*r->who)) : std::string(),
                                      r->rule.empty() ? std::string(text_of(r->why)) : r->rule}));
  j["handshakes"] = std::move(handshakes);
  return j;
}

Json head_json(const View& v) {
  const Node& n = v.node;
  const History& h = n.history();
  const Advice a = advice_of(v);
  const auto now = [&](NodeMetric m) {
    const auto x = h.recent(m, 1);
    return x.empty() ? Json(nullptr) : short_number(x[0]);
  };
  Json j = {{"depth", n.tree().state().depth()},
            {"headline", a.headline},
            {"linked", a.linked},
            {"mesh_size", or_null(n.bloom().mesh_size())},
            {"name", v.name(n.identity().addr())},
            {"npub", n.identity().npub()},
            {"peers", n.links().peers().size()},
            {"root", n.tree().state().is_root() ? std::string("this node") : v.name(n.tree().root())},
            {"sessions", n.sessions().size()},
            {"traffic_in", line_json(h.recent(NodeMetric::link_bytes_in, kHeadPoints))},
            {"traffic_out", line_json(h.recent(NodeMetric::link_bytes_out, kHeadPoints))},
            {"tun", text_or_null(v.shell.tun_name)},
            {"uptime_s", v.age_ms(n.started()) / 1000},
            {"version", v.shell.version}};
  // The most useful sentence beside the headline.
  j["advice"] = !a.linked && !a.next_steps.empty() ? Json(a.next_steps[0])
                : !a.why.empty()                   ? Json(a.why[0])
                : !a.notes.empty()                 ? Json(a.notes[0])
                                                   : Json(nullptr);
  for (const auto m : {NodeMetric::link_bytes_in, NodeMetric::link_bytes_out, NodeMetric::forwarded_bytes,
                       NodeMetric::loss_rate, NodeMetric::mean_srtt_ms, NodeMetric::drops,
                       NodeMetric::cpu_control, NodeMetric::cpu_workers})
    j["now"][std::string(node_metrics()[static_cast<std::size_t>(m)].name)] = now(m);
  return j;
}

}  // namespace

Answer show_top(const View& v, const Params& p) {
  const Wish w = wish_of(p);
  const std::string page = p.text("page").value_or("peers");
  Json body;
  if (page == "peers") body = peers_page(v, w);
  else if (page == "tree") body = tree_page(v, w);
  else if (page == "sessions") body = sessions_page(v, w);
  else if (page == "traffic") body = traffic_page(v, w);
  else if (page == "workers") body = workers_page(v, w);
  else if (page == "refusals") body = refusals_page(v, w);
  else if (page == "peer") {
    const auto key = v.node.find_key(p.text("peer").value_or(""));
    if (!key) return bad(key.error());
    body = peer_page(v, w, crypto::node_addr_of(*key));
  } else
    return bad("unknown page: " + page +
               " (expected peers, tree, sessions, traffic, workers, refusals or peer)");
  body["at_ms"] = v.now.unix_ms;
  body["head"] = head_json(v);
  body["page"] = page;
  return body;
}

}  // namespace weft::control
