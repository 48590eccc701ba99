#include "resolver/command_line.h"

#include <CLI/CLI.hpp>

namespace weft::resolver {

void add_options(CLI::App& app, CommandLine& into) {
  app.description("Makes programs of this machine find names under .fips, and takes that back.");
  app.add_option("-c,--config", into.config_file,
                 "Exactly this configuration file; otherwise those that weftd reads")
      ->type_name("FILE");
  app.add_option("WHAT", into.what, "What to do")->required()->check(CLI::IsMember({"up", "down", "status"}));
  app.set_version_flag("-V,--version", "weft-resolver " WEFT_VERSION);
  app.footer(
      "Which resolver: weft.names.resolver in the configuration (auto, resolved, dnsmasq, networkmanager, "
      "resolvconf, off).");
}

}  // namespace weft::resolver
