/// Error signals: when to send one, which one, and which received ones to believe.
///
/// Sending    at most one per failed destination and 100 ms, all kinds together, and `total_rate` a second
///            in all; never about a payload that is a signal itself, so errors breed no errors.
/// Receiving  nobody authenticates a signal: it counts only about a destination we hold a session with.
/// Time       monotonic.
/// Thread     control thread only. Cost: O(1), bounded memory.
/// Source     docs/spec/mesh.md sections 4.6, 8.
#pragma once

#include <functional>

#include "base/bucket.h"
#include "base/drop.h"
#include "base/ids.h"
#include "base/lru.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/coord.h"
#include "wire/route_error.h"

namespace weft {

struct ErrorLimits {
  Duration per_destination = 100ms;
  double total_burst = 1000;
  double total_rate = 1000;
  std::uint8_t ttl = 64;
};

/// Names as operators see them (error_signals). The first three count every signal that decodes.
struct ErrorCounters {
  std::uint64_t coords_required = 0, path_broken = 0, mtu_exceeded = 0, path_mtu_notif_below_floor = 0,
                mtu_exceeded_below_floor = 0, lookup_resp_mtu_below_floor = 0, unbound_coords = 0,
                unbound_broken = 0, unbound_mtu = 0, unbound_forged = 0;
};

class RouteErrors {
 public:
  explicit RouteErrors(const NodeAddr& own, const ErrorLimits& limits = {});

  /// The signal for a datagram (decoded, not ours) that has no next hop: a whole message for the datagram's
  /// source. `known`: what the coordinate cache holds of the destination now, if anything.
  /// Errors: signal_rate; unreportable (about a signal, from ourselves, or the source is the destination).
  Result<Buffer, Drop> no_route(const NodeAddr& source, const NodeAddr& dest, Bytes payload,
                                const Path* known, Instant now);
  /// The same for one that the next link cannot carry.
  Result<Buffer, Drop> too_big(const NodeAddr& source, const NodeAddr& dest, Bytes payload,
                               std::uint16_t link_mtu, Instant now);

  /// A signal came for us from `source`. `bound`: do we hold an established session with its subject, or are
  /// we setting one up?
  /// Errors: forged_signal, unbound_signal, mtu_below_floor, decode errors.
  using Bound = std::function<bool(const NodeAddr&)>;
  Result<wire::RouteError, Drop> on_signal(const NodeAddr& source, Bytes payload, const Bound& bound);

  void on_path_mtu_notification_below_floor() { ++counters_.path_mtu_notif_below_floor; }
  void on_lookup_mtu_below_floor() { ++counters_.lookup_resp_mtu_below_floor; }
  const ErrorCounters& counters() const { return counters_; }

 private:
  Result<void, Drop> may_send(const NodeAddr& source, const NodeAddr& dest, Bytes payload, Instant now);

  NodeAddr own_;
  ErrorLimits limits_;
  Lru<NodeAddr, Instant> recent_;
  Bucket total_;
  ErrorCounters counters_;
};

}  // namespace weft
