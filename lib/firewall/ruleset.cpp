#include "firewall/ruleset.h"

#include <algorithm>

namespace weft::firewall {
namespace {

constexpr std::uint8_t kEchoRequest = 128;
constexpr std::uint8_t kErrors[] = {1, 2, 3,
                                    4};  // unreachable, packet too big, time exceeded, parameter problem

Rule opening_rule(const Opening& o, Verdict verdict, Tally tally) {
  Rule r;
  r.ports = o.ports;
  r.from = o.from;
  r.verdict = verdict;
  r.tally = tally;
  return r;
}

bool side_holds(Rule::Side s, const Packet& p) {
  switch (s) {
    case Rule::Side::any:
      return true;
    case Rule::Side::in_mesh:
      return p.from_mesh;
    case Rule::Side::in_other:
      return !p.from_mesh;
    case Rule::Side::out_mesh:
      break;
  }
  return p.to_mesh;
}

bool holds(const Rule& r, const Packet& p) {
  if (!side_holds(r.side, p) || (r.reply && !p.reply)) return false;
  if (r.icmp6 && r.icmp6 != p.icmp6) return false;
  if (r.ports && (!p.proto || !r.ports->covers({*p.proto, p.port, p.port}))) return false;
  return !r.from || *r.from == p.from;
}

}  // namespace

std::string_view name_of(Tally t) {
  switch (t) {
    case Tally::none:
      return "";
    case Tally::replies:
      return "replies";
    case Tally::pings:
      return "pings";
    case Tally::opened:
      return "opened";
    case Tally::closed:
      return "closed";
    case Tally::refused:
      return "refused";
    case Tally::forward_refused:
      break;
  }
  return "forward_refused";
}

Ruleset compile(const Policy& p) {
  Ruleset out;
  out.interface = p.interface;
  auto& in = out.input;
  in.push_back({.side = Rule::Side::in_other, .comment = "not from the mesh"});
  in.push_back({.reply = true, .tally = Tally::replies, .comment = "answers, and errors about them"});
  in.push_back({.icmp6 = kEchoRequest, .rate = Rate{}, .tally = Tally::pings, .comment = "ping"});
  for (const auto type : kErrors)
    in.push_back({.icmp6 = type, .tally = Tally::replies, .comment = "ICMPv6 error"});
  for (const auto& o : p.deny) in.push_back(opening_rule(o, Verdict::drop, Tally::closed));
  for (const auto& o : p.allow) in.push_back(opening_rule(o, Verdict::accept, Tally::opened));
  in.push_back({.verdict = Verdict::drop, .tally = Tally::refused, .comment = "everything else"});
  if (!p.forward) {
    for (const auto side : {Rule::Side::in_mesh, Rule::Side::out_mesh})
      out.forward.push_back({.side = side,
                             .verdict = Verdict::drop,
                             .tally = Tally::forward_refused,
                             .comment = "weft.firewall.forward is false"});
  }
  return out;
}

Verdict judge(const std::vector<Rule>& chain, const Packet& p) {
  const auto it = std::ranges::find_if(chain, [&](const Rule& r) { return holds(r, p); });
  return it == chain.end() ? Verdict::accept : it->verdict;
}

bool opens(const std::vector<Opening>& openings, const Opening& o) {
  return std::ranges::any_of(openings, [&](const Opening& a) {
    return a.ports.overlaps(o.ports) && (!a.from || !o.from || a.from == o.from);
  });
}

Reach reach_of(const Policy& p, config::ForwardProto proto, std::uint16_t port) {
  const auto names_port = [&](const Opening& o) { return o.ports.covers({proto, port, port}); };
  const auto closed = std::ranges::any_of(p.deny, [&](const auto& o) { return names_port(o) && !o.from; });
  if (closed) return Reach::nobody;
  const auto refused = [&](const MeshAddr& who) {
    return std::ranges::any_of(p.deny, [&](const auto& o) { return names_port(o) && o.from == who; });
  };
  Reach out = Reach::nobody;
  for (const auto& o : p.allow) {
    if (!names_port(o)) continue;
    if (!o.from) {
      const bool some_refused = std::ranges::any_of(p.deny, names_port);
      return some_refused ? Reach::some : Reach::everybody;
    }
    if (!refused(*o.from)) out = Reach::some;
  }
  return out;
}

}  // namespace weft::firewall
