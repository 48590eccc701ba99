/// What a node on the way tells the source of a datagram that it could not pass on. Plain, so anyone can
/// forge one.
///
/// The whole payload of an envelope from the reporter: prefix with flag U, type, a reserved byte, the
/// destination that failed, the reporter, then the type's own part. The length field is not compared with the
/// size. Source   docs/spec/mesh.md section 4.6; session.md section 1.1.
#pragma once

#include <variant>

#include "wire/coord.h"

namespace weft::wire {

/// 0x20: "I do not know where it is."
struct CoordsRequired {
  NodeAddr dest;
  NodeAddr reporter;
};
/// 0x21: "the place I know leads nowhere."
struct PathBroken {
  NodeAddr dest;
  NodeAddr reporter;
  Path last_known;  // may be empty; informational
};
/// 0x22: "too large for my next link."
struct MtuExceeded {
  NodeAddr dest;
  NodeAddr reporter;
  std::uint16_t mtu = 0;
};
using RouteError = std::variant<CoordsRequired, PathBroken, MtuExceeded>;

const NodeAddr& dest_of(const RouteError& e);
const NodeAddr& reporter_of(const RouteError& e);

/// Errors: too_short, wrong_version, unknown_phase, bad_flags (not a signal), unknown_signal, bad_count,
/// path_too_long.
Result<RouteError, Drop> decode_route_error(Bytes payload);
void encode_route_error(Buffer& out, const RouteError& e);

}  // namespace weft::wire
