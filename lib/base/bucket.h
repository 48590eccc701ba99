/// Token bucket: `burst` at once, `rate` per second after that.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace weft {

class Bucket {
 public:
  Bucket(double burst, double rate) : burst_(burst), rate_(rate), tokens_(burst) {}

  /// One token if there is one. The first call starts the clock.
  bool take(Instant now) {
    refill(now);
    if (tokens_ < 1.0) return false;
    tokens_ -= 1.0;
    return true;
  }
  double tokens() const { return tokens_; }
  Instant last_used() const { return last_; }

 private:
  void refill(Instant now) {
    if (started_ && now > last_)
      tokens_ = std::min(burst_, tokens_ + rate_ * std::chrono::duration<double>(now - last_).count());
    if (!started_ || now > last_) last_ = now;
    started_ = true;
  }
  double burst_;
  double rate_;
  double tokens_;
  Instant last_{};
  bool started_ = false;
};

}  // namespace weft
