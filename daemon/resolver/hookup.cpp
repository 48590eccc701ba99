#include "resolver/hookup.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::resolver {
namespace {

using config::ResolverHook;

constexpr std::string_view kMark = "# weft: this line and the next are taken out when weft stops";
const std::string kResolvConf = "/etc/resolv.conf";
const std::string kDnsmasqFile = "/etc/dnsmasq.d/weft.conf";
const std::string kNetworkManagerFile = "/etc/NetworkManager/dnsmasq.d/weft.conf";
constexpr std::uint16_t kDnsPort = 53;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool succeeds(System& s, const std::vector<std::string>& argv) {
  const auto ran = s.run(argv);
  return ran && ran->code == 0;
}
bool is_active(System& s, const char* unit) {
  return succeeds(s, {"systemctl", "is-active", "--quiet", unit});
}

std::string dnsmasq_text(const Responder& to) {
  return fmt::format(
      "# Names of the mesh; written by weft-resolver, taken away when weft stops.\n"
      "server=/fips/{}#{}\n"
      "rebind-domain-ok=/fips/\n",  // mesh addresses look private
      to.address, to.port);
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const auto at = text.rfind('\n');
  return at == std::string::npos ? text : text.substr(at + 1);
}

/// One way to hook up.
struct Way {
  ResolverHook hook;
  const char* name;
  /// Why it cannot be used here; empty: it can.
  std::string (*missing)(System&, const Responder&);
  Result<std::string, std::string> (*up)(System&, const Responder&);
  /// True when there was something to take back. Errors: a sentence.
  Result<bool, std::string> (*down)(System&, const Responder&);
};

// ---- systemd-resolved: settings of the link, which go with the interface -----------------------------------------------

/// Asked of the bus, since asking resolvectl may start it.
bool resolved_runs(System& s) {
  const auto ran = s.run({"busctl", "--system", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus",
                          "org.freedesktop.DBus", "NameHasOwner", "s", "org.freedesktop.resolve1"});
  return ran && ran->code == 0 && ran->output.find("true") != std::string::npos;
}

std::string resolved_missing(System& s, const Responder& to) {
  if (!resolved_runs(s)) return "systemd-resolved is not running (`systemctl enable --now systemd-resolved`)";
  if (!s.has_interface(to.interface)) return "there is no interface " + to.interface + "; is weftd running?";
  return {};
}

/// Whether programs ask it: by the stub in resolv.conf, or by its NSS module.
bool resolved_in_use(System& s) {
  const auto conf = s.read(kResolvConf).value_or("");
  if (conf.find("nameserver 127.0.0.53") != std::string::npos) return true;
  const auto nss = s.read("/etc/nsswitch.conf").value_or("");
  const auto hosts = nss.find("\nhosts:");
  return hosts != std::string::npos &&
         nss.substr(hosts, nss.find('\n', hosts + 1) - hosts).find("resolve") != std::string::npos;
}

Result<std::string, std::string> resolved_up(System& s, const Responder& to) {
  const std::string server =
      (to.address.find(':') != std::string::npos ? "[" + to.address + "]" : to.address) + ":" +
      std::to_string(to.port);
  const std::vector<std::vector<std::string>> must{{"resolvectl", "dns", to.interface, server},
                                                   {"resolvectl", "domain", to.interface, "~fips"},
                                                   {"resolvectl", "default-route", to.interface, "false"}};
  for (const auto& argv : must) {
    const auto ran = s.run(argv);
    if (ran && ran->code == 0) continue;
    s.run({"resolvectl", "revert", to.interface});
    return bad(fmt::format("`{}` failed: {}", fmt::join(argv, " "),
                           ran ? last_line(ran->output) : "there is no such program"));
  }
  // The zone is not signed, and nobody else is out there to be asked by name.
  for (const char* off : {"dnssec", "dnsovertls", "llmnr", "mdns"})
    s.run({"resolvectl", off, to.interface, "no"});
  std::string said = "systemd-resolved asks weftd for names under .fips (on " + to.interface + ")";
  if (!resolved_in_use(s))
    said +=
        "\nbut programs here do not ask systemd-resolved: `ln -sf /run/systemd/resolve/stub-resolv.conf "
        "/etc/resolv.conf`, "
        "or install libnss-resolve";
  return said;
}

Result<bool, std::string> resolved_down(System& s, const Responder& to) {
  if (!s.has_interface(to.interface)) return false;
  if (!resolved_runs(s)) return false;
  const auto domains = s.run({"resolvectl", "domain", to.interface});
  if (!domains || domains->output.find("fips") == std::string::npos) return false;
  return succeeds(s, {"resolvectl", "revert", to.interface});
}

// ---- dnsmasq, on its own or NetworkManager's: a file, and a restart ------------------------------------------------------

Result<std::string, std::string> file_up(System& s, const Responder& to, const std::string& file,
                                         const std::function<bool()>& restart, const std::string& who) {
  const auto before = s.read(file);
  if (before == dnsmasq_text(to)) return who + " asks weftd for names under .fips (" + file + ")";
  if (const auto done = s.write(file, dnsmasq_text(to)); !done) return bad(done.error());
  if (restart()) return who + " asks weftd for names under .fips (" + file + ")";
  [[maybe_unused]] const auto ignored = before ? s.write(file, *before) : s.remove(file);
  restart();
  return bad(who + " could not be restarted with " + file + ", which was taken away again; see its log");
}
Result<bool, std::string> file_down(System& s, const std::string& file, const std::function<bool()>& restart,
                                    const std::string& who) {
  if (!s.read(file)) return false;
  if (const auto done = s.remove(file); !done) return bad(done.error());
  if (!restart())
    return bad(file + " is gone, but " + who + " could not be restarted and may ask weftd still");
  return true;
}

bool restart_dnsmasq(System& s) { return succeeds(s, {"systemctl", "try-restart", "dnsmasq"}); }
std::string dnsmasq_missing(System& s, const Responder&) {
  if (!is_active(s, "dnsmasq")) return "dnsmasq is not running (`systemctl enable --now dnsmasq`)";
  if (!s.is_folder(folder_of(kDnsmasqFile)))
    return "there is no " + folder_of(kDnsmasqFile) + ", where dnsmasq reads more files";
  return {};
}
Result<std::string, std::string> dnsmasq_up(System& s, const Responder& to) {
  return file_up(
      s, to, kDnsmasqFile, [&] { return restart_dnsmasq(s); }, "dnsmasq");
}
Result<bool, std::string> dnsmasq_down(System& s, const Responder&) {
  return file_down(
      s, kDnsmasqFile, [&] { return restart_dnsmasq(s); }, "dnsmasq");
}

bool reload_networkmanager(System& s) {
  return !is_active(s, "NetworkManager") || succeeds(s, {"nmcli", "general", "reload", "dns-full"}) ||
         succeeds(s, {"systemctl", "reload", "NetworkManager"});
}
std::string networkmanager_missing(System& s, const Responder&) {
  if (!is_active(s, "NetworkManager")) return "NetworkManager is not running";
  const auto conf = s.run({"NetworkManager", "--print-config"});
  if (!conf || conf->output.find("dns=dnsmasq") == std::string::npos)
    return "NetworkManager does not use its dnsmasq (`dns=dnsmasq` under [main] in "
           "/etc/NetworkManager/conf.d)";
  return {};
}
Result<std::string, std::string> networkmanager_up(System& s, const Responder& to) {
  return file_up(
      s, to, kNetworkManagerFile, [&] { return reload_networkmanager(s); }, "NetworkManager's dnsmasq");
}
Result<bool, std::string> networkmanager_down(System& s, const Responder&) {
  return file_down(
      s, kNetworkManagerFile, [&] { return reload_networkmanager(s); }, "NetworkManager");
}

// ---- resolv.conf itself: only when asked ---------------------------------------------------------------------------------

std::string resolvconf_missing(System& s, const Responder& to) {
  if (to.port != kDnsPort)
    return fmt::format("{} knows no ports, and weftd answers on {}: set dns.port: 53", kResolvConf, to.port);
  if (s.is_link(kResolvConf))
    return kResolvConf +
           " is a link, so another program writes it; choose that program's way, or make it a file of yours";
  return {};
}
Result<std::string, std::string> resolvconf_up(System& s, const Responder& to) {
  const auto text = with_server(s.read(kResolvConf).value_or(""), to.address);
  if (const auto done = s.write(kResolvConf, text); !done) return bad(done.error());
  std::size_t servers = 0;
  for (auto at = text.find("nameserver "); at != std::string::npos; at = text.find("nameserver ", at + 1))
    ++servers;
  std::string said = kResolvConf + " names weftd first; for other names programs ask the next server";
  if (servers > 3) said += "\nbut it names more than three servers, and the C library takes no more";
  if (servers == 1) said += "\nbut it names no other server: other names are not found";
  return said;
}
Result<bool, std::string> resolvconf_down(System& s, const Responder&) {
  const auto text = s.read(kResolvConf);
  if (!text || text->find(kMark) == std::string::npos) return false;
  if (const auto done = s.write(kResolvConf, without_server(*text)); !done) return bad(done.error());
  return true;
}

constexpr Way kWays[] = {
    {ResolverHook::resolved, "resolved", resolved_missing, resolved_up, resolved_down},
    {ResolverHook::networkmanager, "networkmanager", networkmanager_missing, networkmanager_up,
     networkmanager_down},
    {ResolverHook::dnsmasq, "dnsmasq", dnsmasq_missing, dnsmasq_up, dnsmasq_down},
    {ResolverHook::resolvconf, "resolvconf", resolvconf_missing, resolvconf_up, resolvconf_down},
};

/// What is running and asked by programs, else what is running; nullptr: nothing is.
const Way* choose(System& s, const Responder& to) {
  const Way* second = nullptr;
  for (const auto& w : kWays) {
    if (w.hook == ResolverHook::resolvconf || !w.missing(s, to).empty()) continue;
    if (w.hook != ResolverHook::resolved || resolved_in_use(s)) return &w;
    second = &w;
  }
  return second;
}

/// Takes back every way but `keep`. What was taken back, and what could not be.
std::pair<std::string, std::string> take_back(System& s, const Responder& to, const Way* keep) {
  std::pair<std::string, std::string> out;
  for (const auto& w : kWays) {
    if (&w == keep) continue;
    const auto done = w.down(s, to);
    if (!done) out.second += (out.second.empty() ? "" : "\n") + done.error();
    else if (*done) out.first += (out.first.empty() ? "" : ", ") + std::string(w.name);
  }
  return out;
}

}  // namespace

Responder responder_of(const config::Config& c) {
  std::string at = c.dns.bind_addr;
  if (at == "::") at = "::1";
  if (at == "0.0.0.0") at = "127.0.0.1";
  return {c.tun.name, std::move(at), c.dns.port};
}

Result<std::string, std::string> up(System& s, ResolverHook wish, const Responder& to) {
  const Way* way = nullptr;
  if (wish == ResolverHook::automatic) way = choose(s, to);
  else
    for (const auto& w : kWays)
      if (w.hook == wish) way = &w;
  const auto [gone, trouble] = take_back(s, to, way);
  std::string said = gone.empty() ? "" : "taken back: " + gone + "\n";
  if (wish == ResolverHook::off)
    return said + "weft.names.resolver is off: programs do not find names under .fips";
  if (way == nullptr)
    return said +
           "no resolver that can send .fips to weftd is running, so programs do not find these names yet. "
           "Either install "
           "systemd-resolved, or run dnsmasq, or set weft.names.resolver: resolvconf with dns.port: 53";
  if (const auto why = way->missing(s, to); !why.empty()) return bad(fmt::format("{}: {}", way->name, why));
  auto done = way->up(s, to);
  if (!done) return bad(done.error());
  return said + *done + (trouble.empty() ? "" : "\n" + trouble);
}

Result<std::string, std::string> down(System& s, const Responder& to) {
  const auto [gone, trouble] = take_back(s, to, nullptr);
  if (!trouble.empty()) return bad(trouble);
  return gone.empty() ? std::string("nothing to take back") : "taken back: " + gone;
}

std::string status(System& s, const Responder& to) {
  std::string out;
  for (const auto& w : kWays) {
    const auto why = w.missing(s, to);
    out += fmt::format("{:<15} {}\n", w.name, why.empty() ? "can be used" : why);
  }
  const Way* way = choose(s, to);
  return out + fmt::format("{:<15} {}\n", "auto", way == nullptr ? "nothing" : way->name);
}

std::string without_server(std::string_view text) {
  std::string out;
  int skip = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto n = end == std::string_view::npos ? text.size() : end + 1;
    const auto line = text.substr(0, n);
    if (line.starts_with(kMark)) skip = 2;
    // The line after the mark is ours only while it still looks like it.
    if (skip == 0 || (skip == 1 && !line.starts_with("nameserver "))) out += line;
    skip = std::max(0, skip - 1);
    text.remove_prefix(n);
  }
  return out;
}

std::string with_server(std::string_view text, const std::string& address) {
  return std::string(kMark) + "\nnameserver " + address + "\n" + without_server(text);
}

}  // namespace weft::resolver
