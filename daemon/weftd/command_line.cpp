#include "weftd/command_line.h"

#include <CLI/CLI.hpp>

namespace weft::daemon {

void add_options(CLI::App& app, CommandLine& into) {
  app.description("The mesh daemon. It stays in the foreground; the service weft runs it in the background.");
  app.add_option_function<std::string>(
         "-c,--config", [&into](const std::string& file) { into.config_file = file; },
         "Load exactly this file instead of the search path")
      ->type_name("FILE");
  app.add_flag("--check", into.check, "Check the configuration, say all that is wrong with it, and exit");
  app.set_version_flag("-V,--version", std::string("weftd ") + WEFT_VERSION);
  app.footer("Exit codes: 0 asked to end, or the checked configuration is good; 1 failed; 2 used wrongly.");
}

}  // namespace weft::daemon
