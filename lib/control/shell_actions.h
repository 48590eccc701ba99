/// What operators ask of the shell rather than of the node: the daemon does it, this room reads the request and tells
/// what came of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "firewall/kept.h"
#include "firewall/ruleset.h"

namespace weft::control {

/// Packets by firewall::kTallies.
using FirewallPackets = std::array<std::uint64_t, std::size(firewall::kTallies)>;

/// The mesh-side firewall as it is.
struct FirewallView {
  struct Row {
    bool allow = true;
    config::PortRule ports;
    std::string from;                   // as written: npub, name or address; empty: everybody
    std::optional<MeshAddr> from_addr;  // when it is known
    std::optional<std::int64_t> until;  // Unix seconds
    std::string source;                 // "/etc/weft/weft.yaml:12", or "weft allow", "weft deny"
    std::string trouble;                // why it counts for nothing now; empty: it counts
  };
  bool on = false;
  std::string interface;
  firewall::Policy policy;  // in force
  std::vector<Row> rows;
};

class ShellActions {
 public:
  struct Changed {
    std::size_t taken_back = 0;  // openings that were closed
    bool refusal_kept = false;   // something else opens the port, so the refusal itself was written down
    std::string still;           // what stands against the wish; empty: nothing
  };
  virtual ~ShellActions() = default;
  /// In force, and kept across restarts, when it returns. Errors: a sentence; nothing was changed.
  virtual Result<Changed, std::string> change_firewall(const firewall::Entry& e) = 0;
  /// Reads hosts, peers.allow and peers.deny again. Errors: a sentence; what was read before stays in force.
  virtual Result<void, std::string> reload_lists() = 0;
};

}  // namespace weft::control
