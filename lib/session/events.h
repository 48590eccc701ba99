/// What sessions tell the node. In the order in which it happened.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "seam/stats.h"

namespace weft::session {

struct SessionUp {
  NodeAddr remote;
  PublicKey key;
  bool initiator = false;
  std::shared_ptr<SessionStats> stats;
};
struct SessionDown {
  enum class Reason : std::uint8_t { idle, peer_lost };
  NodeAddr remote;
  Reason reason = Reason::idle;
};
/// Proven by a handshake: `key` belongs to `remote`.
struct KeyLearned {
  NodeAddr remote;
  PublicKey key;
};
/// The session now sends under new keys from `epoch_start` on: round-trip samples across it mean nothing.
struct RekeyDone {
  NodeAddr remote;
  Instant epoch_start;
};
/// A signal says that the coordinates lead nowhere: forget them and the learnt path MTU. A WantLookup
/// follows.
struct DropCoords {
  NodeAddr remote;
};
/// New coordinates are wished for, at the pace that lookups allow themselves.
struct WantLookup {
  NodeAddr remote;
};
/// An unauthenticated MtuExceeded that passed the gate; not below 256.
struct PathMtuReport {
  NodeAddr remote;
  std::uint16_t mtu = 0;
};
/// IPv6 packets that will not be sent: their senders are owed an answer. Empty when nothing waited.
struct Unreachable {
  enum class Why : std::uint8_t { lookup_failed, handshake_timeout, waited_too_long };
  NodeAddr remote;
  Why why = Why::lookup_failed;
  std::vector<Buffer> packets;
};

using Event = std::variant<SessionUp, SessionDown, KeyLearned, RekeyDone, DropCoords, WantLookup,
                           PathMtuReport, Unreachable>;

}  // namespace weft::session
