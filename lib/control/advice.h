/// Is this node linked, if not why, and what to do next: sentences from facts.
///
/// Certain things come first (cannot bind, cannot resolve, refused here and by which rule, no transport for the family);
/// for silence, the candidate causes follow in order of likelihood, each with how to tell it from the others. The far
/// side knows what this one cannot: whoever refuses names the cause in its own `weft status`.
///
/// Pure. Cost: O(peers).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace weft::control {

struct Situation {
  struct Peer {  // a neighbour that is wanted
    std::string name;
    std::vector<std::string> addresses;  // as written
    bool up = false;
    bool auto_connect = true;
    bool dialling = false;
    bool parked = false;  // `disconnect` ended its link, and nothing dials it until somebody asks
    std::uint32_t failures = 0;
    std::optional<Duration> next_try;
    std::string trouble;  // known for certain; empty: only silence
    std::string refused;  // by us, and by which rule; empty: not
  };
  bool draining = false;
  std::size_t links = 0;
  std::string own_npub;
  std::string root;  // name of the tree's root; "this node" when it is us
  std::size_t depth = 0;
  std::optional<std::uint64_t> mesh_size;
  std::vector<Peer> wanted;

  bool transport_up = false;
  std::vector<std::string> transport_troubles;
  std::vector<std::uint16_t> udp_ports;  // that we listen on
  std::uint64_t datagrams_received = 0;  // by all transports since the start
  std::uint64_t foreign_handshakes = 0;  // that did not open under our key
  std::uint64_t other_version = 0;       // frames of a version that we do not speak
  std::uint64_t rate_refused = 0;        // handshakes over the limit
  std::vector<std::string> refusals;     // of strangers, newest last, as sentences

  bool tun_wanted = true;
  bool tun_active = true;
  std::string tun_name, tun_trouble;
  bool firewall_on = true;
  bool firewall_by_file = false;  // off because the file says so
  std::vector<std::string> troubles;  // other things that the shell knows
};

struct Advice {
  bool linked = false;
  std::string headline;                 // "linked: …" or "not linked: …"
  std::vector<std::string> why;         // facts about links that are missing, most useful first
  std::vector<std::string> next_steps;  // what to try, most likely first
  std::vector<std::string> notes;       // what else should be known
};

Advice advise(const Situation& s);
/// "3 s", "4 min", "2 h 5 min".
std::string span_text(Duration d);

}  // namespace weft::control
