/// The control protocol without its socket: one JSON line in, one JSON line out.
///
/// Reply    {"data":…,"status":"ok"} or {"message":…,"status":"error"}, members in alphabetical order, no newline.
/// Input    any bytes at all: depth and size are bounded, wrong types count as missing parameters. Never throws.
/// Effects  only connect, disconnect, peer_add, peer_remove and probes change the node; what they want done is in `out`.
///          firewall_allow, firewall_deny and reload_lists are done by the shell, through `actions`.
/// Thread   the node's. Cost: O(rows); 500 peers in well under 30 ms.
/// Source   the operator sheet, section 2.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "control/shell_view.h"

namespace weft {
class Node;
class Outbox;
}  // namespace weft

namespace weft::control {

constexpr std::size_t kMaxRequest = 4096;  // bytes, the newline included

struct Context {
  Node& node;
  Now now;
  Outbox& out;
  ShellView shell;
  ShellActions* actions = nullptr;  // may be null: then what only the shell can do is refused
  /// Set when the reply is the first of several: follow() has the others.
  std::optional<std::uint64_t> followed = std::nullopt;
};

/// `line` without its newline. Longer than kMaxRequest - 1 is refused.
std::string handle_request(std::string_view line, Context& context);

/// The next line of a request that is followed, if there is something new to say.
struct Followed {
  std::optional<std::string> line;
  bool done = false;
};
/// `revision`: begins at 0, kept by the caller between calls.
Followed follow(Node& node, Now now, std::uint64_t id, std::uint64_t& revision);
/// Nobody listens any more: the work ends.
void unfollow(Node& node, Now now, std::uint64_t id);

/// For what the socket itself has to say: "read timeout", "read error: request too large", "node shutting down".
std::string error_reply(std::string_view message);

}  // namespace weft::control
