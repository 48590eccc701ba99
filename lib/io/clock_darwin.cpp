#include <ctime>

#include "io/clock.h"

namespace weft::io {

// On macOS CLOCK_MONOTONIC counts through sleep.
Instant mono_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
}

Now clock_now() {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  return {mono_now(), std::int64_t{wall.tv_sec} * 1000 + wall.tv_nsec / 1'000'000};
}

}  // namespace weft::io
