/// What an operator may set about sessions, and the bounds that nobody needs to set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::session {

struct Settings {
  Duration handshake_timeout = 30s;  // also: how long a finished handshake's last message is kept for repairs
  Duration resend_interval = 1s;
  double resend_backoff = 2.0;
  unsigned max_resends = 5;
  Duration idle_timeout = 90s;  // zero: never
  std::uint32_t coords_warmup_packets = 5;

  /// False: none by age or count. A peer's is still answered, a dead epoch still replaced.
  bool rekey = true;
  Duration rekey_after = 120s;
  std::uint64_t rekey_after_messages = 65536;

  double stranger_burst = 64;  // setups per link peer, from addresses without a session
  double stranger_rate = 16;   // per second
  double known_burst = 128;    // setups per link peer, from addresses with one
  double known_rate = 6.4;

  std::size_t pending_per_dest = 16;
  std::size_t pending_dests = 256;
};

constexpr Duration kPendingAge = 30s;  // a packet that waited longer is of no use to its sender

constexpr Duration kRekeyJitter = 15s;        // uniform in -15..+15 s, drawn per epoch
constexpr Duration kRekeyMinAge = 30s;        // no rekey by message count before this
constexpr Duration kRekeyRetry = 5s;          // a rekey that found no next hop
constexpr Duration kRekeyDampening = 30s;     // after a peer's setup, or a failed rekey of ours
constexpr Duration kDampeningOverride = 60s;  // forged setups can hold a rekey up no longer than this
constexpr Duration kDrain = 10s;              // previous epoch still opens this long after its last frame
constexpr Duration kReview = 2s;              // how often counters that workers write are looked at
constexpr Duration kSilence = 6s;      // sending and hearing nothing for this long: agree on new keys, since
                                       // the peer may have lost its; doubles each time, up to
constexpr Duration kMaxSilence = 60s;  // this: some peers send no reports, and need not be asked for ever
constexpr Duration kWarmupPace = 2s;   // standalone CoordsWarmup per destination, on request of signals
/// From the third message to the first data: the peer's core works it out beside its packet path, which would
/// drop what overtakes it.
constexpr Duration kSettle = 20ms;
/// The same for the frame that proves a rekey, which nobody waits for.
constexpr Duration kProbeDelay = 200ms;
constexpr Duration kMsg3Pace = 250ms;  // repeated third messages per session, on repeated answers

constexpr std::uint16_t kMtuFloor = 256;  // no path is believed to be narrower

constexpr std::size_t kMaxAnswers = 4;      // unfinished handshakes that one address may have open with us
constexpr std::size_t kMaxHalfOpen = 1024;  // of strangers, together
constexpr std::size_t kMaxHalfOpenPerVia = 256;  // of strangers, by link peer; the oldest makes room
/// Session answers read: each costs a curve operation, and a forger is not known by its link.
constexpr double kAckBurst = 256;
constexpr double kAckRate = 1000;  // per second
constexpr std::size_t kMaxSessions = 16384;
constexpr std::size_t kMaxLinkPeers = 1024;  // whose setup buckets are remembered

}  // namespace weft::session
