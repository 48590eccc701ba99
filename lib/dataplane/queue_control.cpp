#include "dataplane/queue_control.h"

#include <algorithm>

namespace weft {
namespace {

// Intervals without a burst say nothing, and what came before them is no longer true.
constexpr int kStaleIntervals = 4;
// Signals of one interval lie at least this far apart: several in one burst would all hit one window of one flow.
constexpr Duration kApart = std::chrono::milliseconds(1);
// The rate follows the last eight bursts or so.
constexpr double kRateGain = 0.125;
// So many intervals over the target in a row add one signal to each: many flows share a queue.
constexpr unsigned kPatience = 4;
constexpr unsigned kMostSignals = 8;

double ns(Duration d) { return static_cast<double>(d.count()); }

}  // namespace

void QueueControl::on_burst(Instant now, std::size_t taken, std::size_t left) {
  if (now - last_ > kInterval * kStaleIntervals) {
    *this = {};
    begin_ = last_ = now;
  }
  const double since = ns(now - last_);
  area_ += wait_ * since;
  if (busy_ && since > 0) {
    const double rate = static_cast<double>(taken) / since;
    rate_ = rate_ == 0 ? rate : rate_ + (rate - rate_) * kRateGain;
  }
  busy_ = left > 0;
  wait_ = rate_ > 0 ? static_cast<double>(left) / rate_ : 0;
  last_ = now;
  if (now - begin_ >= kInterval) close_interval(now);
}

void QueueControl::close_interval(Instant now) {
  mean_ = area_ / ns(now - begin_);
  above_ = mean_ > ns(kLeastTarget) ? above_ + 1 : 0;
  owed_ = above_ == 0 ? 0 : std::min(1 + above_ / kPatience, kMostSignals);
  begin_ = now;
  area_ = 0;
}

bool QueueControl::signal(Instant now, Duration rtt) {
  if (owed_ == 0 || now < next_signal_ || rtt <= Duration::zero()) return false;
  if (mean_ <= ns(rtt) / kShareOfRtt) return false;
  --owed_;
  next_signal_ = now + kApart;
  return true;
}

}  // namespace weft
