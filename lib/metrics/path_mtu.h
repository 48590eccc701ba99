/// Path MTU of a session: the destination says what its datagrams saw, the source follows.
///
/// Unit    bytes of a SessionDatagram's path; 65535 = not measured.
/// Thread  one owner each. Cost: O(1), no allocation.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "wire/limits.h"

namespace weft {

inline constexpr Duration kPathMtuNoticeInterval = 10s;

/// How far apart notices are: max(10 s, 5 SRTT). Before the first SRTT: 10 s.
Duration path_mtu_interval(std::optional<std::int64_t> srtt_us);

/// Destination side. Notices go out in every metrics mode.
class PathMtuObserver {
 public:
  /// path_mtu of a received session message's datagram.
  void observe(std::uint16_t path_mtu);

  /// The value to notify, if a notice is due; then it counts as sent.
  /// `own_sending_mtu` is the source-side value of the same session: a change below it is told at once.
  std::optional<std::uint16_t> take_notice(Instant now, std::uint16_t own_sending_mtu, Duration interval);
  /// When take_notice has something to say without a further observation: Instant{} at once, kNever before
  /// the first.
  Instant due(std::uint16_t own_sending_mtu, Duration interval) const;

  std::uint16_t observed() const { return observed_; }

 private:
  std::optional<Instant> last_notice_;
  std::uint16_t observed_ = wire::kMtuUnknown;
  bool changed_ = false;
};

/// Source side: lower at once, higher only after three equal claims over two intervals.
class PathMtuLimit {
 public:
  enum class Effect : std::uint8_t { none, lowered, raised, below_floor };

  std::uint16_t current() const { return current_; }
  /// MTU of the first hop, at each send: lowers, never raises.
  void seed(std::uint16_t first_hop_mtu);
  /// The destination is a neighbour: its link's MTU is the path's, whatever was claimed before.
  void neighbour(std::uint16_t link_mtu);
  /// A PathMtuNotification or MtuExceeded. below_floor: ignored, to be counted as Drop::mtu_below_floor.
  Effect on_claim(std::uint16_t claimed, Instant now, Duration interval);
  /// The path is gone: back to unknown.
  void reset() { *this = PathMtuLimit{}; }

 private:
  Instant first_claim_{};
  std::uint16_t current_ = wire::kMtuUnknown;
  std::uint16_t candidate_ = 0;  // 0: none
  std::uint8_t claims_ = 0;
};

}  // namespace weft
