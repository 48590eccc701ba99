#include "weft/doctor.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "weft/doctor_system.h"
#include "weft/shared.h"

namespace weft::cli {
namespace {

int doctor(const Shared& shared, DoctorOptions o) {
  o.socket = shared.socket;
  const auto checks = diagnose(examine(o));
  if (shared.json) print_json(doctor_json(checks));
  else std::cout << doctor_text(checks, style());
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
