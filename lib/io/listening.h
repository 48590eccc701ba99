/// Ports of this machine that could be reached by a mesh address: sockets bound to :: or to one given address.
///
/// Cost    O(listening sockets) for the ports; with programs, a walk over all processes that this user may look into.
/// Source  /proc; empty on systems without it.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "config/schema.h"

namespace weft::io {

struct ListeningPort {
  config::ForwardProto proto = config::ForwardProto::tcp;
  MeshAddr addr;  // all zero: every address
  std::uint16_t port = 0;
  std::uint64_t inode = 0;
  std::int64_t pid = 0;  // 0: unknown
  std::string program;   // empty: unknown

  bool any_address() const { return addr == MeshAddr{}; }
};
std::vector<ListeningPort> listening_ports(const MeshAddr& own, bool with_programs);

/// Reads the text of /proc/net/tcp6 or udp6.
std::vector<ListeningPort> parse_listening(std::string_view text, config::ForwardProto proto,
                                           const MeshAddr& own);

}  // namespace weft::io
