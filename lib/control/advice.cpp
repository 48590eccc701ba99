#include "control/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::control {
namespace {

constexpr std::size_t kMostPeers = 8;  // named one by one

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const auto& p : parts) out += (out.empty() ? "" : std::string(between)) + p;
  return out;
}

std::string port_text(const Situation& s) {
  return s.udp_ports.empty() ? "2121" : fmt::format("{}", s.udp_ports.front());
}

std::string waiting_text(const Situation::Peer& p) {
  if (p.dialling) return "asking now";
  if (p.next_try && *p.next_try > 0s) return "next try in " + span_text(*p.next_try);
  if (p.next_try) return "next try now";
  return p.auto_connect ? "not being tried" : "dialled on request only";
}

std::string at_text(const Situation::Peer& p) {
  return p.addresses.empty() ? p.name : p.name + " (" + join(p.addresses, ", ") + ")";
}

/// One sentence about a neighbour that is not there.
std::string why_not(const Situation::Peer& p) {
  if (!p.refused.empty()) return fmt::format("{}: refused here: {}", p.name, p.refused);
  if (!p.trouble.empty()) return fmt::format("{}: {}; {}", p.name, p.trouble, waiting_text(p));
  if (p.parked)
    return fmt::format("{}: its link was ended by `weft disconnect`; `weft connect {} {}` dials it again",
                       at_text(p), p.name, p.addresses.empty() ? "ADDRESS" : p.addresses.front());
  if (!p.auto_connect) return fmt::format("{}: dialled on request only (connect_policy)", at_text(p));
  if (p.failures == 0) return fmt::format("{}: no answer yet; {}", at_text(p), waiting_text(p));
  return fmt::format("{}: no answer ({} {} in vain); {}", at_text(p), p.failures,
                     p.failures == 1 ? "attempt" : "attempts", waiting_text(p));
}

bool is_silent(const Situation::Peer& p) {
  return !p.up && p.refused.empty() && p.trouble.empty() && p.auto_connect && !p.parked;
}

/// Candidates for silence, the likeliest first; what we have seen ourselves moves them.
void explain_silence(const Situation& s, const Situation::Peer& p, std::vector<std::string>& out) {
  const std::string where = p.addresses.empty() ? "its address" : p.addresses.front();
  if (s.datagrams_received == 0)
    out.push_back("nothing at all has arrived from anybody, so suspect the way before the key");
  out.push_back(
      fmt::format("the other side is not running, or the address is wrong: on {}, `weft status` must run and "
                  "`weft transports` must "
                  "list the port of {}",
                  p.name, where));
  out.push_back(
      fmt::format("a firewall drops UDP on the way, there or here: on the other side, watch `weft drops` or "
                  "`tcpdump udp port {}` "
                  "while this node asks; if nothing arrives there, it is lost on the way there; if it "
                  "arrives and nothing comes back "
                  "here, it is lost on the way back",
                  port_text(s)));
  out.push_back(
      fmt::format("the npub does not belong to that address: then `weft drops` on the other side counts "
                  "bad_handshake; compare the "
                  "npub here with the one in its `weft status`"));
  out.push_back(
      "the other side refuses us (its access list, max_peers, or accept_connections: false): its `weft "
      "status` names us "
      "and the rule");
  out.push_back(
      "both sides are behind NAT: then neither can be dialled; forward a UDP port on one side, or link both "
      "to a third "
      "node with a public address");
}

void describe_absent(const Situation& s, Advice& a) {
  std::vector<const Situation::Peer*> absent;
  for (const auto& p : s.wanted)
    if (!p.up) absent.push_back(&p);
  // What is known for certain goes before silence.
  std::ranges::stable_partition(absent, [](const auto* p) { return !is_silent(*p); });
  for (std::size_t i = 0; i < absent.size() && i < kMostPeers; ++i) a.why.push_back(why_not(*absent[i]));
  if (absent.size() > kMostPeers)
    a.why.push_back(fmt::format("and {} more peers are not linked", absent.size() - kMostPeers));
}

void describe_rest(const Situation& s, Advice& a) {
  for (const auto& t : s.transport_troubles) a.why.push_back(t);
  for (const auto& r : s.refusals) a.why.push_back("refused here: " + r);
  if (s.foreign_handshakes > 0)
    a.why.push_back(
        fmt::format("{} handshakes arrived that are not for our key: somebody has another npub for this "
                    "address (ours is {})",
                    s.foreign_handshakes, s.own_npub));
  if (s.other_version > 0)
    a.why.push_back(fmt::format("{} frames of a protocol version other than 0 arrived", s.other_version));
  if (s.rate_refused > 0)
    a.why.push_back(fmt::format("{} handshakes were over the rate limit (node.rate_limit)", s.rate_refused));
  for (const auto& t : s.troubles) a.notes.push_back(t);
  if (!s.tun_wanted)
    a.notes.push_back("no interface (tun.enabled: false): this node only passes on what others send");
  else if (!s.tun_active)
    a.notes.push_back("the interface is not up" + (s.tun_trouble.empty() ? "" : ": " + s.tun_trouble) +
                      ": programs on this machine cannot use the mesh");
  if (!s.firewall_on)
    a.notes.push_back(
        s.firewall_by_file
            ? "the mesh-side firewall is off (weft.firewall.enabled: false): every node of the mesh reaches every open "
              "port here"
            : "the mesh-side firewall is off (the file has no `weft` section): every node of the mesh reaches every open "
              "port here; the line `weft: {}` in the file turns it on");
}

std::string headline_of(const Situation& s) {
  if (s.links > 0 && !s.draining) {
    const std::string size = s.mesh_size ? fmt::format(", about {} nodes in the mesh", *s.mesh_size) : "";
    return fmt::format("linked: {} {}, root {}, depth {}{}", s.links, s.links == 1 ? "peer" : "peers", s.root,
                       s.depth, size);
  }
  if (s.draining) return "not linked: shutting down";
  if (!s.transport_up)
    return "not linked: no transport is up" +
           (s.transport_troubles.empty() ? std::string() : " (" + s.transport_troubles.front() + ")");
  if (s.wanted.empty()) return "not linked: no peers are configured, and nobody has dialled in";
  const auto certain = std::ranges::find_if(s.wanted, [](const auto& p) { return !is_silent(p); });
  if (s.wanted.size() == 1) return "not linked: " + why_not(s.wanted.front());
  if (certain == s.wanted.end()) return fmt::format("not linked: none of {} peers answers", s.wanted.size());
  const auto n = std::ranges::count_if(s.wanted, [](const auto& p) { return !is_silent(p); });
  if (static_cast<std::size_t>(n) == s.wanted.size())
    return fmt::format("not linked: {} (and {} more)", why_not(*certain), s.wanted.size() - 1);
  return fmt::format(
      "not linked: of {} peers, {} cannot be reached for a reason known here, the others do not answer",
      s.wanted.size(), n);
}

void what_next(const Situation& s, Advice& a) {
  auto& out = a.next_steps;
  if (s.draining) return;
  if (!s.transport_up) {
    out.push_back(
        "free the port or choose another one (transports.udp.bind_addr), then restart; "
        "`ss -lunp` shows who holds it");
    return;
  }
  if (s.links > 0) return;
  if (s.wanted.empty()) {
    out.push_back("add a peer here: weft peer add NPUB HOST:PORT");
    out.push_back(
        fmt::format("or on the other side: weft peer add {} THIS_HOST:{}", s.own_npub, port_text(s)));
    return;
  }
  for (const auto& p : s.wanted)
    if (!p.refused.empty()) {
      out.push_back(fmt::format("admit {}: change the rule named above", p.name));
      break;
    }
  const auto resolve = std::ranges::find_if(
      s.wanted, [](const auto& p) { return p.trouble.find("cannot resolve") != std::string::npos; });
  if (resolve != s.wanted.end())
    out.push_back(
        "check the host name and this machine's DNS (`getent ahosts HOST`), or give an address instead");
  if (std::ranges::any_of(
          s.wanted, [](const auto& p) { return p.trouble.find("no transport is up") != std::string::npos; }))
    out.push_back(
        "add a UDP transport for that address family (transports.udp; 0.0.0.0:2121 carries IPv4 only, "
        "[::]:2121 IPv6 only)");
  const auto silent = std::ranges::find_if(s.wanted, is_silent);
  if (silent != s.wanted.end()) explain_silence(s, *silent, out);
}

}  // namespace

std::string span_text(Duration d) {
  const auto s = std::max<std::int64_t>(0, (to_ms(d) + 500) / 1000);
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  if (s < 48 * 3600) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  return fmt::format("{} d {} h", s / 86400, s % 86400 / 3600);
}

Advice advise(const Situation& s) {
  Advice a;
  a.linked = s.links > 0 && !s.draining;
  a.headline = headline_of(s);
  describe_absent(s, a);
  describe_rest(s, a);
  what_next(s, a);
  return a;
}

}  // namespace weft::control
