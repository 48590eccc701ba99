/// What weft-resolver can be told on its command line; one place for parsing and for the manual.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace weft::resolver {

struct CommandLine {
  std::optional<std::string> config_file;
  std::string what;  // up, down or status
};
/// `into` must outlive the app.
void add_options(CLI::App& app, CommandLine& into);

}  // namespace weft::resolver
