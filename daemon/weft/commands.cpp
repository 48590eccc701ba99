#include "weft/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <span>

#include "config/complaint.h"
#include "io/rng_os.h"
#include "weft/client.h"
#include "weft/config_reference.h"
#include "weft/keygen.h"
#include "weft/pages.h"
#include "weft/ping.h"
#include "weft/reply.h"
#include "weft/shared.h"
#include "weftd/run_dir.h"

namespace weft::cli {
namespace {

constexpr std::uint64_t kRowsAsked = 1000;  // of tables that can have tens of thousands

struct Options {
  std::string socket = daemon::control_socket_path(false);
  bool json = false;
  bool all = false;

  std::string peer, address, transport = "udp", alias;
  std::vector<std::string> addresses;
  std::string what;
  std::vector<std::string> params;
  std::string dir = "/etc/weft";
  bool force = false, to_stdout = false;
  PingOptions ping;
};

Page page() { return {style(), now_ms()}; }

int status(const Shared& shared) {
  const auto d = ask(shared.socket, "show_status");
  if (!d) return fail(d.error());
  if (shared.json) print_json(*d);
  else std::cout << page().status(*d);
  return is_linked(*d) ? kDone : kNotLinked;
}

/// Several replies in one page; as JSON, one object with a member for each.
int print_many(const Shared& shared, const std::vector<std::pair<std::string, std::string>>& commands,
               const std::function<std::string(const Json&)>& show) {
  Json all = Json::object();
  for (const auto& [name, command] : commands) {
    auto d = ask(shared.socket, command);
    if (!d) return fail(d.error());
    all[name] = std::move(*d);
  }
  if (shared.json) print_json(all);
  else std::cout << show(all);
  return kDone;
}

int show_anything(const Shared& shared, const Options& o) {
  std::string command = o.what;
  std::ranges::replace(command, '-', '_');
  if (!command.starts_with("show_")) command = "show_" + command;
  Json params = nullptr;
  for (const auto& p : o.params) {
    const auto eq = p.find('=');
    if (eq == std::string::npos) return fail("\"" + p + "\" is not KEY=VALUE", kMisuse);
    const std::string value = p.substr(eq + 1);
    const bool number =
        !value.empty() && value.size() < 18 && value.find_first_not_of("0123456789") == std::string::npos;
    params[p.substr(0, eq)] = number ? Json(std::stoull(value)) : Json(value);
  }
  return print(shared, command, params, {});
}

int make_key(const Options& o) {
  io::OsRng rng;
  if (o.to_stdout) {
    std::cout << keygen_to_stdout(rng).out;
    return kDone;
  }
  const auto made = keygen(o.dir, o.force, rng);
  if (!made) return fail(made.error());
  std::cerr << made->err;
  return kDone;
}

int reference_of_keys(const Options& o) {
  const auto keys = matching_keys(config::describe(), o.what);
  if (keys.empty()) return fail("no key is called " + o.what + "; weft config reference lists all");
  if (!o.json) {
    std::cout << config_reference(keys, page().style);
    return kDone;
  }
  Json all = Json::array();
  for (const auto& k : keys)
    all.push_back({{"key", k.key}, {"default", k.default_}, {"allowed", k.allowed}, {"meaning", k.meaning}});
  print_json(all);
  return kDone;
}

int version(const Options& o) {
  if (o.json) print_json({{"version", WEFT_VERSION}});
  else std::cout << "weft " WEFT_VERSION "\n";
  return kDone;
}

std::string npub_line(const Json& d, const std::string& rest) {
  return clean(reply::word(d, "npub")) + rest + "\n";
}

/// Everything that can be typed. `code` is set by the command that was chosen.
class Commands {
 public:
  Commands(CLI::App& app, Options& o, int& code) : app_(app), o_(o), shared_{o.socket, o.json, code} {
    app_.description("weft asks and steers weftd, the mesh daemon on this machine.");
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_version_flag("-V,--version", "weft " WEFT_VERSION);
    app_.add_option("-s,--socket", o_.socket,
                    "Control socket of the daemon, instead of the first that is found")
        ->type_name("PATH");
    app_.add_flag("--json", o_.json, "Print the daemon's answer as JSON");
    app_.footer(
        "Exit codes: 0 done, 1 failed, 2 used wrongly, 3 running but not linked (status), 4 warnings "
        "(doctor).");
    looking();
    acting();
    add_probe(app_, shared_);
    add_doctor(app_, shared_);
    add_import(app_, shared_);
    add_stats(app_, shared_);
    add_top(app_, shared_);
    add_guard_commands(app_, shared_);
  }

 private:
  CLI::App* add(CLI::App& to, const char* name, const char* help, std::function<int()> act) {
    CLI::App* c = to.add_subcommand(name, help);
    c->callback([this, act = std::move(act)] { shared_.code = act(); });
    return c;
  }
  CLI::App* group(const char* name, const char* help) {
    CLI::App* c = app_.add_subcommand(name, help);
    c->require_subcommand(1);
    return c;
  }
  void table(const char* name, const char* help, const char* command,
             std::string (Page::*show)(const Json&) const, Json params = nullptr) {
    add(app_, name, help, [this, command, show, params = std::move(params)] {
      return print(shared_, command, params, [show](const Json& d) { return (page().*show)(d); });
    });
  }

  void looking() {
    add(app_, "status", "Is this node linked; if not, why, and what to do (exit 0 linked, 3 not)",
        [this] { return status(shared_); });
    table("peers", "Linked neighbours and how good the links are", "show_peers", &Page::peers);
    add(app_, "links", "Links, their traffic and age", [this] {
      return print_many(shared_, {{"links", "show_links"}, {"connections", "show_connections"}},
                        [](const Json& d) { return page().links(d["links"], d["connections"]); });
    });
    table("tree", "Where this node is in the spanning tree", "show_tree", &Page::tree);
    table("sessions", "End-to-end sessions", "show_sessions", &Page::sessions);
    table("routes", "Next hop of every destination in use", "show_routes", &Page::routes,
          {{"limit", kRowsAsked}});
    table("cache", "Coordinates known of other nodes", "show_cache", &Page::cache, {{"limit", kRowsAsked}});
    table("bloom", "What peers say they can reach", "show_bloom", &Page::bloom);
    table("transports", "What carries links, and its traffic", "show_transports", &Page::transports);
    table("refusals", "Handshakes that were turned away here, and by which rule", "show_refusals",
          &Page::refusals);
    auto* drops = add(app_, "drops", "What was refused or dropped, by cause", [this] {
      return print(shared_, "show_drops", nullptr, [this](const Json& d) { return page().drops(d, o_.all); });
    });
    drops->add_flag("-a,--all", o_.all, "Those that never happened too");
    auto* metrics = add(app_, "metrics", "Quality of links, and counters", [this] {
      return print_many(
          shared_, {{"counters", "show_metrics"}, {"mmp", "show_mmp"}, {"dataplane", "show_dataplane"}},
          [this](const Json& d) { return page().metrics(d["counters"], d["mmp"], d["dataplane"], o_.all); });
    });
    metrics->add_flag("-a,--all", o_.all, "Counters that are 0 too");
    auto* show = add(app_, "show", "Any show_* command of the daemon, as JSON",
                     [this] { return show_anything(shared_, o_); });
    show->add_option("WHAT", o_.what, "status, peers, identity-cache, native-flows, …")->required();
    show->add_option("KEY=VALUE", o_.params, "Parameters");
    auto* peer_name = add(app_, "resolve", "Who is behind a name", [this] {
      return print(shared_, "resolve", {{"name", o_.peer}}, [](const Json& d) {
        return clean(reply::word(d, "display_name")) + "  " + clean(reply::word(d, "npub")) + "  " +
               clean(reply::word(d, "ipv6_addr")) + "\n";
      });
    });
    peer_name->add_option("NAME", o_.peer, "Name, npub, or address in fd00::/8")->required();
  }

  void acting() {
    auto* ping = add(app_, "ping", "Ping a node of the mesh by name, npub or address",
                     [this] { return fail(run_ping(o_.socket, o_.ping)); });
    ping->add_option("NODE", o_.ping.target, "Name, npub, or address in fd00::/8")->required();
    ping->add_option("-c,--count", o_.ping.count, "How often; without it, until interrupted");
    ping->add_option("OPTIONS", o_.ping.extra, "For ping itself, after --");

    auto* connect = add(app_, "connect", "Dial a peer now, once; see also peer add", [this] {
      return print(shared_, "connect",
                   {{"npub", o_.peer}, {"address", o_.address}, {"transport", o_.transport}},
                   [](const Json& d) {
                     return npub_line(d, reply::truth(reply::at(d, "refreshed"))
                                             ? ": linked already; the address is tried as another way"
                                             : ": dialling; weft status shows what comes of it");
                   });
    });
    connect->add_option("PEER", o_.peer, "npub, or a name of the hosts file or of a peer")->required();
    connect->add_option("ADDRESS", o_.address, "HOST:PORT")->required();
    connect->add_option("TRANSPORT", o_.transport, "udp, or udp/NAME")->capture_default_str();

    auto* disconnect = add(app_, "disconnect", "End the link to a peer", [this] {
      return print(shared_, "disconnect", {{"npub", o_.peer}},
                   [](const Json& d) { return npub_line(d, ": disconnected"); });
    });
    disconnect->add_option("PEER", o_.peer, "npub, or a name")->required();
    peers();

    auto* keys = add(app_, "keygen", "Make a key", [this] { return make_key(o_); });
    keys->add_option("-d,--dir", o_.dir, "Folder for weft.key and weft.pub")->capture_default_str();
    keys->add_flag("-f,--force", o_.force, "Replace a key that is there");
    keys->add_flag("-s,--stdout", o_.to_stdout, "Print secret and npub, write nothing");
    auto* reference =
        add(*group("config", "The configuration file"), "reference",
            "Every key, its default and what it means", [this] { return reference_of_keys(o_); });
    reference->add_option("KEY", o_.what, "Only this key or section, for example node.limits or mtu");
    add(app_, "version", "The version of this program", [this] { return version(o_); });
  }

  void peers() {
    CLI::App* peer = group("peer", "Neighbours that are wanted, kept across restarts");
    auto* to_add = add(*peer, "add", "Want a peer: dialled now, and again whenever it is lost", [this] {
      Json params = {{"npub", o_.peer}, {"addresses", o_.addresses}, {"transport", o_.transport}};
      if (!o_.alias.empty()) params["alias"] = o_.alias;
      return print(shared_, "peer_add", params, [](const Json& d) {
        return npub_line(d, ": added, and kept across restarts; weft status shows what comes of it");
      });
    });
    to_add->add_option("NPUB", o_.peer, "npub of the peer")->required();
    to_add->add_option("ADDRESS", o_.addresses, "HOST:PORT, one or more; none: it dials us");
    to_add->add_option("-n,--name", o_.alias, "Name for it, good as NAME.fips on this machine");
    to_add->add_option("-t,--transport", o_.transport, "udp, or udp/NAME")->capture_default_str();
    auto* remove = add(*peer, "remove", "No longer want a peer that was added", [this] {
      return print(shared_, "peer_remove", {{"npub", o_.peer}},
                   [](const Json& d) { return npub_line(d, ": removed"); });
    });
    remove->add_option("PEER", o_.peer, "npub, or a name")->required();
    add(*peer, "list", "Wanted neighbours, linked or not", [this] {
      return print(shared_, "show_wanted_peers", nullptr, [](const Json& d) { return page().wanted(d); });
    });
  }

  CLI::App& app_;
  Options& o_;
  const Shared shared_;
};

/// The first word that should be a command and is none, as a sentence; empty when every word is in its place.
std::string no_such_command(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* at = &app;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-s" || word == "--socket") ++i;
    if (word.starts_with('-')) continue;
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return {};
    std::vector<std::string> names;
    for (const CLI::App* c : commands) names.push_back(c->get_name());
    const auto known = std::find(names.begin(), names.end(), word);
    if (known == names.end()) {
      const std::string meant = config::nearest_of(word, names);
      return fmt::format("{} has no command \"{}\"{}", at->get_name(), clean(word),
                         meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
    }
    at = commands[static_cast<std::size_t>(known - names.begin())];
  }
  return {};
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app{"", "weft"};
  Options options;
  int code = kDone;
  const Commands commands(app, options, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0)
      if (const auto said = no_such_command(app, {argv, static_cast<std::size_t>(argc)}); !said.empty()) {
        fmt::print(stderr, "weft: {}\n{} --help lists them all.\n", said, app.get_name());
        return kMisuse;
      }
    return app.exit(e) == 0 ? kDone : kMisuse;
  } catch (const std::exception& e) {
    return fail(e.what());
  }
  return code;
}

void with_commands(const std::function<void(const CLI::App&)>& look) {
  CLI::App app{"", "weft"};
  Options options;
  int code = kDone;
  const Commands commands(app, options, code);
  look(app);
}

}  // namespace weft::cli
