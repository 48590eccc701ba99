#include "metrics/receiver.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

template <class T>
T saturated(std::uint64_t v) {
  return static_cast<T>(std::min<std::uint64_t>(v, std::numeric_limits<T>::max()));
}
template <class T>
void add_saturated(T& to, std::uint64_t v) {
  to = saturated<T>(std::min<std::uint64_t>(v, std::numeric_limits<T>::max()) + to);
}

}  // namespace

void ReceiverMeter::on_frame(std::uint64_t counter, std::uint32_t sender_ts, std::size_t bytes, bool ce,
                             Instant now) {
  ++frames_;
  bytes_ += bytes;
  add_saturated(interval_frames_, 1);
  add_saturated(interval_bytes_, bytes);
  if (counter < highest_) add_saturated(reordered_, 1);
  else highest_ = counter;
  track_gap(counter);
  if (ce) add_saturated(ce_frames_, 1);
  track_jitter(sender_ts, now);
  last_ts_ = sender_ts;
  last_recv_ = last_recv_ ? std::max(*last_recv_, now) : now;
}

void ReceiverMeter::excuse() {
  ++frames_;
  add_saturated(interval_frames_, 1);
  if (open_burst_ > 0) --open_burst_;
  else if (burst_sum_ > 0) --burst_sum_;
  else return;
  if (open_burst_ == 0 && bursts_ > 0 && burst_sum_ == 0) {
    bursts_ = 0;
    longest_burst_ = 0;
  }
}

void ReceiverMeter::track_gap(std::uint64_t counter) {
  const auto after = counter == UINT64_MAX ? counter : counter + 1;
  if (!expected_) {
    expected_ = after;
    return;
  }
  if (counter > *expected_) {
    // Gaps with no in-order frame between them are one burst.
    if (open_burst_ == 0) add_saturated(bursts_, 1);
    add_saturated(open_burst_, counter - *expected_);
  } else {
    close_burst();
  }
  if (counter >= *expected_) expected_ = after;
}

void ReceiverMeter::close_burst() {
  longest_burst_ = std::max(longest_burst_, open_burst_);
  burst_sum_ += open_burst_;
  open_burst_ = 0;
}

void ReceiverMeter::track_jitter(std::uint32_t sender_ts, Instant now) {
  if (jitter_still_until_) {
    if (now < *jitter_still_until_) return;
    jitter_still_until_.reset();
  }
  if (!last_recv_) return;
  const std::int64_t arrived_us = now > *last_recv_ ? to_us(now - *last_recv_) : 0;
  // The sender's clock is modulo 2^32; the nearer direction is meant.
  const std::int64_t sent_us = std::int64_t{static_cast<std::int32_t>(sender_ts - last_ts_)} * 1000;
  const std::int64_t change = arrived_us - sent_us;
  const auto size = saturated<std::uint32_t>(static_cast<std::uint64_t>(change < 0 ? -change : change));
  jitter_q4_ = jitter_q4_ - (jitter_q4_ >> 4) + size;
}

std::uint32_t ReceiverMeter::jitter_us() const { return saturated<std::uint32_t>(jitter_q4_ >> 4); }

std::optional<wire::ReceiverReport> ReceiverMeter::report(Instant now) {
  if (interval_frames_ == 0 || !last_recv_) return std::nullopt;
  close_burst();
  const auto dwell = now > *last_recv_ ? static_cast<std::uint64_t>(to_ms(now - *last_recv_)) : 0U;

  wire::ReceiverReport r;
  r.highest_counter = highest_;
  r.total_frames = frames_;
  r.total_bytes = bytes_;
  // An echo whose dwell does not fit cannot be turned into a round trip.
  r.timestamp_echo = dwell > UINT16_MAX ? 0 : last_ts_;
  r.dwell_ms = saturated<std::uint16_t>(dwell);
  r.max_burst_loss = longest_burst_;
  r.mean_burst_loss = bursts_ == 0 ? std::uint16_t{0} : saturated<std::uint16_t>(burst_sum_ * 256 / bursts_);
  r.jitter_us = jitter_us();
  r.ce_count = ce_frames_;
  r.owd_trend = 0;  // advisory, and nobody reads it
  r.burst_count = bursts_;
  r.reordered = reordered_;
  r.interval_frames = interval_frames_;
  r.interval_bytes = interval_bytes_;

  interval_frames_ = interval_bytes_ = bursts_ = 0;
  longest_burst_ = 0;
  burst_sum_ = 0;
  return r;
}

void ReceiverMeter::cutover(Instant now, Duration grace) {
  ReceiverMeter next;
  next.frames_ = frames_;
  next.bytes_ = bytes_;
  if (grace > Duration::zero()) next.jitter_still_until_ = now + grace;
  *this = next;
}

}  // namespace weft
