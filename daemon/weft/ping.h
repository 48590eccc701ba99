/// The system's ping, with the mesh address of whoever is meant.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace weft::cli {

struct PingOptions {
  std::string target;              // npub, name, NAME.fips, or fd00::/8 address
  unsigned count = 0;              // 0: until interrupted
  std::vector<std::string> extra;  // for ping itself
};
/// The command line that would be run.
std::vector<std::string> ping_command(const PingOptions& o, const std::string& address);
/// Asks the daemon who is meant, says so, and becomes ping. Returns only when that failed: a sentence.
std::string run_ping(const std::string& socket, const PingOptions& o);

}  // namespace weft::cli
