/// Finds out what the doctor wants to know of this machine. Changes nothing.
#pragma once

#include <string>

#include "weft/doctor.h"

namespace weft::cli {

struct DoctorOptions {
  std::string socket;
  std::string config_file;  // empty: as the daemon would find it
  bool probe = true;        // send a full-size packet to a peer
};

/// Takes some seconds when names or peers do not answer.
DoctorFacts examine(const DoctorOptions& o);

}  // namespace weft::cli
