#include "control/command.h"
#include "control/queries.h"

namespace weft::control {
namespace {

std::string_view list_text(acl::Reason r) {
  return r == acl::Reason::allow_list ? "peers.allow" : r == acl::Reason::deny_list ? "peers.deny" : "";
}

/// What else decides whether a key that the lists admit gets in.
std::vector<std::string> other_gates(const View& v, const PublicKey& key) {
  std::vector<std::string> out;
  const auto& n = v.node;
  if (n.identity().is_me(key)) out.emplace_back("this is our own key: a link with ourselves is never made");
  const auto addr = crypto::node_addr_of(key);
  if (n.links().find(addr) != nullptr) {
    out.emplace_back("linked now; the lists are asked again when it next connects");
    return out;
  }
  const std::size_t most = n.config().node.limits.max_peers;
  if (n.links().peers().size() >= most)
    out.push_back(fmt::format("{} peers are linked, and node.limits.max_peers allows no more", most));
  if (!n.peering().wanted().contains(key) &&
      std::ranges::none_of(n.links().transports(), [](const auto& t) { return t.up && t.accepts; }))
    out.emplace_back("no transport takes links that others begin (accept_connections, outbound_only)");
  return out;
}

}  // namespace

Answer acl_check(const View& v, const Params& p) {
  if (!p.present()) return missing_params("acl_check");
  const auto who = p.text("key");
  if (!who) return missing("key");
  const auto key = v.node.find_key(*who);
  if (!key) return bad(key.error());
  const auto verdict = v.node.acl().check(*key);
  const auto list = list_text(verdict.reason);
  const std::string& file =
      verdict.reason == acl::Reason::allow_list ? v.shell.allow_file : v.shell.deny_file;
  return Json{{"admitted", verdict.allowed},
              {"display_name", v.name(crypto::node_addr_of(*key))},
              {"file", list.empty() ? Json(nullptr) : Json(file)},
              {"line", list.empty() ? Json(nullptr) : Json(verdict.line)},
              {"list", text_or_null(list)},
              {"notes", other_gates(v, *key)},
              {"npub", crypto::npub_of(*key)},
              {"text", verdict.text()},
              {"token", list.empty() ? Json(nullptr) : Json(verdict.token)}};
}

Answer show_names(const View& v, const Params&) {
  Json rows = Json::array();
  const auto& file = v.node.hosts_of_file();
  for (const auto& [name, key] : v.node.hosts().entries()) {
    const auto* in_file = file.find(name);
    rows.push_back({{"ipv6_addr", text_of(mesh_addr_of(crypto::node_addr_of(key)))},
                    {"name", name},
                    {"npub", crypto::npub_of(key)},
                    {"source", in_file != nullptr && *in_file == key ? "hosts" : "alias"}});
  }
  return Json{{"dns", text_or_null(v.shell.dns_addr)},
              {"hosts_file", v.shell.hosts_file},
              {"names", std::move(rows)}};
}

Answer reload_lists(const View& v, ShellActions& shell, const Params&) {
  const auto done = shell.reload_lists();
  if (!done) return bad(done.error());
  return Json{{"names", v.node.hosts().size()}};
}

}  // namespace weft::control
