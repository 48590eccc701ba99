/// The composition root: builds the parts in the order in which they need each other, and undoes them in the reverse.
///
/// Errors   one sentence on standard error with the remedy; nothing is left behind.
#pragma once

#include <optional>
#include <string>

namespace weft::daemon {

struct CommandLine {
  std::optional<std::string> config_file;
  bool check = false;  // validate the configuration and end
};

/// The exit code: 0 asked to end, 1 failure. SIGTERM, SIGINT and SIGHUP must be blocked.
int run_app(const CommandLine& command_line);

}  // namespace weft::daemon
