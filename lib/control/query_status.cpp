#include "control/advice.h"
#include "control/queries.h"

namespace weft::control {
namespace {

constexpr std::size_t kSpark = 30;
constexpr int kFrameOverhead = 77;  // link MTU less this is what an IPv6 packet may have; session sheet 2.3
constexpr std::int64_t kRefusalShown = 600'000;  // ms: older ones are history
constexpr std::size_t kRefusalsShown = 5;

std::string_view tun_text(TunState t) {
  switch (t) {
    case TunState::disabled:
      return "disabled";
    case TunState::configured:
      return "configured";
    case TunState::active:
      return "active";
    case TunState::failed:
      return "failed";
  }
  return "disabled";
}

bool any_up(const Node& n) {
  return std::ranges::any_of(n.links().transports(), [](const auto& t) { return t.up; });
}

std::string_view state_text(const View& v) {
  if (v.node.draining()) return "draining";
  return v.shell.tun == TunState::failed || !any_up(v.node) ? "degraded" : "running";
}

std::uint16_t inner_mtu(const Node& n) {
  const int mtu = n.links().smallest_mtu();
  return static_cast<std::uint16_t>(std::max(0, (mtu == 0 ? 1280 : mtu) - kFrameOverhead));
}

Json sparklines(const History& h) {
  const auto line = [&](NodeMetric m) {
    Json out = Json::array();
    for (const double x : h.recent(m, kSpark)) out.push_back(number(x));
    return out;
  };
  return {{"bytes_in", line(NodeMetric::bytes_in)},     {"bytes_out", line(NodeMetric::bytes_out)},
          {"loss_rate", line(NodeMetric::loss_rate)},   {"mesh_size", line(NodeMetric::mesh_size)},
          {"peer_count", line(NodeMetric::peer_count)}, {"tree_depth", line(NodeMetric::tree_depth)}};
}

Json transport_peer_counts(const View& v) {
  std::map<std::string, std::size_t> counts;
  for (const auto& t : v.shell.transports) counts.emplace(t.kind, 0);
  for (const auto& t : v.node.links().transports()) counts.emplace(t.kind, 0);
  for (const auto& [addr, p] : v.node.links().peers())
    if (const auto* t = v.node.links().transport(p.transport)) ++counts[t->kind];
  return counts;
}

std::string refusal_text(const View& v, const link::Refusal& r) {
  const std::string who = r.who ? v.name(crypto::node_addr_of(*r.who)) + " at " : "";
  return fmt::format("{}{}, {} ago: {}", who, r.from.text(),
                     span_text(std::chrono::milliseconds(v.now.unix_ms - r.unix_ms)),
                     r.rule.empty() ? std::string(text_of(r.why)) : r.rule);
}

void add_wanted(const View& v, Situation& s) {
  for (const auto& [key, state] : v.node.peering().wanted()) {
    Situation::Peer p;
    const NodeAddr addr = crypto::node_addr_of(key);
    p.name = state.want.alias.empty() ? v.name(addr) : state.want.alias;
    for (const auto& a : state.want.addresses) p.addresses.push_back(a.addr);
    p.up = v.node.links().find(addr) != nullptr;
    p.auto_connect = state.want.auto_connect;
    p.dialling = v.node.links().is_dialling(key);
    p.failures = state.failures;
    if (const auto next = v.node.peering().next_try(key)) p.next_try = *next - v.now.mono;
    p.parked = !p.up && p.auto_connect && !p.dialling && !p.next_try && !v.node.draining();
    p.trouble = state.trouble;
    const auto verdict = v.node.acl().check(key);
    if (!verdict.allowed) p.refused = verdict.text();
    for (const auto& r : v.node.links().refusals())
      if (p.refused.empty() && !p.up && r.who == std::optional(key) &&
          v.now.unix_ms - r.unix_ms < kRefusalShown)
        p.refused = r.rule.empty() ? std::string(text_of(r.why)) : r.rule;
    s.wanted.push_back(std::move(p));
  }
}

Situation situation_of(const View& v) {
  const Node& n = v.node;
  Situation s;
  s.draining = n.draining();
  s.links = n.links().peers().size();
  s.own_npub = n.identity().npub();
  s.root = n.tree().state().is_root() ? "this node" : v.name(n.tree().root());
  s.depth = n.tree().state().depth();
  s.mesh_size = n.bloom().mesh_size();
  add_wanted(v, s);
  s.transport_up = any_up(n);
  for (const auto& t : v.shell.transports) {
    s.datagrams_received += t.packets_recv;
    if (t.supported && !t.trouble.empty()) s.transport_troubles.push_back(t.trouble);
  }
  for (const auto& t : n.links().transports())
    if (t.up && t.accepts && t.local.port != 0) s.udp_ports.push_back(t.local.port);
  const auto drops = drop_totals(v);
  const auto count = [&](Drop d) { return drops[static_cast<std::size_t>(d)]; };
  s.foreign_handshakes = count(Drop::bad_handshake);
  s.other_version = count(Drop::wrong_version);
  s.rate_refused = count(Drop::handshake_rate);
  for (const auto& r : n.links().refusals()) {
    const bool is_wanted = r.who && n.peering().wanted().contains(*r.who);
    if (!is_wanted && r.why != Drop::bad_handshake && v.now.unix_ms - r.unix_ms < kRefusalShown)
      s.refusals.push_back(refusal_text(v, r));
  }
  if (s.refusals.size() > kRefusalsShown)
    s.refusals.erase(s.refusals.begin(), s.refusals.end() - static_cast<std::ptrdiff_t>(kRefusalsShown));
  s.tun_wanted = v.shell.tun != TunState::disabled;
  s.tun_active = v.shell.tun == TunState::active;
  s.tun_name = v.shell.tun_name;
  s.tun_trouble = v.shell.tun_trouble;
  s.firewall_on = v.shell.firewall_on || !s.tun_wanted;
  s.firewall_by_file = v.shell.firewall_by_file;
  s.troubles = v.shell.troubles;
  for (const auto* t : {&v.shell.dns_trouble, &v.shell.firewall_trouble})
    if (!t->empty()) s.troubles.push_back(*t);
  return s;
}

Json weft_json(const View& v) {
  const Advice a = advice_of(v);
  Json refusals = Json::array();
  for (const auto& r : v.node.links().refusals()) refusals.push_back(refusal_text(v, r));
  return {{"aead", v.shell.aead},
          {"config_files", v.shell.config_files},
          {"dns", text_or_null(v.shell.dns_addr)},
          {"drops", drops_json(v)},
          {"firewall", v.shell.firewall_on},
          {"headline", a.headline},
          {"key_file", text_or_null(v.shell.key_file)},
          {"linked", a.linked},
          {"next_steps", a.next_steps},
          {"notes", a.notes},
          {"reachable", reachable_json(v)},
          {"refusals", std::move(refusals)},
          {"tun_mtu", v.shell.tun_mtu},
          {"why", a.why},
          {"workers", {{"decrypt", v.shell.decrypt_workers}, {"encrypt", v.shell.encrypt_workers}}}};
}

}  // namespace

Advice advice_of(const View& v) { return advise(situation_of(v)); }

Answer show_status(const View& v, const Params&) {
  const Node& n = v.node;
  std::size_t connections = n.links().pending_inbound().size();
  std::size_t dials = 0;
  for (const auto& [index, d] : n.links().dials())
    if (!d.is_rekey && !d.peer_was_up) ++dials;
  connections += dials;
  return Json{{"connection_count", connections},
              {"control_socket", v.shell.control_socket},
              {"effective_ipv6_mtu", inner_mtu(n)},
              {"estimated_mesh_size", or_null(n.bloom().mesh_size())},
              {"exe_path", v.shell.exe_path},
              {"forwarding", forwarding_json(totals(v))},
              {"ipv6_addr", text_of(n.identity().mesh_addr())},
              {"is_leaf_only", n.config().node.leaf_only},
              {"is_root", n.tree().state().is_root()},
              {"link_count", n.links().peers().size() + dials},
              {"node_addr", n.identity().addr().hex()},
              {"npub", n.identity().npub()},
              {"peer_count", n.links().peers().size()},
              {"persistent", v.shell.key_persistent},
              {"pid", v.shell.pid},
              {"root", n.tree().root().hex()},
              {"session_count", n.sessions().size()},
              {"sparklines", sparklines(n.history())},
              {"state", state_text(v)},
              {"transport_count", n.links().transports().size()},
              {"transport_peer_counts", transport_peer_counts(v)},
              {"tun_name", v.shell.tun_name.empty() ? "-" : v.shell.tun_name},
              {"tun_state", tun_text(v.shell.tun)},
              {"uptime_secs", v.age_ms(n.started()) / 1000},
              {"version", v.shell.version},
              {"weft", weft_json(v)}};
}

Answer show_transports(const View& v, const Params&) {
  Json rows = Json::array();
  for (const auto& t : v.shell.transports) {
    Json j = {{"mtu", t.mtu},
              {"state", t.state},
              {"stats",
               {{"bytes_recv", t.bytes_recv},
                {"bytes_sent", t.bytes_sent},
                {"kernel_drops", t.kernel_drops},
                {"mtu_exceeded", t.mtu_exceeded},
                {"packets_recv", t.packets_recv},
                {"packets_sent", t.packets_sent},
                {"recv_errors", t.recv_errors},
                {"send_errors", t.send_errors}}},
              {"transport_id", t.id.value},
              {"type", t.kind}};
    if (!t.name.empty()) j["name"] = t.name;
    if (!t.local_addr.empty()) j["local_addr"] = t.local_addr;
    const std::string note = t.supported ? t.trouble : "not supported yet";
    j["weft"] = {{"note", text_or_null(note)}, {"supported", t.supported}};
    rows.push_back(std::move(j));
  }
  return Json{{"transports", std::move(rows)}};
}

Answer show_acl(const View& v, const Params&) {
  const acl::Acl& a = v.node.acl();
  return Json{{"allow_all", a.allow_all()},
              {"allow_entries", a.allow_entries()},
              {"allow_file", v.shell.allow_file},
              {"allow_file_entries", a.allow_file_entries()},
              {"default_decision", a.default_decision()},
              {"deny_all", a.deny_all()},
              {"deny_entries", a.deny_entries()},
              {"deny_file", v.shell.deny_file},
              {"deny_file_entries", a.deny_file_entries()},
              {"effective_mode", a.effective_mode()},
              {"enforcement_active", a.enforcement_active()}};
}

Answer show_listening_sockets(const View& v, const Params&) {
  Json rows = Json::array();
  if (v.shell.listening_sockets)
    for (const auto& s : v.shell.listening_sockets(true))
      rows.push_back({{"filter", s.filter},
                      {"local_addr", s.local_addr},
                      {"pid", s.pid == 0 ? Json(nullptr) : Json(s.pid)},
                      {"port", s.port},
                      {"process", text_or_null(s.process)},
                      {"proto", s.proto},
                      {"wildcard_bind", s.wildcard_bind}});
  return Json{{"fips0_addr", text_of(v.node.identity().mesh_addr())},
              {"firewall_active", v.shell.firewall_on},
              {"sockets", std::move(rows)}};
}

}  // namespace weft::control
