/// `weft top`: the node as it is, once a second, on the whole terminal.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace weft::cli {

/// Adds the command; `code` becomes its exit code.
void add_top(CLI::App& app, const std::string& socket, int& code);

}  // namespace weft::cli
