/// Gives up what a daemon no longer needs once everything is open.
///
/// Linux     capabilities, bounding set and no_new_privs belong to threads and are inherited by the threads made
///           afterwards: call limit_privileges() while there is one thread, or in each.
/// Undo      none. What the mesh interface, its routes and the firewall need until the end (CAP_NET_ADMIN) stays.
/// Errors    a sentence; then the process goes on with what it had.
#pragma once

#include <string>
#include <vector>

#include "io/failure.h"

namespace weft::io {

struct Needs {
  bool net_admin = true;   // interface, routes, firewall
  bool net_raw = false;    // Ethernet frames
  bool low_ports = false;  // sockets for links are bound to the listening port for as long as we run
  /// Folders that must stay writable. For root this costs a capability where they belong to somebody else.
  std::vector<std::string> folders;
};

/// What is left, in words for the log: "capabilities net_admin".
Result<std::string, Failure> limit_privileges(const Needs& needs);
/// Everything, for a thread that opens nothing.
void drop_thread_privileges();

}  // namespace weft::io
