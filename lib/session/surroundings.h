/// All that sessions ask of the node around them.
#pragma once

#include <optional>

#include "seam/outbox.h"
#include "wire/coord.h"

namespace weft::session {

/// The first link towards a destination.
struct Hop {
  LinkId link;
  WorkerId home;          // decrypt worker that receives from this link
  std::uint16_t mtu = 0;  // largest whole link frame, bytes
  bool direct = false;    // it ends at the destination: `mtu` is the path's
};

class Surroundings {
 public:
  virtual ~Surroundings() = default;

  /// Never empty: at least ourselves.
  virtual const wire::Path& own_path() = 0;
  /// Null when unknown. Valid until the next call of anything here.
  virtual const wire::Path* coords_of(const NodeAddr& remote) = 0;
  /// The next hop, after making sure that the workers know it too (SetRoute into `out`): packets injected
  /// right behind it must not come back as misses.
  virtual std::optional<Hop> hop_to(Instant now, const NodeAddr& dest, Outbox& out) = 0;
  /// Whole link frame that gets all the way, as far as is known before anything was sent; 65535: unknown.
  virtual std::uint16_t path_mtu_of(const NodeAddr&) { return 65535; }
  /// Originates a SessionDatagram; false when there is no next hop, and nothing was sent.
  virtual bool send_datagram(Instant now, const NodeAddr& dest, Buffer session_payload, Outbox& out) = 0;
};

}  // namespace weft::session
