#include "config/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/endpoint.h"
#include "config/scalar.h"
#include "config/table.h"

namespace weft::config {
namespace {

struct Check {
  const Places& places;
  Complaints& out;

  void say(Severity s, const std::string& key, std::string problem, std::string found = {},
           std::string allowed = {}, std::string nearest = {}) {
    out.push_back({s, places.find(key), key, std::move(problem), std::move(found), std::move(allowed),
                   std::move(nearest)});
  }
  void error(const std::string& key, std::string problem, std::string found = {}, std::string allowed = {}) {
    say(Severity::error, key, std::move(problem), std::move(found), std::move(allowed));
  }
  void warn(const std::string& key, std::string problem, std::string found = {}, std::string allowed = {}) {
    say(Severity::warning, key, std::move(problem), std::move(found), std::move(allowed));
  }
};

/// Whether "HOST:PORT" names this machine itself. Names other than localhost are not looked up.
bool is_loopback(std::string_view text) {
  const auto hp = HostPort::parse(text);
  const std::string host = hp ? hp->host : std::string(text);
  if (host == "localhost") return true;
  if (const auto v4 = parse_ip4(host)) return (*v4)[0] == 127;
  if (const auto v6 = parse_ip6(host)) {
    std::array<std::uint8_t, 16> one{};
    one[15] = 1;
    return *v6 == one;
  }
  return false;
}

bool is_mac(std::string_view s) {
  constexpr std::size_t kMacText = 17;
  if (s.size() != kMacText) return false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool hex = (s[i] >= '0' && s[i] <= '9') || ((s[i] | 0x20) >= 'a' && (s[i] | 0x20) <= 'f');
    if (i % 3 == 2 ? s[i] != ':' : !hex) return false;
  }
  return true;
}

/// What is wrong with an address for its transport; empty when it can be tried.
std::string address_fault(const PeerAddress& a, std::string* allowed) {
  const auto kind = a.kind();
  if (kind == "udp" || kind == "tcp" || kind == "tor" || kind == "nym") {
    *allowed = "HOST:PORT or [IPv6]:PORT";
    const auto hp = HostPort::parse(a.addr);
    const auto in_host = [](char ch) {
      return (ch >= '0' && ch <= '9') || ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z') ||
             std::string_view(".-_:%").find(ch) != std::string_view::npos;
    };
    return hp && hp->port != 0 && std::ranges::all_of(hp->host, in_host) ? "" : "address does not parse";
  }
  if (kind == "ethernet" || kind == "ble") {
    *allowed = kind == "ble" ? "ADAPTER/AA:BB:CC:DD:EE:FF" : "INTERFACE/aa:bb:cc:dd:ee:ff";
    const auto slash = a.addr.find('/');
    const bool good =
        slash != std::string::npos && slash > 0 && is_mac(std::string_view(a.addr).substr(slash + 1));
    return good ? "" : "address does not parse";
  }
  *allowed = "udp, tcp, ethernet, tor, nym, ble";
  return "no such transport";
}

void check_fields(Config& c, Check& k) {
  check_ranges(fields_of(c), k.places, k.out);
  for_each_transport(c.transports, [&](std::string_view type, auto& list) {
    for (auto& i : list) check_ranges(fields_of(i.config, instance_key(type, i.name)), k.places, k.out);
  });
  if (c.gateway) check_ranges(fields_of(*c.gateway, "gateway"), k.places, k.out);
}

void check_nostr(const Config& c, Check& k) {
  constexpr std::uint64_t kSkewSecs = 60;  // each side's clock may be off by this much
  const auto& n = c.node.rendezvous.nostr;
  const auto advertises = [&](std::string_view type, const std::optional<std::string>& name) {
    if (!n.enabled)
      k.error(instance_key(type, name) + ".advertise_on_nostr",
              "nothing can be advertised while Nostr is off", "true",
              "false, or node.rendezvous.nostr.enabled: true");
  };
  bool behind_nat = false;
  for (const auto& u : c.transports.udp) {
    if (u.config.advertised()) advertises("udp", u.name);
    behind_nat = behind_nat || (u.config.advertised() && !u.config.public_);
  }
  for (const auto& t : c.transports.tcp)
    if (t.config.advertise_on_nostr) advertises("tcp", t.name);
  for (const auto& t : c.transports.tor)
    if (t.config.advertise_on_nostr) advertises("tor", t.name);
  if (n.enabled && behind_nat) {
    const std::string why = "needed to advertise a UDP instance that is not public";
    if (n.dm_relays.empty())
      k.error("node.rendezvous.nostr.dm_relays", why, "an empty list", "at least one relay");
    if (n.stun_servers.empty())
      k.error("node.rendezvous.nostr.stun_servers", why, "an empty list", "at least one server");
  }
  const auto most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t fresh =
      n.signal_ttl_secs > most - 2 * kSkewSecs ? most : n.signal_ttl_secs + 2 * kSkewSecs;
  if (fresh >= n.replay_window_secs)
    k.error("node.rendezvous.nostr.signal_ttl_secs",
            "a message would live longer than it is remembered, and could be replayed",
            fmt::format("{}", n.signal_ttl_secs),
            fmt::format("with 120 added, less than replay_window_secs ({})", n.replay_window_secs));
}

void check_metrics(const Config& c, Check& k) {
  const auto& m = c.weft.metrics;
  if (!m.listen) return;
  constexpr auto kAllowed = "127.0.0.1:9121, [::1]:9121, or the path of a Unix socket";
  const auto at = parse_metrics_listen(*m.listen);
  if (!at)
    k.error("weft.metrics.listen", "neither an address with a port nor an absolute path", shown(*m.listen), kAllowed);
  else if (at->endpoint && !at->endpoint->is_loopback() && !m.allow_remote)
    k.error("weft.metrics.listen", "others could read who this node talks to; weft.metrics.allow_remote: true allows it",
            shown(*m.listen), kAllowed);
}

void check_peers(const Config& c, Check& k) {
  std::map<std::string, std::string> aliases;
  for (const auto& p : c.peers) {
    if (!p.alias) continue;
    const auto [it, fresh] = aliases.emplace(*p.alias, p.npub);
    if (!fresh) k.warn("peers", "two peers have one alias; the name means the later", shown(*p.alias));
  }
  for (const auto& p : c.peers)
    for (const auto& a : p.addresses)
      if (const auto hp = HostPort::parse(a.addr); hp && (a.kind() == "udp" || a.kind() == "tcp"))
        if (const auto v6 = parse_ip6(hp->host); v6 && (*v6)[0] == 0xfd)
          k.warn("peers",
                 "an address in fd00::/8: is this the peer's mesh address rather than its network address?",
                 shown(a.addr));
}

void check_udp(const Config& c, Check& k) {
  bool far_peer = false;
  for (const auto& p : c.peers)
    for (const auto& a : p.addresses) far_peer = far_peer || (a.transport == "udp" && !is_loopback(a.addr));
  for (const auto& u : c.transports.udp) {
    const std::string key = instance_key("udp", u.name) + ".bind_addr";
    if (u.config.outbound_only) continue;
    if (far_peer && is_loopback(u.config.bind_addr))
      k.error(key, "peers elsewhere cannot be reached from a loopback address", shown(u.config.bind_addr),
              "0.0.0.0:2121 or [::]:2121, or outbound_only: true");
    else if (!Endpoint::parse(u.config.bind_addr))
      k.warn(key, "not an address and port; this instance will not start", shown(u.config.bind_addr),
             "0.0.0.0:2121, [::]:2121");
  }
}

void check_local(const Config& c, Check& k) {
  constexpr std::size_t kMaxInterfaceName = 15;  // IFNAMSIZ less the closing zero
  const auto& name = c.tun.name;
  const bool good =
      !name.empty() && name.size() <= kMaxInterfaceName && name != "." && name != ".." &&
      std::ranges::none_of(name, [](char ch) { return ch == '/' || ch == ':' || ch <= ' ' || ch == 0x7F; });
  if (c.tun.enabled && !good)
    k.error("tun.name", "not an interface name", shown(name), "1 to 15 letters and digits");
  if (c.dns.enabled && !parse_ip6(c.dns.bind_addr) && !parse_ip4(c.dns.bind_addr))
    k.warn("dns.bind_addr", "not an address; names will not be answered", shown(c.dns.bind_addr),
           "::1, 127.0.0.1");
  if (!level_of(c.node.log_level))
    k.say(Severity::warning, "node.log_level", "unknown level; info is used", shown(c.node.log_level),
          "trace, debug, info, warn, error",
          nearest_of(c.node.log_level, {"trace", "debug", "info", "warn", "error"}));
  if (c.node.link_dead_timeout_secs <= c.node.heartbeat_interval_secs)
    k.warn("node.link_dead_timeout_secs", "not longer than the heartbeat; silent links will be dropped",
           fmt::format("{}", c.node.link_dead_timeout_secs),
           fmt::format("more than node.heartbeat_interval_secs ({})", c.node.heartbeat_interval_secs));
}

void check_firewall(const Config& c, Check& k) {
  constexpr std::size_t kMostRules = 256;  // each is a rule in the kernel, looked at for every new connection
  std::size_t rules = 0;
  for (std::size_t i = 0; i < c.weft.firewall.allow.size(); ++i) {
    const auto& a = c.weft.firewall.allow[i];
    const std::string at = fmt::format("weft.firewall.allow[{}]", i);
    rules += std::max<std::size_t>(1, a.from.size());
    const bool missing = a.port.empty() && !k.places.written(at + ".port");  // said already, if so
    if (!parse_port_rule(a.port) && !(missing && k.places.written(at + ".from")))
      k.error(k.places.written(at + ".port") ? at + ".port" : at, "not a port", shown(a.port),
              "tcp/22, udp/5000-5010");
    if (a.from.empty() && k.places.written(at + ".from"))
      k.error(at + ".from", "an empty list would let everybody in", "[]", "at least one node, or no `from`");
    for (const auto& from : a.from) {
      const auto ip = parse_ip6(from);
      if (from.empty() || (ip && (*ip)[0] != 0xfd))
        k.error(at + ".from", "not a node", shown(from), "an npub, a name, or an address in fd00::/8");
    }
  }
  if (rules > kMostRules)
    k.error("weft.firewall.allow", "too many rules", fmt::format("{}", rules),
            fmt::format("at most {}; open a range, or leave out `from`", kMostRules));
}

void check_transports(const Config& c, Check& k) {
  for_each_transport(c.transports, [&](std::string_view type, const auto& list) {
    if (type != "udp" && !list.empty())
      k.warn(fmt::format("transports.{}", type), "not supported yet; kept, but carries no link");
  });
  if (c.transports.udp.empty()) k.warn("transports", "no udp instance; no link can be made");
}

void check_gateway(const Config& c, Check& k) {
  if (!c.gateway) return;
  std::map<std::pair<std::uint16_t, ForwardProto>, std::size_t> seen;
  for (std::size_t i = 0; i < c.gateway->port_forwards.size(); ++i) {
    const auto& f = c.gateway->port_forwards[i];
    const std::string at = fmt::format("gateway.port_forwards[{}]", i);
    if (f.listen_port == 0) k.error(at + ".listen_port", "port is missing or zero", {}, "1 to 65535");
    if (!seen.emplace(std::pair(f.listen_port, f.proto), i).second)
      k.error(at, "this port and protocol lead elsewhere already", fmt::format("{}", f.listen_port));
    const auto target = Endpoint::parse(f.target);
    if (!target || target->family != Endpoint::Family::v6)
      k.error(at + ".target", "not an IPv6 address and port", shown(f.target), "[fd00::1]:80");
  }
}

/// Whether every `udp/NAME` names an instance; of another transport no instance can be chosen.
void check_instance_names(const Config& c, Check& k, const std::string& at, const PeerAddress& a) {
  const auto want = a.instance();
  if (!want) return;
  if (a.kind() != "udp") {
    k.error(at + ".transport", "only udp takes an instance name", shown(a.transport), std::string(a.kind()));
    return;
  }
  std::vector<std::string> names;
  for (const auto& u : c.transports.udp)
    if (u.name) names.push_back(*u.name);
  if (std::ranges::find(names, *want) != names.end()) return;
  std::string allowed = "udp";
  for (const auto& n : names) allowed += ", udp/" + n;
  k.say(Severity::error, at + ".transport", "no udp instance of this name", shown(a.transport), allowed,
        nearest_of(*want, names));
}

/// True when the peer may stay.
bool check_peer(const Config& c, Check& k, Peer& p, const std::string& at, const NpubCheck& npub_ok,
                bool instances) {
  if (p.npub.empty() && !k.places.written(at + ".npub")) return false;  // complained about when it was read
  if (!npub_ok(p.npub)) {
    k.warn(at + ".npub", "not an npub; this peer is skipped", shown(p.npub), "npub1 and 58 more characters");
    return false;
  }
  if (p.addresses.empty() && !p.via_nostr) {
    k.error(at, "no way to reach this peer", "no addresses", "at least one address, or via_nostr: true");
    return true;
  }
  if (p.via_nostr && instances && !c.node.rendezvous.nostr.enabled)
    k.error(at + ".via_nostr", "no address can be asked for while Nostr is off", "true",
            "false, or node.rendezvous.nostr.enabled: true");
  std::vector<PeerAddress> usable;
  for (std::size_t i = 0; i < p.addresses.size(); ++i) {
    const std::string here = fmt::format("{}.addresses[{}]", at, i);
    if (p.addresses[i].addr.empty() && !k.places.written(here + ".addr")) continue;  // as above
    std::string allowed;
    const std::string fault = address_fault(p.addresses[i], &allowed);
    if (!fault.empty()) {
      const bool kind = fault == "no such transport";
      k.warn(here + (kind ? ".transport" : ".addr"), fault + "; this address is skipped",
             shown(kind ? p.addresses[i].transport : p.addresses[i].addr), allowed);
      continue;
    }
    if (instances) check_instance_names(c, k, here, p.addresses[i]);
    usable.push_back(p.addresses[i]);
  }
  p.addresses = std::move(usable);
  if (!p.addresses.empty() || p.via_nostr) return true;
  k.warn(at, "no usable address is left; this peer is skipped");
  return false;
}

void filter_peers(Config& c, Check& k, const NpubCheck& npub_ok, bool instances) {
  std::vector<Peer> all = std::move(c.peers);
  c.peers.clear();
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string at = fmt::format("peers[{}]", i);
    if (!check_peer(c, k, all[i], at, npub_ok, instances)) continue;
    const auto [it, fresh] = first.emplace(all[i].npub, c.peers.size());
    if (fresh) {
      c.peers.push_back(std::move(all[i]));
      continue;
    }
    k.warn(at, "this peer is listed twice; its addresses were added to the first entry", shown(all[i].npub));
    add_peers(c, std::span(&all[i], 1));
  }
}

}  // namespace

Complaints validate(Config& config, const Places& places, const NpubCheck& npub_ok) {
  Complaints out;
  Check k{places, out};
  check_fields(config, k);
  check_transports(config, k);
  filter_peers(config, k, npub_ok, true);
  check_nostr(config, k);
  check_peers(config, k);
  check_udp(config, k);
  check_local(config, k);
  check_metrics(config, k);
  check_firewall(config, k);
  check_gateway(config, k);
  return out;
}

void drop_unusable_peers(Config& config, const Places& places, const NpubCheck& npub_ok, Complaints& out) {
  Check k{places, out};
  filter_peers(config, k, npub_ok, false);
}

Complaints drop_self(Config& config, std::string_view own_npub, const Places& places) {
  Complaints out;
  Check k{places, out};
  std::erase_if(config.peers, [&](const Peer& p) {
    if (p.npub != own_npub) return false;
    k.warn("peers", "this is our own key; the entry is skipped", shown(p.npub));
    return true;
  });
  return out;
}

std::vector<std::string> differing_defaults(const Config& config, const Places& places) {
  std::vector<std::string> out;
  Config copy = config;
  for (const Field& f : fields_of(copy)) {
    if (f.reference.empty() || places.written(f.key)) continue;
    if (f.key == "node.identity.persistent" && config.node.identity.nsec) continue;  // has no effect then
    out.push_back(fmt::format("{}: {} (the reference: {})", f.key, value_of(f), f.reference));
  }
  if (!places.written("transports"))
    out.emplace_back("transports: udp on 0.0.0.0:2121 and [::]:2121 (the reference: none)");
  if (!config.weft.firewall.enabled && firewall_on(config))
    out.emplace_back("weft.firewall.enabled: true (the reference: no firewall)");
  return out;
}

namespace {

void add_rows(std::vector<KeyRow>& out, const Fields& fields) {
  for (Field f : fields) {
    f.secret = false;  // these are defaults
    const std::string value = f.required ? "required" : value_of(f);
    const bool none = value == "none" && !f.absent.empty();
    out.push_back(
        {f.key, type_of(f), none ? std::string(f.absent) : value, allowed_of(f), std::string(f.meaning)});
  }
}

}  // namespace

std::vector<KeyRow> describe() {
  std::vector<KeyRow> out;
  Config c;
  add_rows(out, fields_of(c));
  Udp udp;
  Tcp tcp;
  Tor tor;
  Ethernet ethernet;
  Ble ble;
  Nym nym;
  add_rows(out, fields_of(udp, "transports.udp"));
  add_rows(out, fields_of(tcp, "transports.tcp"));
  add_rows(out, fields_of(tor, "transports.tor"));
  add_rows(out, fields_of(ethernet, "transports.ethernet"));
  add_rows(out, fields_of(ble, "transports.ble"));
  add_rows(out, fields_of(nym, "transports.nym"));
  Peer peer;
  PeerAddress address;
  add_rows(out, fields_of(peer, "peers[]"));
  add_rows(out, fields_of(address, "peers[].addresses[]"));
  FirewallAllow allow;
  add_rows(out, fields_of(allow, "weft.firewall.allow[]"));
  GatewaySection gateway;
  PortForward forward;
  add_rows(out, fields_of(gateway, "gateway"));
  add_rows(out, fields_of(forward, "gateway.port_forwards[]"));
  return out;
}

}  // namespace weft::config
