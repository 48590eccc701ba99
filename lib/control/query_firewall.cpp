#include "control/command.h"
#include "control/queries.h"

namespace weft::control {
namespace {

using config::ForwardProto;

std::string_view proto_text(ForwardProto p) { return p == ForwardProto::tcp ? "tcp" : "udp"; }

bool listens(const std::vector<ListeningSocket>& sockets, const config::PortRule& ports) {
  return std::ranges::any_of(sockets, [&](const ListeningSocket& s) {
    return s.proto == proto_text(ports.proto) && s.port >= ports.first && s.port <= ports.last;
  });
}

Json row_json(const View& v, const FirewallView::Row& r, const std::vector<ListeningSocket>& sockets) {
  std::string who = r.from;
  if (const auto key = crypto::parse_npub(r.from)) who = v.name(crypto::node_addr_of(*key));
  return {{"active", r.trouble.empty()},
          {"allow", r.allow},
          {"from", text_or_null(r.from)},
          {"from_addr", r.from_addr ? Json(text_of(*r.from_addr)) : Json(nullptr)},
          {"from_name", text_or_null(who)},
          {"listening", listens(sockets, r.ports)},
          {"port", config::text_of(r.ports)},
          {"source", r.source},
          {"trouble", text_or_null(r.trouble)},
          {"until_unix", or_null(r.until)}};
}

Result<firewall::Entry, std::string> entry_of(const View& v, const Params& p, std::string_view command) {
  if (!p.present()) return missing_params(command);
  const auto port = p.text("port");
  if (!port) return missing("port");
  const auto ports = config::parse_port_rule(*port);
  if (!ports) return bad("\"" + *port + "\" is not a port: tcp/22, udp/5000-5010");
  firewall::Entry e;
  e.ports = *ports;
  if (const auto from = p.text("from")) {
    const auto key = v.node.find_key(*from);
    if (!key) return bad(key.error());
    e.from = *key;
  }
  if (const auto span = p.text("for")) {
    const auto secs = firewall::parse_span(*span);
    if (!secs) return bad("\"" + *span + "\" is not a time: 90s, 30m, 1h, 2d");
    e.until = v.now.unix_ms / 1000 + *secs;
  }
  return e;
}

Answer change(const View& v, ShellActions& shell, const Params& p, bool allow) {
  auto e = entry_of(v, p, allow ? "firewall_allow" : "firewall_deny");
  if (!e) return bad(e.error());
  e->allow = allow;
  const auto done = shell.change_firewall(*e);
  if (!done) return bad(done.error());
  return Json{{"allow", allow},
              {"from", e->from ? Json(v.name(crypto::node_addr_of(*e->from))) : Json(nullptr)},
              {"on", v.shell.firewall_on},
              {"port", config::text_of(e->ports)},
              {"refusal_kept", done->refusal_kept},
              {"still", text_or_null(done->still)},
              {"taken_back", done->taken_back},
              {"until_unix", or_null(e->until)}};
}

}  // namespace

Json reachable_json(const View& v) {
  Json rows = Json::array();
  if (!v.shell.firewall || !v.shell.firewall_on) return rows;
  const auto view = v.shell.firewall();
  const auto sockets =
      v.shell.listening_sockets ? v.shell.listening_sockets(false) : std::vector<ListeningSocket>{};
  for (const auto& r : view.rows)
    if (r.allow && r.trouble.empty()) rows.push_back(row_json(v, r, sockets));
  return rows;
}

Answer show_firewall(const View& v, const Params&) {
  const auto view = v.shell.firewall ? v.shell.firewall() : FirewallView{};
  const auto sockets =
      v.shell.listening_sockets ? v.shell.listening_sockets(false) : std::vector<ListeningSocket>{};
  Json rows = Json::array();
  for (const auto& r : view.rows) rows.push_back(row_json(v, r, sockets));
  const auto counted = v.shell.firewall_packets ? v.shell.firewall_packets() : FirewallPackets{};
  Json packets = Json::object();
  for (std::size_t i = 0; i < counted.size(); ++i)
    packets[std::string(name_of(firewall::kTallies[i]))] = counted[i];
  return Json{{"forward", view.policy.forward},
              {"interface", text_or_null(view.interface)},
              {"on", v.shell.firewall_on},
              {"packets", std::move(packets)},
              {"rules", std::move(rows)},
              {"trouble", text_or_null(v.shell.firewall_trouble)}};
}

Answer firewall_allow(const View& v, ShellActions& shell, const Params& p) {
  return change(v, shell, p, true);
}
Answer firewall_deny(const View& v, ShellActions& shell, const Params& p) {
  return change(v, shell, p, false);
}

}  // namespace weft::control
