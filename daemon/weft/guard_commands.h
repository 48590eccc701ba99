/// The words allow, deny, name and acl of the command line.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace weft::cli {

/// `socket` and `json` are read when a command runs; its exit code goes to `code`.
void add_guard_commands(CLI::App& app, const std::string& socket, const bool& json, int& code);

}  // namespace weft::cli
