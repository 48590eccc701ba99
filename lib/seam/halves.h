/// What a worker holds of a link or a session.
///
/// Sending   `SendKey` is one object per key epoch, shared by every worker that seals with it and never copied, so a
///           counter cannot be used twice. What may change under a key (address, MTU, K bit) is a value, replaced whole.
/// Receiving a half (key and replay window) is moved to its home worker and never copied or moved again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "crypto/aead.h"
#include "crypto/replay.h"
#include "seam/stats.h"
#include "wire/coord.h"

namespace weft {

struct SendKey {
  explicit SendKey(crypto::AeadKey k) : key(std::move(k)) {}

  /// First of `n` consecutive counters that nobody else will get; nullopt once 2^64-1 would be reached.
  std::optional<std::uint64_t> reserve(std::uint64_t n) {
    const auto first = next.fetch_add(n, std::memory_order_relaxed);
    if (first < UINT64_MAX - (std::uint64_t{1} << 32)) return first;
    next.store(UINT64_MAX - (std::uint64_t{1} << 32), std::memory_order_relaxed);  // stay exhausted
    return std::nullopt;
  }

  crypto::AeadKey key;
  std::atomic<std::uint64_t> next{0};   // also: frames sealed so far
  std::atomic<std::uint64_t> bytes{0};  // sealed under this key, counted as the layer's reports count them
};
using SendKeyRef = std::shared_ptr<SendKey>;

/// How the route to a next hop was chosen; the names of the forwarding counters.
enum class HopClass : std::uint8_t { tree_up, tree_down, tree_down_cross, crosslink_descend, crosslink_ascend, direct_peer };

/// A socket that serves one link alone. The shell makes it and knows what it is; whoever holds the pointer may send, and
/// it is closed after the last one let go.
class PathSocket {
 public:
  virtual ~PathSocket() = default;
};

/// Sending state of a link: everything a worker needs to seal a frame and hand it to a socket.
struct LinkSend {
  LinkId link;
  NodeAddr peer;
  SendKeyRef key;
  SessionIndex their_index;
  bool k = false;                // key-epoch bit to send
  Instant epoch_start;           // zero of the inner timestamp
  TransportId transport;
  Endpoint to;
  std::uint16_t mtu = 0;         // largest whole link frame, bytes
  bool congested = false;        // mark transit frames CE
  bool same_kind = false;        // the peer is weft: it has the wide replay window
  WorkerId home;                 // decrypt worker that receives from this link
  std::shared_ptr<LinkStats> stats;
  std::shared_ptr<PathSocket> socket{};  // null: the listening socket serves. The core leaves it so, the shell fills it in
};

/// Receiving half of one link epoch.
struct LinkRecv {
  SessionIndex our_index;
  LinkId link;
  EpochId epoch;
  TransportId transport;         // an index is only good on the transport it was registered for
  NodeAddr peer;
  bool initiator = false;        // spin-bit role, fixed when the link came up
  crypto::AeadKey key;
  crypto::ReplayWindow window;
  std::shared_ptr<LinkStats> stats;
};

/// Sending state of a session.
struct SessionSend {
  NodeAddr remote;
  SendKeyRef key;
  bool k = false;
  Instant epoch_start;
  std::uint16_t path_mtu = 65535;  // whole link frame that fits all the way, as far as known; 65535 = unknown
  std::shared_ptr<const wire::Path> own_coords;   // for warm-up packets
  std::shared_ptr<const wire::Path> dest_coords;  // null or empty when unknown
  WorkerId home;
  std::shared_ptr<SessionStats> stats;
};

/// Receiving half of one session epoch.
struct SessionRecv {
  NodeAddr remote;
  EpochId epoch;
  bool initiator = false;
  crypto::AeadKey key;
  crypto::ReplayWindow window;
  std::shared_ptr<SessionStats> stats;
};

}  // namespace weft
