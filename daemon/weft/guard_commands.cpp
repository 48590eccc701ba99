#include "weft/guard_commands.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>

#include "weft/client.h"
#include "weft/commands.h"
#include "weft/guard_pages.h"
#include "weft/name_file.h"
#include "weft/pages.h"

namespace weft::cli {
namespace {

struct Words {
  std::string port, from, span, key;
  std::string name, npub, file;
  bool list = false;
};

class Guard {
 public:
  Guard(const std::string& socket, const bool& json, int& code) : socket_(socket), json_(json), code_(code) {}

  static void add(const std::shared_ptr<Guard>& self, CLI::App& app) {
    self->add_ports(self, app);
    self->add_acl(self, app);
    self->add_names(self, app);
  }

 private:
  static Style style() {
    const char* no_colour = std::getenv("NO_COLOR");
    return {isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0')};
  }
  static std::int64_t now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }

  /// Asks and prints: JSON as it came, or `show` of it.
  void print(const std::string& command, const Json& params,
             const std::function<std::string(const Json&)>& show) {
    const auto d = ask(socket_, command, params);
    if (!d) {
      std::cerr << "weft: " << d.error() << "\n";
      code_ = kFailed;
      return;
    }
    std::cout << (json_ ? d->dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : show(*d));
    code_ = kDone;
  }
  void list() {
    print("show_firewall", nullptr, [](const Json& d) { return firewall_page(d, style(), now_ms()); });
  }
  void change(const char* command) {
    if (w_.list || w_.port.empty()) return list();
    Json params = {{"port", w_.port}};
    if (!w_.from.empty()) params["from"] = w_.from;
    if (!w_.span.empty()) params["for"] = w_.span;
    print(command, params, firewall_changed);
  }

  void add_ports(const std::shared_ptr<Guard>& self, CLI::App& app) {
    auto* allow = app.add_subcommand(
        "allow", "Open a port of this machine for mesh peers; without one, list what is open");
    allow->add_option("PORT", w_.port, "tcp/22, udp/5000-5010");
    allow->add_option("--from", w_.from, "Only for this node: npub, or a name");
    allow->add_option("--for", w_.span, "Close it again after this time: 90s, 30m, 1h, 2d");
    allow->add_flag("-l,--list", w_.list, "What is open, and by which line");
    allow->callback([self] { self->change("firewall_allow"); });
    auto* deny = app.add_subcommand("deny", "Close a port again, whoever opened it");
    deny->add_option("PORT", w_.port, "tcp/22, udp/5000-5010")->required();
    deny->add_option("--from", w_.from, "Only for this node: npub, or a name");
    deny->callback([self] { self->change("firewall_deny"); });
  }

  void add_acl(const std::shared_ptr<Guard>& self, CLI::App& app) {
    auto* acl = app.add_subcommand("acl", "Who may link with this node: the peer access lists");
    acl->require_subcommand(0, 1);
    auto* check = acl->add_subcommand("check", "Would this key be admitted, and by which line of which file");
    check->add_option("KEY", w_.key, "npub, or a name")->required();
    check->callback([self] {
      self->print("acl_check", {{"key", self->w_.key}},
                  [](const Json& d) { return verdict_page(d, style()); });
    });
    acl->callback([self, acl] {
      if (!acl->get_subcommands().empty()) return;
      self->print("show_acl", nullptr, [](const Json& d) { return Page{style(), now_ms()}.acl(d); });
    });
  }

  void add_names(const std::shared_ptr<Guard>& self, CLI::App& app) {
    auto* name =
        app.add_subcommand("name", "Names for nodes, kept in the hosts file: NAME.fips on this machine");
    name->require_subcommand(1);
    auto* set = name->add_subcommand("set", "Give a node a name, or a name another node");
    set->add_option("NAME", w_.name, "1 to 63 letters, digits and inner dashes")->required();
    set->add_option("NPUB", w_.npub, "The node's npub")->required();
    auto* remove = name->add_subcommand("remove", "Take a name out of the hosts file");
    remove->add_option("NAME", w_.name, "The name")->required();
    for (auto* c : {set, remove})
      c->add_option("-f,--file", w_.file,
                    "The hosts file; otherwise the running weftd's, else /etc/weft/hosts");
    set->callback(
        [self] { self->finish(set_name(self->socket_, self->w_.file, self->w_.name, self->w_.npub)); });
    remove->callback([self] { self->finish(remove_name(self->socket_, self->w_.file, self->w_.name)); });
    name->add_subcommand("list", "Every name and where it comes from")->callback([self] {
      self->print("show_names", nullptr, [](const Json& d) { return names_page(d, style()); });
    });
  }
  void finish(const Result<std::string, std::string>& done) {
    if (done) std::cout << *done;
    else std::cerr << "weft: " << done.error() << "\n";
    code_ = done ? kDone : kFailed;
  }

  const std::string& socket_;
  const bool& json_;
  int& code_;
  Words w_;
};

}  // namespace

void add_guard_commands(CLI::App& app, const std::string& socket, const bool& json, int& code) {
  Guard::add(std::make_shared<Guard>(socket, json, code), app);
}

}  // namespace weft::cli
