#include "control/metrics_page.h"

#include <fmt/format.h>

#include "control/queries.h"

namespace weft::control {
namespace {

/// Backslash, quote and newline are what the format cannot hold as they are.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out;
}

class Text {
 public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(out_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  /// `labels` with their braces, or empty.
  template <class T>
  void value(std::string_view labels, T v) {
    fmt::format_to(std::back_inserter(out_), "{}{} {}\n", name_, labels, v);
  }
  template <class T>
  void one(std::string_view name, std::string_view type, std::string_view help, T v) {
    begin(name, type, help);
    value("", v);
  }
  std::string take() { return fmt::to_string(out_); }

 private:
  fmt::memory_buffer out_;
  std::string_view name_;
};

constexpr std::string_view kGauge = "gauge", kCounter = "counter";

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
double unix_seconds(std::int64_t ms) { return static_cast<double>(ms) / 1000; }

void about_node(Text& t, const View& v) {
  const Node& n = v.node;
  t.begin("weft_build_info", kGauge, "Version of the daemon and the cipher implementation in use.");
  t.value(fmt::format("{{version=\"{}\",aead=\"{}\"}}", escaped(v.shell.version), escaped(v.shell.aead)), 1);
  t.one("weft_start_time_seconds", kGauge, "When the daemon started, in seconds since 1970.",
        unix_seconds(v.unix_ms(n.started())));
  t.one("weft_linked", kGauge, "Whether this node is part of a mesh: 1 or 0.",
        n.links().peers().empty() ? 0 : 1);
  t.one("weft_peers", kGauge, "Linked neighbours.", n.links().peers().size());
  t.one("weft_sessions", kGauge, "End-to-end sessions.", n.sessions().size());
  if (const auto size = n.bloom().mesh_size())
    t.one("weft_mesh_nodes", kGauge, "Nodes in the mesh, estimated from filters.", *size);
  t.one("weft_tree_depth", kGauge, "Hops to the root of the tree.", n.tree().state().depth());
  t.one("weft_tree_root", kGauge, "Whether this node is the root: 1 or 0.",
        n.tree().state().is_root() ? 1 : 0);
  t.one("weft_tree_parent_switches_total", kCounter, "Changes of the parent in the tree.",
        n.parent_switches());
  t.one("weft_coordinates_cached", kGauge, "Nodes whose place in the tree is known.", n.coords().size());
  t.one("weft_history_bytes", kGauge, "Memory that the recorded history takes.", n.history().memory_bytes());
}

void about_datagrams(Text& t, const ShardTotals& s) {
  const std::pair<std::string_view, ShardTotals::Pair> outcomes[] = {
      {"received", s.received},           {"delivered", s.delivered},        {"forwarded", s.forwarded},
      {"originated", s.originated},       {"no_route", s.drop_no_route},     {"too_big", s.drop_mtu_exceeded},
      {"ttl_exhausted", s.ttl_exhausted}, {"send_error", s.drop_send_error}, {"malformed", s.decode_error}};
  t.begin("weft_datagrams_total", kCounter, "Mesh datagrams by what became of them.");
  for (const auto& [name, pair] : outcomes) t.value(fmt::format("{{outcome=\"{}\"}}", name), pair.packets);
  t.begin("weft_datagram_bytes_total", kCounter, "Bytes of mesh datagrams by what became of them.");
  for (const auto& [name, pair] : outcomes) t.value(fmt::format("{{outcome=\"{}\"}}", name), pair.bytes);
  t.one("weft_congestion_marks_total", kCounter, "Datagrams that were marked for congestion here.",
        s.congestion_detected);
}

void about_drops(Text& t, const View& v) {
  const auto n = drop_totals(v);
  t.begin("weft_drops_total", kCounter,
          "What was refused or dropped, by cause; weft drops --all explains the causes.");
  for (std::size_t i = 0; i < kDropCount; ++i)
    t.value(fmt::format("{{cause=\"{}\"}}", name_of(static_cast<Drop>(i))), n[i]);
}

void about_threads(Text& t, const View& v) {
  if (v.shell.workers) {
    const auto workers = v.shell.workers();
    t.begin("weft_thread_cpu_seconds_total", kCounter, "Processor time of the daemon's threads.");
    for (const auto& w : workers) t.value(fmt::format("{{thread=\"{}\"}}", escaped(w.name)), seconds(w.cpu));
    t.begin("weft_thread_drops_total", kCounter, "Refused or dropped by the thread.");
    for (const auto& w : workers) t.value(fmt::format("{{thread=\"{}\"}}", escaped(w.name)), w.drops);
  }
  if (!v.shell.process) return;
  const auto p = v.shell.process();
  t.one("process_cpu_seconds_total", kCounter, "User and system time of the daemon.", seconds(p.cpu));
  t.one("process_resident_memory_bytes", kGauge, "Memory of the daemon that is in use.", p.resident_bytes);
}

void about_transports(Text& t, const View& v) {
  std::vector<std::pair<std::string, const TransportView*>> all;
  for (const auto& x : v.shell.transports)
    if (x.supported) all.emplace_back(escaped(x.name.empty() ? x.kind : x.kind + "/" + x.name), &x);
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, auto f) {
    t.begin(name, type, help);
    for (const auto& [label, x] : all) f(label, *x);
  };
  const auto both = [&](const std::string& label, std::uint64_t in, std::uint64_t out) {
    t.value(fmt::format("{{transport=\"{}\",direction=\"in\"}}", label), in);
    t.value(fmt::format("{{transport=\"{}\",direction=\"out\"}}", label), out);
  };
  each("weft_transport_up", kGauge, "Whether the transport is open: 1 or 0.",
       [&](const auto& l, const auto& x) {
         t.value(fmt::format("{{transport=\"{}\"}}", l), x.state == "up" ? 1 : 0);
       });
  each("weft_transport_packets_total", kCounter, "Datagrams of the underlay.",
       [&](const auto& l, const auto& x) { both(l, x.packets_recv, x.packets_sent); });
  each("weft_transport_bytes_total", kCounter, "Bytes of datagrams of the underlay.",
       [&](const auto& l, const auto& x) { both(l, x.bytes_recv, x.bytes_sent); });
  each("weft_transport_errors_total", kCounter, "Datagrams that could not be sent or read.",
       [&](const auto& l, const auto& x) { both(l, x.recv_errors, x.send_errors); });
  each("weft_transport_kernel_drops_total", kCounter,
       "Datagrams that the kernel dropped: receive buffer full.", [&](const auto& l, const auto& x) {
         t.value(fmt::format("{{transport=\"{}\"}}", l), x.kernel_drops);
       });
}

void about_peers(Text& t, const View& v, std::size_t most) {
  struct Row {
    std::string labels;
    const link::Peer* peer;
    const LinkQuality* quality;
  };
  std::vector<Row> rows;
  const auto& peers = v.node.links().peers();
  for (const auto& [addr, p] : peers) {
    if (rows.size() == most) break;
    rows.push_back({fmt::format("{{peer=\"{}\",npub=\"{}\"}}", escaped(v.name(addr)), crypto::npub_of(p.key)),
                    &p, v.node.reports().quality(p.link)});
  }
  t.one("weft_peers_not_listed", kGauge, "Neighbours without series of their own: weft.metrics.peers.",
        peers.size() - rows.size());
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, auto f) {
    t.begin(name, type, help);
    for (const auto& r : rows) f(r);
  };
  const auto stat = [&](std::string_view name, std::string_view help, auto f) {
    each(name, kCounter, help, [&](const Row& r) { t.value(r.labels, f(*r.peer->stats)); });
  };
  stat("weft_peer_received_bytes_total", "Bytes of frames from the peer.",
       [](const LinkStats& s) { return s.bytes_recv.get(); });
  stat("weft_peer_sent_bytes_total", "Bytes of frames to the peer.",
       [](const LinkStats& s) { return s.bytes_sent.get(); });
  stat("weft_peer_received_packets_total", "Frames from the peer.",
       [](const LinkStats& s) { return s.frames_recv.get(); });
  stat("weft_peer_sent_packets_total", "Frames to the peer.",
       [](const LinkStats& s) { return s.frames_sent.get(); });
  each("weft_peer_rtt_seconds", kGauge, "Round trip to the peer, smoothed.", [&](const Row& r) {
    if (r.quality != nullptr && r.quality->srtt_ms()) t.value(r.labels, *r.quality->srtt_ms() / 1000);
  });
  each("weft_peer_loss_ratio", kGauge, "Loss towards the peer, from 0 to 1.", [&](const Row& r) {
    if (r.quality != nullptr) t.value(r.labels, r.quality->loss());
  });
  each("weft_peer_expected_transmissions", kGauge, "Expected transmissions until one arrives.",
       [&](const Row& r) {
         if (r.quality != nullptr) t.value(r.labels, r.quality->etx());
       });
  each("weft_peer_congested", kGauge, "Whether frames to the peer are marked for congestion: 1 or 0.",
       [&](const Row& r) { t.value(r.labels, r.peer->congested ? 1 : 0); });
  each("weft_peer_last_heard_timestamp_seconds", kGauge,
       "When the peer was last heard, in seconds since 1970.",
       [&](const Row& r) { t.value(r.labels, unix_seconds(v.unix_ms(r.peer->last_heard()))); });
  each("weft_peer_connected_timestamp_seconds", kGauge, "When the link came up, in seconds since 1970.",
       [&](const Row& r) { t.value(r.labels, unix_seconds(r.peer->up_since_unix_ms)); });
}

/// Neighbours that should be there, so that one can be told of those that are not.
void about_wanted(Text& t, const View& v, std::size_t most) {
  t.begin("weft_wanted_peer_up", kGauge, "Whether a neighbour of the configuration is linked: 1 or 0.");
  std::size_t n = 0;
  for (const auto& [key, state] : v.node.peering().wanted()) {
    if (++n > most) break;
    const NodeAddr addr = crypto::node_addr_of(key);
    t.value(fmt::format("{{peer=\"{}\",npub=\"{}\"}}",
                        escaped(state.want.alias.empty() ? v.name(addr) : state.want.alias),
                        crypto::npub_of(key)),
            v.node.links().find(addr) != nullptr ? 1 : 0);
  }
}

}  // namespace

std::string metrics_page(Node& node, Now now, const ShellView& shell, std::size_t most_peers) {
  const View v{node, now, shell};
  Text t;
  about_node(t, v);
  about_datagrams(t, totals(v));
  about_drops(t, v);
  about_threads(t, v);
  about_transports(t, v);
  about_peers(t, v, most_peers);
  about_wanted(t, v, most_peers);
  return t.take();
}

}  // namespace weft::control
