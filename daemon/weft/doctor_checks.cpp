#include <arpa/inet.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "weft/doctor.h"
#include "weft/reply.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kClockWarn =
    30;  // seconds: announces and lookups still work, but logs and adverts mislead
constexpr std::uint32_t kClockHeard = 3;  // announces before a peer that seems to lag counts
constexpr std::int64_t kClockLag = 600;
constexpr int kUdpOverhead4 = 28, kUdpOverhead6 = 48;

using Fixes = std::vector<std::string>;
using reply::at, reply::list, reply::truth, reply::word;

class Sheet {
 public:
  void ok(const char* id, std::string text) { add(id, Grade::ok, std::move(text), {}); }
  void warn(const char* id, std::string text, Fixes fixes) {
    add(id, Grade::warn, std::move(text), std::move(fixes));
  }
  void fail(const char* id, std::string text, Fixes fixes) {
    add(id, Grade::fail, std::move(text), std::move(fixes));
  }
  std::vector<Check> take() { return std::move(checks_); }

 private:
  void add(const char* id, Grade g, std::string text, Fixes fixes) {
    checks_.push_back({id, g, clean(text), std::move(fixes)});
    for (auto& fix : checks_.back().fixes) fix = clean(fix);
  }
  std::vector<Check> checks_;
};

/// Of a fraction the whole part.
std::int64_t number(const Json& j, std::string_view key) {
  const Json& v = at(j, key);
  return v.is_number() ? v.get<std::int64_t>() : 0;
}
Fixes texts(const Json& j, std::string_view key) {
  Fixes out;
  for (const auto& s : list(j, key))
    if (s.is_string()) out.push_back(s.get<std::string>());
  return out;
}
bool runs(const DoctorFacts& f) { return f.status.is_object(); }
std::string plural(std::size_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

// ---- the daemon -----------------------------------------------------------------------------------------------------

void check_daemon(const DoctorFacts& f, Sheet& s) {
  if (runs(f)) {
    const std::string theirs = word(f.status, "version");
    if (theirs != f.version)
      return s.warn("daemon",
                    fmt::format("weftd {} runs, this is weft {}: a new version was installed and not started",
                                theirs, f.version),
                    {"sudo systemctl restart weft"});
    return s.ok("daemon", fmt::format("weftd {} runs (process {}, up {})", theirs, number(f.status, "pid"),
                                      age_text(number(f.status, "uptime_secs"))));
  }
  if (f.connect_error == EACCES || f.connect_error == EPERM) return;  // the group's line says it
  if (nobody_listens(f))
    return s.fail("daemon", fmt::format("weftd does not run (nobody listens on {})", f.socket),
                  {"sudo systemctl start weft", "or in a terminal: sudo weftd",
                   "or, if it runs with another socket: weft --socket PATH doctor"});
  s.fail("daemon", "weftd does not answer: " + f.ask_trouble,
         {"sudo systemctl restart weft", "journalctl -u weft -n 50"});
}

void check_group(const DoctorFacts& f, Sheet& s) {
  const bool refused = f.connect_error == EACCES || f.connect_error == EPERM;
  if (!refused) {
    if (runs(f) && !f.group_exists)
      return s.ok("group", "there is no group weft: only root may use the control socket");
    if (runs(f))
      s.ok("group", f.is_root ? "root may use the control socket" : f.user + " may use the control socket");
    return;
  }
  if (f.member && !f.member_in_this_login)
    return s.fail("group", fmt::format("{} is a member of the group weft, but not yet in this login", f.user),
                  {"newgrp weft", "or log out and in again"});
  s.fail("group",
         fmt::format("{} may not use {}: only root and members of the group weft may", f.user, f.socket),
         {fmt::format("sudo usermod -aG weft {}", f.user), "then log out and in again"});
}

void check_config(const DoctorFacts& f, Sheet& s) {
  if (!f.config_trouble.empty())
    return s.fail("config", f.config_trouble,
                  {runs(f) ? "sudo weftd --check, then sudo systemctl reload weft" : "sudo weftd --check"});
  std::string files;
  for (const auto& file : f.config_files) files += (files.empty() ? "" : ", ") + file;
  if (files.empty()) files = "no file, defaults";
  if (f.config_warnings.empty()) return s.ok("config", "configuration: " + files);
  for (const auto& w : f.config_warnings) s.warn("config", w, {"weftd --check shows all of them"});
}

void check_key(const DoctorFacts& f, Sheet& s) {
  if (!f.key_trouble.empty()) return s.fail("key", f.key_trouble, {"ls -l " + f.key_file});
  if (runs(f) && !truth(at(f.status, "persistent")))
    return s.warn("key",
                  "this node's key is thrown away when weftd stops; the next start is another node with "
                  "another address",
                  {"set node.identity.persistent: true (or leave it out) and restart weftd"});
  if (!f.key_exists) {
    if (runs(f)) s.ok("key", "the key is in the configuration");
    return;
  }
  if (f.key_foreign)
    return s.fail("key", f.key_file + " belongs to another user, so weftd will not take it",
                  {fmt::format("sudo chown --reference={} {}",
                               f.key_file.substr(0, f.key_file.rfind('/') + 1), f.key_file)});
  if (f.key_open)
    return s.warn("key", f.key_file + " may be read by others: whoever has it is this node",
                  {"sudo chmod 600 " + f.key_file});
  s.ok("key", f.key_file + ", readable by its owner only");
}

// ---- device and kernel ----------------------------------------------------------------------------------------------

void check_device(const DoctorFacts& f, Sheet& s) {
  if (!f.tun_wanted) return s.ok("interface", "no interface (tun.enabled: false): this node only passes on");
  if (f.ipv6_off)
    return s.fail("interface", "IPv6 is switched off on this machine",
                  {"sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0"});
  if (!f.tun_device)
    return s.fail("interface",
                  "there is no /dev/net/tun: the kernel's module is not loaded, or this container was not "
                  "given the device",
                  {"sudo modprobe tun", "in a container: --device /dev/net/tun --cap-add NET_ADMIN"});
  if (f.net_admin && !*f.net_admin && (runs(f) || f.is_root))
    return s.fail(
        "interface",
        runs(f) ? "weftd runs without CAP_NET_ADMIN" : "root here has no CAP_NET_ADMIN (a container?)",
        {"in a container: --cap-add NET_ADMIN", "as a service: AmbientCapabilities=CAP_NET_ADMIN"});
  if (f.is_root && f.tun_open_error != 0)
    return s.fail("interface",
                  fmt::format("/dev/net/tun cannot be opened: {}", std::strerror(f.tun_open_error)),
                  {"in a container: --device /dev/net/tun; the device rule must allow c 10:200 rwm"});
  if (!runs(f)) return s.ok("interface", "/dev/net/tun is there");
  if (!f.interface_exists)
    return s.fail("interface", f.tun_name + " is gone: somebody deleted it", {"sudo systemctl restart weft"});
  if (!f.interface_up)
    return s.fail("interface", f.tun_name + " is down", {"sudo ip link set " + f.tun_name + " up"});
  if (!f.interface_has_address)
    return s.fail("interface", fmt::format("{} has lost its address {}", f.tun_name, f.own_address),
                  {fmt::format("sudo ip -6 addr add {}/128 dev {}", f.own_address, f.tun_name),
                   "or sudo systemctl restart weft"});
  s.ok("interface", fmt::format("{} is up with {}", f.tun_name, f.own_address));
}

void check_route(const DoctorFacts& f, Sheet& s) {
  if (!runs(f) || !f.tun_wanted || !f.interface_up) return;
  if (f.mesh_route == f.tun_name) return s.ok("route", "fd00::/8 goes to " + f.tun_name);
  const std::string fix = fmt::format("sudo ip -6 route replace fd00::/8 dev {}", f.tun_name);
  if (f.mesh_route.empty()) return s.fail("route", "there is no route for the mesh (fd00::/8)", {fix});
  s.fail("route", fmt::format("the mesh (fd00::/8) goes to {} instead of {}", f.mesh_route, f.tun_name),
         {"ip -6 route get fd00::1; ip -6 rule; another VPN or a more exact route takes it", fix});
}

void check_mtu(const DoctorFacts& f, Sheet& s) {
  if (!runs(f)) return;
  bool said = false;
  if (f.tun_wanted && f.interface_exists && f.interface_mtu != f.tun_mtu) {
    said = true;
    s.warn("mtu", fmt::format("{} has MTU {}, weftd gave it {}", f.tun_name, f.interface_mtu, f.tun_mtu),
           {fmt::format("sudo ip link set {} mtu {}", f.tun_name, f.tun_mtu)});
  }
  for (const auto& u : f.underlay) {
    const int overhead = u.address.front() == '[' ? kUdpOverhead6 : kUdpOverhead4;
    if (u.mtu == 0 || u.over_mesh || u.mtu >= f.udp_mtu + overhead) continue;
    said = true;
    s.warn("mtu",
           fmt::format("the way to {} takes packets of {} bytes; frames of {} are sent in fragments there, "
                       "which is slow and often filtered",
                       u.peer, u.mtu, f.udp_mtu),
           {fmt::format("set transports.udp.mtu: {} and restart weftd", u.mtu - overhead)});
  }
  if (!said)
    s.ok("mtu", fmt::format("{} carries {}; frames of {} fit the ways to the peers", f.tun_name,
                            f.interface_mtu, f.udp_mtu));
}

void check_buffers(const DoctorFacts& f, Sheet& s) {
  if (f.rmem_max == 0 || f.receive_buffer == 0) return;
  const bool forced = f.net_admin.value_or(false);
  Fixes fixes;
  if (f.rmem_max < f.receive_buffer)
    fixes.push_back(fmt::format("sudo sysctl -w net.core.rmem_max={}", f.receive_buffer));
  if (f.wmem_max < f.send_buffer)
    fixes.push_back(fmt::format("sudo sysctl -w net.core.wmem_max={}", f.send_buffer));
  if (fixes.empty() || forced)
    return s.ok("buffers",
                forced && !fixes.empty()
                    ? "weftd may pass net.core.rmem_max, so its socket buffers are as large as wanted"
                    : "socket buffers as large as wanted");
  fixes.push_back("to keep it: write the same into /etc/sysctl.d/60-weft.conf");
  s.warn(
      "buffers",
      fmt::format("the kernel allows socket buffers of {} bytes, {} are wanted: packets are lost under load",
                  f.rmem_max, f.receive_buffer),
      std::move(fixes));
}

// ---- neighbours -----------------------------------------------------------------------------------------------------

void check_ports(const DoctorFacts& f, Sheet& s) {
  if (!runs(f)) {
    for (const auto& t : f.port_troubles)
      s.fail("port", t, {"sudo ss -ulpn", "or set another transports.udp.bind_addr"});
    return;
  }
  std::string open;
  std::int64_t received = 0;
  for (const auto& t : list(f.transports, "transports")) {
    const std::string note = word(at(t, "weft"), "note");
    if (word(t, "state") == "failed")
      s.fail("port", note, {"sudo ss -ulpn", "then sudo systemctl restart weft"});
    if (word(t, "state") != "up") continue;
    open += (open.empty() ? "" : ", ") + word(t, "local_addr");
    received += number(at(t, "stats"), "packets_recv");
  }
  std::size_t inbound = 0, outbound = 0;
  for (const auto& p : list(f.peers, "peers")) ++(word(p, "direction") == "inbound" ? inbound : outbound);
  if (inbound > 0)
    return s.ok("port",
                fmt::format("UDP {}: reachable, {} dialled in", open, plural(inbound, "peer", "peers")));
  const std::string nat = f.only_private_addresses ? " This machine has private addresses only, so peers "
                                                     "outside reach it only if the router passes the port on."
                                                   : "";
  if (outbound > 0)
    return s.ok("port",
                fmt::format("UDP {}: nobody has dialled in, so whether it can be reached is not known.{}",
                            open, nat));
  if (open.empty()) return;
  const std::string heard = received > 0
                                ? fmt::format("{} came in, but no link",
                                              plural(static_cast<std::size_t>(received), "packet", "packets"))
                                : "not a single packet has come in";
  s.warn("port", fmt::format("UDP {}: {}.{}", open, heard, nat),
         {"a firewall here? sudo nft list ruleset; the port must be let in for UDP",
          "behind a router: pass the UDP port on to this machine, or let this side dial a peer that is "
          "reachable"});
}

void check_links(const DoctorFacts& f, Sheet& s) {
  if (!runs(f)) return;
  const Json& w = at(f.status, "weft");
  if (truth(at(w, "linked"))) {
    s.ok("links", word(w, "headline"));
  } else {
    Fixes fixes = texts(w, "next_steps");
    s.fail("links", word(w, "headline"), std::move(fixes));
  }
  for (const auto& why : texts(w, "why")) s.warn("links", why, {"weft status", "weft peer list"});
}

void check_underlay(const DoctorFacts& f, Sheet& s) {
  bool said = false;
  for (const auto& u : f.underlay) {
    if (u.in_mesh) {
      s.fail("underlay",
             fmt::format("{} is to be dialled at {}, which is an address inside the mesh", u.peer, u.address),
             {"give its address on the network below: weft peer remove, then weft peer add NPUB HOST:PORT"});
    } else if (u.over_mesh) {
      s.fail("underlay",
             fmt::format("packets for {} at {} would go into the mesh itself, and round in circles", u.peer,
                         u.address),
             {fmt::format("ip route get {}", u.address),
              "find who made that route, and give the address a route over a real network"});
    } else if (!u.trouble.empty()) {
      s.warn("underlay", fmt::format("{} at {} cannot be sent to: {}", u.peer, u.address, u.trouble),
             {"ip route; ip addr"});
    } else {
      continue;
    }
    said = true;
  }
  if (!said && !f.underlay.empty())
    s.ok("underlay", fmt::format("links run over the network below, not over the mesh ({} looked at)",
                                 plural(f.underlay.size(), "address", "addresses")));
}

void check_acl(const DoctorFacts& f, Sheet& s) {
  if (!runs(f)) return;
  bool said = false;
  for (const auto& r : list(f.refusals, "refusals")) {
    if (word(r, "reason") != "acl_denied") continue;
    said = true;
    s.warn("acl",
           fmt::format("{} was refused: {}",
                       word(r, "display_name").empty() ? word(r, "from") : word(r, "display_name"),
                       word(r, "rule")),
           {"weft acl", "to let it in: add its npub to " + word(f.acl, "allow_file")});
  }
  if (said) return;
  s.ok("acl", truth(at(f.acl, "enforcement_active"))
                  ? "peer lists in force (" + word(f.acl, "effective_mode") + "), nobody refused lately"
                  : "everybody may link (no peer list)");
}

void check_clock(const DoctorFacts& f, Sheet& s) {
  if (!f.clock_sane)
    return s.fail("clock", "the clock stands years in the past",
                  {"sudo timedatectl set-ntp true", "or sudo date -s '2026-01-31 12:00'"});
  std::int64_t lead = INT64_MIN, least = INT64_MAX;
  std::size_t ahead = 0, heard = 0;
  for (const auto& p : list(f.tree, "peers")) {
    const Json& w = at(p, "weft");
    if (!at(w, "clock_lead_secs").is_number()) continue;
    ++heard;
    const auto d = number(w, "clock_lead_secs");
    lead = std::max(lead, d);
    if (d > kClockWarn) ++ahead;
    if (number(w, "announces") >= kClockHeard) least = std::min(least, -d);
  }
  if (ahead > 0)
    return s.warn("clock",
                  fmt::format("by {} of {} the clock here is at least {} behind", ahead,
                              plural(heard, "peer", "peers"), age_text(lead)),
                  {"timedatectl; sudo timedatectl set-ntp true",
                   "if only one peer says so, its clock is the wrong one"});
  if (least != INT64_MAX && least > kClockLag && heard > 0)
    return s.warn(
        "clock",
        fmt::format("what all peers send looks at least {} old on arrival: the clock here may be ahead",
                    age_text(least)),
        {"timedatectl; sudo timedatectl set-ntp true"});
  if (heard > 0) return s.ok("clock", fmt::format("agrees with {}", plural(heard, "peer", "peers")));
  if (f.clock_synced && !*f.clock_synced)
    return s.ok("clock", "not synchronised by the kernel's reckoning; no peer to compare with yet");
  s.ok("clock", "no peer to compare with yet");
}

// ---- names, packets, exposure ---------------------------------------------------------------------------------------

Fixes resolver_fixes(const DoctorFacts& f) {
  const char* by_hand =
      f.resolved_runs
          ? "or by hand: /etc/systemd/resolved.conf.d/weft.conf with [Resolve], DNS={}, Domains=~fips"
          : "or by hand: have the local resolver send names under .fips to {}; dnsmasq: "
            "server=/fips/::1#5354";
  return {"sudo weft-resolver up", fmt::format(fmt::runtime(by_hand), f.dns_at)};
}

void check_names(const DoctorFacts& f, Sheet& s) {
  if (!runs(f) || f.own_name.empty()) return;
  if (!f.dns_wanted) return s.ok("names", "names are not answered (dns.enabled: false)");
  if (f.direct_answer != f.own_address)
    return s.fail("names",
                  fmt::format("weftd does not answer names on {}: {}", f.dns_at,
                              f.direct_trouble.empty() ? "it said " + f.direct_answer : f.direct_trouble),
                  {"sudo ss -ulpn 'sport = :5354'", "journalctl -u weft | grep dns"});
  if (f.system_answer == f.own_address)
    return s.ok("names", "*.fips is answered, and this machine's programs get the answers");
  s.warn("names",
         fmt::format("weftd answers names, but this machine's resolver does not ask it ({})",
                     f.system_trouble.empty() ? "it said " + f.system_answer : f.system_trouble),
         resolver_fixes(f));
}

void check_packet(const DoctorFacts& f, Sheet& s) {
  if (!f.probe.is_object()) return;
  const std::string who = word(at(f.probe, "target"), "display_name");
  const Json& w = at(f.probe, "weft");
  for (const auto& stage : list(w, "stages"))
    if (word(stage, "verdict") == "failed") {
      const bool there = word(stage, "stage") == "full_size" || word(stage, "stage") == "ping";
      const std::string what = fmt::format("{}: {}", who, word(stage, "text"));
      return there ? s.warn("packet", what, texts(stage, "remedies"))
                   : s.fail("packet", what, texts(stage, "remedies"));
    }
  s.ok("packet",
       fmt::format("{}: {} bytes in one packet went there and back in {}", who, number(w, "largest_passed"),
                   ms_text(static_cast<double>(number(w, "rtt_us")) / 1000)));
}

void check_firewall(const DoctorFacts& f, Sheet& s) {
  if (!runs(f) || !f.tun_wanted) return;
  if (const auto broken = word(f.firewall, "trouble"); !broken.empty())
    return s.fail("firewall", broken,
                  {"sudo nft list table inet weft", "journalctl -u weft | grep firewall"});
  const Json& sockets = list(f.listening, "sockets");
  std::string open;
  std::size_t n = 0;
  for (const auto& x : sockets) {
    if (word(x, "filter") == "drop") continue;
    if (++n <= 5)
      open += fmt::format("{}{}/{}", open.empty() ? "" : ", ", word(x, "proto"), number(x, "port"));
  }
  if (n > 5) open += fmt::format(" and {} more", n - 5);
  if (truth(at(f.listening, "firewall_active")))
    return s.ok("firewall", n == 0 ? "on; nothing of this machine can be reached from the mesh"
                                   : "on; open to the mesh: " + open);
  if (n == 0) return s.ok("firewall", "off; nothing listens where the mesh could reach it");
  s.warn("firewall", "off; whoever is in the mesh can reach " + open,
         {"put `weft: { firewall: { enabled: true } }` into the configuration and restart weftd",
          "see what it is: sudo ss -tulpn"});
}

}  // namespace

bool nobody_listens(const DoctorFacts& f) {
  return f.connect_error == ENOENT || f.connect_error == ENOTDIR || f.connect_error == ECONNREFUSED;
}

std::vector<Check> diagnose(const DoctorFacts& f) {
  Sheet s;
  check_daemon(f, s);
  check_group(f, s);
  check_config(f, s);
  check_key(f, s);
  check_device(f, s);
  check_route(f, s);
  check_mtu(f, s);
  check_buffers(f, s);
  check_ports(f, s);
  check_links(f, s);
  check_underlay(f, s);
  check_acl(f, s);
  check_clock(f, s);
  check_names(f, s);
  check_packet(f, s);
  check_firewall(f, s);
  return s.take();
}

Grade worst(const std::vector<Check>& checks) {
  Grade g = Grade::ok;
  for (const auto& c : checks) g = std::max(g, c.grade);
  return g;
}

std::string doctor_text(const std::vector<Check>& checks, const Style& style) {
  constexpr const char* kWords[] = {"ok", "warn", "FAIL"};
  constexpr Colour kColours[] = {Colour::good, Colour::warn, Colour::bad};
  std::string out;
  for (const auto& c : checks) {
    const auto g = static_cast<std::size_t>(c.grade);
    std::string body = c.text;
    for (std::size_t at = 0; (at = body.find('\n', at)) != std::string::npos; at += 17)
      body.replace(at, 1, "\n                ");
    out +=
        fmt::format("{}  {:<10}{}\n", style.paint(kColours[g], fmt::format("{:<4}", kWords[g])), c.id, body);
    for (const auto& fix : c.fixes) out += fmt::format("                -> {}\n", fix);
  }
  return out;
}

Json doctor_json(const std::vector<Check>& checks) {
  constexpr const char* kWords[] = {"ok", "warn", "fail"};
  Json list = Json::array();
  for (const auto& c : checks)
    list.push_back({{"check", c.id},
                    {"fixes", c.fixes},
                    {"grade", kWords[static_cast<std::size_t>(c.grade)]},
                    {"text", c.text}});
  return {{"checks", std::move(list)}, {"grade", kWords[static_cast<std::size_t>(worst(checks))]}};
}

}  // namespace weft::cli
