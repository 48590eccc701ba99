#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "weft/guard_pages.h"
#include "weft/name_file.h"
#include "weft/pages.h"
#include "weft/shared.h"

namespace weft::cli {
namespace {

struct Options {
  std::string port, from, span, key;
  std::string name, npub, file;
  bool list = false;
};
using Words = std::shared_ptr<Options>;

int list(const Shared& shared) {
  return print(shared, "show_firewall", nullptr,
               [](const Json& d) { return firewall_page(d, style(), now_ms()); });
}

int change(const Shared& shared, const Options& o, const char* command) {
  if (o.list || o.port.empty()) return list(shared);
  Json params = {{"port", o.port}};
  if (!o.from.empty()) params["from"] = o.from;
  if (!o.span.empty()) params["for"] = o.span;
  return print(shared, command, params, [](const Json& d) { return firewall_changed(d, now_ms()); });
}

int finish(const Result<std::string, std::string>& done) {
  if (!done) return fail(done.error());
  std::cout << *done;
  return kDone;
}

void add_ports(CLI::App& app, const Shared& shared, const Words& w) {
  auto* allow = app.add_subcommand(
      "allow", "Open a port of this machine for mesh peers; without one, list what is open");
  allow->add_option("PORT", w->port, "tcp/22, udp/5000-5010");
  allow->add_option("--from", w->from, "Only for this node: npub, or a name");
  allow->add_option("--for", w->span, "Close it again after this time: 90s, 30m, 1h, 2d");
  allow->add_flag("-l,--list", w->list, "What is open, and by which line");
  allow->callback([shared, w] { shared.code = change(shared, *w, "firewall_allow"); });
  auto* deny = app.add_subcommand("deny", "Close a port again, whoever opened it");
  deny->add_option("PORT", w->port, "tcp/22, udp/5000-5010")->required();
  deny->add_option("--from", w->from, "Only for this node: npub, or a name");
  deny->callback([shared, w] { shared.code = change(shared, *w, "firewall_deny"); });
}

void add_acl(CLI::App& app, const Shared& shared, const Words& w) {
  auto* acl = app.add_subcommand("acl", "Who may link with this node: the peer access lists");
  acl->require_subcommand(0, 1);
  auto* check = acl->add_subcommand("check", "Would this key be admitted, and by which line of which file");
  check->add_option("KEY", w->key, "npub, or a name")->required();
  check->callback([shared, w] {
    shared.code =
        print(shared, "acl_check", {{"key", w->key}}, [](const Json& d) { return verdict_page(d, style()); });
  });
  acl->callback([shared, acl] {
    if (!acl->get_subcommands().empty()) return;
    shared.code = print(shared, "show_acl", nullptr, [](const Json& d) {
      return Page{style(), now_ms()}.acl(d);
    });
  });
}

void add_names(CLI::App& app, const Shared& shared, const Words& w) {
  auto* name =
      app.add_subcommand("name", "Names for nodes, kept in the hosts file: NAME.fips on this machine");
  name->require_subcommand(1);
  auto* set = name->add_subcommand("set", "Give a node a name, or a name another node");
  set->add_option("NAME", w->name, "1 to 63 letters, digits and inner dashes")->required();
  set->add_option("NPUB", w->npub, "The node's npub")->required();
  auto* remove = name->add_subcommand("remove", "Take a name out of the hosts file");
  remove->add_option("NAME", w->name, "The name")->required();
  for (auto* c : {set, remove})
    c->add_option("-f,--file", w->file,
                  "The hosts file; otherwise the running weftd's, else /etc/weft/hosts");
  set->callback([shared, w] { shared.code = finish(set_name(shared.socket, w->file, w->name, w->npub)); });
  remove->callback([shared, w] { shared.code = finish(remove_name(shared.socket, w->file, w->name)); });
  name->add_subcommand("list", "Every name and where it comes from")->callback([shared] {
    shared.code = print(shared, "show_names", nullptr, [](const Json& d) { return names_page(d, style()); });
  });
}

}  // namespace

void add_guard_commands(CLI::App& app, const Shared& shared) {
  const auto words = std::make_shared<Options>();
  add_ports(app, shared, words);
  add_acl(app, shared, words);
  add_names(app, shared, words);
}

}  // namespace weft::cli
