/// From what an operator allows to ordered rules, and from rules to the verdict on a packet.
///
/// Order    first rule that matches decides; behind the last one the packet passes (it is not of the mesh).
/// Source   RFC 4890 for the ICMPv6 errors that must come in.
/// Cost     compile, judge: O(openings).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "config/schema.h"

namespace weft::firewall {

struct Opening {
  config::PortRule ports;
  std::optional<MeshAddr> from;  // absent: everybody

  bool operator==(const Opening&) const = default;
};

struct Policy {
  std::string interface;
  bool forward = false;       // let other interfaces' traffic to and from the mesh pass
  std::vector<Opening> deny;  // refused although opened by `allow`
  std::vector<Opening> allow;

  bool operator==(const Policy&) const = default;
};

enum class Verdict : std::uint8_t { accept, drop };

/// Counters in the kernel, by name.
enum class Tally : std::uint8_t { none, replies, pings, opened, closed, refused, forward_refused };
std::string_view name_of(Tally t);
constexpr Tally kTallies[] = {Tally::replies, Tally::pings,   Tally::opened,
                              Tally::closed,  Tally::refused, Tally::forward_refused};

/// Most echo requests that come in; a flood beyond is dropped with everything else.
struct Rate {
  std::uint32_t per_second = 100, burst = 200;  // packets
  bool operator==(const Rate&) const = default;
};

/// All conditions that are there must hold.
struct Rule {
  enum class Side : std::uint8_t { any, in_mesh, in_other, out_mesh };
  Side side = Side::any;              // by interface name
  bool reply = false;                 // belongs to a connection that exists, or is an error about one
  std::optional<std::uint8_t> icmp6;  // type
  std::optional<Rate> rate;           // holds while under it
  std::optional<config::PortRule> ports;
  std::optional<MeshAddr> from;
  Verdict verdict = Verdict::accept;
  Tally tally = Tally::none;
  std::string comment;

  bool operator==(const Rule&) const = default;
};

struct Ruleset {
  std::string interface;
  std::vector<Rule> input;    // to this machine
  std::vector<Rule> forward;  // through it; may be empty

  bool operator==(const Ruleset&) const = default;
};
Ruleset compile(const Policy& p);

/// A packet as far as rules look at it.
struct Packet {
  bool from_mesh = true, to_mesh = false;
  bool reply = false;
  std::optional<std::uint8_t> icmp6;
  std::optional<config::ForwardProto> proto;
  std::uint16_t port = 0;  // destination
  MeshAddr from;
};
/// Rates count as not exceeded.
Verdict judge(const std::vector<Rule>& chain, const Packet& p);

/// Whether one of `openings` opens any of `o`'s ports to any of those whom it names.
bool opens(const std::vector<Opening>& openings, const Opening& o);

enum class Reach : std::uint8_t { nobody, some, everybody };
/// Who may open connections to a port of this machine.
Reach reach_of(const Policy& p, config::ForwardProto proto, std::uint16_t port);

}  // namespace weft::firewall
