/// Time as logic sees it: handed in, never read.
///
/// Instant   monotonic, counts through suspend (CLOCK_BOOTTIME in the daemon). It has no now(); only lib/io makes one.
/// Now       both clocks of one turn. Wall time is for what goes on the wire or before a person's eyes, never for ages.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft {

struct MonoClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonoClock>;
  static constexpr bool is_steady = true;
};
using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<MonoClock, Duration>;

using namespace std::chrono_literals;

struct Now {
  Instant mono;
  std::int64_t unix_ms = 0;

  std::uint64_t unix_secs() const { return static_cast<std::uint64_t>(unix_ms / 1000); }
  /// The wall time of another instant, as this turn's pair of clocks tells it.
  std::int64_t unix_ms_of(Instant t) const {
    return unix_ms + std::chrono::duration_cast<std::chrono::milliseconds>(t - mono).count();
  }
};

inline std::int64_t to_ms(Duration d) { return std::chrono::duration_cast<std::chrono::milliseconds>(d).count(); }
inline std::int64_t to_us(Duration d) { return std::chrono::duration_cast<std::chrono::microseconds>(d).count(); }
/// Milliseconds since `zero`, wrapping at 2^32: the form of every timestamp on the wire. Earlier than `zero` is 0.
inline std::uint32_t wire_ms(Instant zero, Instant now) {
  return now < zero ? 0U : static_cast<std::uint32_t>(to_ms(now - zero));
}
constexpr Instant kNever = Instant::max();

}  // namespace weft
