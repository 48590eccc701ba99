#include "weft/doctor.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "weft/commands.h"
#include "weft/doctor_system.h"
#include "weft/shared.h"

namespace weft::cli {
namespace {

int doctor(const Shared& shared, DoctorOptions o) {
  o.socket = shared.socket;
  const auto checks = diagnose(examine(o));
  const char* no_colour = std::getenv("NO_COLOR");
  const Style style{isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0')};
  if (shared.json)
    std::cout << doctor_json(checks).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  else std::cout << doctor_text(checks, style);
  switch (worst(checks)) {
    case Grade::ok:
      return kDone;
    case Grade::warn:
      return kWarned;
    case Grade::fail:
      break;
  }
  return kFailed;
}

}  // namespace

void add_doctor(CLI::App& app, const Shared& shared) {
  const auto o = std::make_shared<DoctorOptions>();
  CLI::App* c = app.add_subcommand(
      "doctor",
      "Checks what goes wrong in the first ten minutes (exit 0 all well, 4 warnings, 1 something fails)");
  c->add_option("-c,--config", o->config_file,
                "The daemon's configuration file; without it, where the daemon looks");
  c->add_flag("!--no-packet", o->probe, "Send no packet to a peer");
  c->callback([shared, o] { shared.code = doctor(shared, *o); });
}

}  // namespace weft::cli
