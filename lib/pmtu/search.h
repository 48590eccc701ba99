/// What one link carries: DPLPMTUD (RFC 8899) for one peer, one direction.
///
/// Unit     bytes of a whole link frame (a UDP payload), as a link MTU is counted.
/// Rounds   one at a time: a probe of `size` that must not be fragmented, and a notice behind it. on_deadline() gives the
///          next one; on_ack() takes its answer. Late answers count for the size that they are about.
/// Finds    upwards through sizes that networks have, then by halves; settles where the next size fails three times (six
///          while answers get lost). Looks again after ten minutes.
/// Loses    while traffic flows the size in use is confirmed every two seconds. Where it fails and notices pass, the
///          search begins anew from the base, and mtu() changes once: a black hole is found within about four seconds.
/// Errors   none: an answer to no round of ours is ignored and said so.
/// Time     `now` never decreases. Thread one owner. Cost: O(1), no allocation.
/// Source   RFC 8899 sections 4.3, 5; docs/protocol.md section 10.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace weft::pmtu {

/// The largest that is ever tried: the largest UDP payload over IPv4.
constexpr std::uint16_t kMost = 65507;

enum class State : std::uint8_t {
  off,  // the far side does not answer probes: the configured size holds
  searching,
  settled,
  suspicious  // a confirmation failed; being asked again
};
std::string_view name_of(State s);

struct Round {
  std::uint32_t id = 0;
  std::uint16_t size = 0;
};

class Search {
 public:
  /// `base` holds whatever is found. Off until start().
  explicit Search(std::uint16_t base, std::uint16_t most = kMost);

  /// The far side answers. Harmless when it was known.
  void start(Instant now);
  /// The path may be another one: the size in use is confirmed first, then larger ones are tried.
  void restart(Instant now);

  std::optional<Instant> deadline() const { return due_; }
  /// The next round, when one is due. `bytes_sent`: over this link so far, to see whether there is traffic.
  std::optional<Round> on_deadline(Instant now, std::uint64_t bytes_sent);

  enum class Effect : std::uint8_t { none, raised, lowered, unknown };
  /// The notice of round `id` arrived, and so did the probe if `arrived` is its size (0: not, or not yet).
  /// unknown: no round of ours, or long ago.
  Effect on_ack(Instant now, std::uint32_t id, std::uint16_t arrived);

  /// After a black hole the size before it, until what is left is found, a second at most: who is told of every size on
  /// the way up would forget sizes that fit all the time.
  std::uint16_t mtu() const { return held_ ? held_->size : mtu_; }
  State state() const { return state_; }
  std::uint64_t rounds() const { return rounds_; }
  std::uint64_t black_holes() const { return black_holes_; }

 private:
  struct Sent {
    Round round;
    Instant at;
    bool answered = false;
  };
  struct Held {
    std::uint16_t size;
    Instant since;
  };
  static constexpr std::size_t kRemembered = 8;

  std::optional<std::uint16_t> next_size() const;
  Round send(Instant now);
  void passed(Instant now, std::uint16_t size);
  void failed(Instant now);
  void ask_for(std::uint16_t size, Instant now);
  void look_up(Instant now);
  void settle(Instant now, Duration again);
  void await_traffic(Instant now, Duration wait);
  std::optional<Round> confirm(Instant now, std::uint64_t bytes_sent);
  std::optional<Round> unanswered(Instant now);
  Duration patience() const;
  bool confirming() const { return candidate_ == mtu_; }

  std::uint16_t base_;
  std::uint16_t most_;
  std::uint16_t mtu_;  // known to pass
  std::optional<Held> held_;
  std::uint32_t too_large_;  // smallest size known to fail; most_ + 1: none
  State state_ = State::off;
  std::optional<Instant> due_;
  std::array<Sent, kRemembered> sent_{};
  std::uint32_t next_id_ = 1;
  std::optional<std::uint32_t> open_;  // the round that awaits its answer
  std::uint16_t candidate_ = 0;        // size being asked about; 0: none
  std::uint8_t refusals_ = 0;          // of the candidate: the notice came, the probe did not
  std::uint8_t silences_ = 0;          // of the candidate: no answer at all
  bool larger_next_ = false;           // look for more once the size in use is confirmed
  Duration srtt_{};                    // of answers; zero before the first
  Instant raise_at_;
  Duration traffic_wait_{};
  std::uint64_t bytes_seen_ = 0;  // when traffic was last looked at
  std::uint64_t rounds_ = 0;
  std::uint64_t black_holes_ = 0;
};

}  // namespace weft::pmtu
