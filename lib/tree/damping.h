/// When a better parent must wait: hold-down after every parent write, a longer pause for a node that flaps.
///
/// Both hold back improvements only; a change that the tree's rules force is never asked about here.
/// Time    monotonic, never decreasing between calls.
/// Thread  owner's. Cost: O(1).
/// Source  docs/spec/mesh.md section 1.7.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace weft {

struct DampingLimits {
  Duration hold_down = 30s;  // 0: none
  std::uint32_t flap_threshold = 4;
  Duration flap_window = 60s;
  Duration flap_pause = 120s;  // at most a year counts
};

class Damping {
 public:
  explicit Damping(const DampingLimits& limits = {}) : limits_(limits) {
    limits_.flap_pause = std::min<Duration>(limits_.flap_pause, 365 * 24h);
  }

  /// The declared parent was written. `changed`: it is another node than before (root to parent counts).
  /// True when exactly this change armed the pause.
  bool on_parent_written(Instant now, bool changed);
  bool suppresses(Instant now) const {
    return (paused_until_ && now < *paused_until_) || (held_until_ && now < *held_until_);
  }
  std::optional<Instant> paused_until() const { return paused_until_; }
  std::optional<Instant> held_until() const { return held_until_; }

 private:
  bool count_flap(Instant now);

  DampingLimits limits_;
  std::optional<Instant> held_until_;
  std::optional<Instant> paused_until_;
  std::optional<Instant> window_start_;
  std::uint32_t flaps_ = 0;
};

}  // namespace weft
