#include <CLI/CLI.hpp>
#include <cstdio>

#include "resolver/command_line.h"
#include "resolver/hookup.h"
#include "resolver/real_system.h"
#include "weftd/startup.h"

namespace {

int tell(const weft::Result<std::string, std::string>& done) {
  if (done) std::printf("%s\n", done->c_str());
  else std::fprintf(stderr, "weft-resolver: %s\n", done.error().c_str());
  return done ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"", "weft-resolver"};
  weft::resolver::CommandLine line;
  weft::resolver::add_options(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const auto settings = weft::daemon::load_settings(line.config_file);
  weft::config::Config defaults;
  if (!settings && line.what != "down") return tell(weft::bad(settings.error()));
  // What was hooked up is taken back even when the file was broken meanwhile.
  const auto& config = settings ? settings->config : defaults;
  const auto to = weft::resolver::responder_of(config);
  weft::resolver::RealSystem system;
  if (line.what == "status") return tell(weft::resolver::status(system, to));
  if (line.what == "down") return tell(weft::resolver::down(system, to));
  if (!config.dns.enabled || !config.tun.enabled)
    return tell(std::string(config.dns.enabled ? "tun.enabled is false" : "dns.enabled is false") +
                ": nothing to hook up");
  return tell(weft::resolver::up(system, config.weft.names.resolver, to));
}
