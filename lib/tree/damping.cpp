#include "tree/damping.h"

namespace weft {

bool Damping::on_parent_written(Instant now, bool changed) {
  if (limits_.hold_down > Duration{}) held_until_ = now + limits_.hold_down;
  return changed && count_flap(now);
}

bool Damping::count_flap(Instant now) {
  if (paused_until_ && now >= *paused_until_) {
    paused_until_.reset();
    window_start_.reset();
  }
  if (!window_start_ || now - *window_start_ >= limits_.flap_window) {
    window_start_ = now;
    flaps_ = 0;
  }
  ++flaps_;
  if (paused_until_ || flaps_ < limits_.flap_threshold) return false;
  paused_until_ = now + limits_.flap_pause;
  return true;
}

}  // namespace weft
