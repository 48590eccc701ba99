/// Remembers that the kernel refused segmentation offload on one socket, and when to ask again.
///
/// Size     a refusal may be about large segments only: smaller ones then go on offloaded.
/// Time     the first wait is a second, each further refusal doubles it up to a minute; one caller at a time asks.
/// Thread   any number; each number is right by itself, and a race costs one more question.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace weft::io {

class OffloadGate {
 public:
  static constexpr Duration kFirstWait = std::chrono::seconds(1);
  static constexpr Duration kLongestWait = std::chrono::seconds(60);

  /// Without a look at the clock: nothing speaks against segments of this size.
  bool open_for(std::size_t segment) const { return segment < closed_from_.load(std::memory_order_relaxed); }
  bool open() const { return open_for(kNone - 1); }

  /// True for one caller once the wait is over: try it with what there is to send.
  bool ask(Instant now) {
    auto due = retry_at_.load(std::memory_order_relaxed);
    if (now.time_since_epoch().count() < due) return false;
    const auto next = (now + Duration{wait_.load(std::memory_order_relaxed)}).time_since_epoch().count();
    return retry_at_.compare_exchange_strong(due, next, std::memory_order_relaxed);
  }
  /// `segment`: the smallest size that was refused; 0: any.
  void refused(std::size_t segment, Instant now) {
    const bool again = !open();
    const auto old = Duration{wait_.load(std::memory_order_relaxed)};
    const Duration wait = again ? std::min(old * 2, kLongestWait) : kFirstWait;
    wait_.store(wait.count(), std::memory_order_relaxed);
    retry_at_.store((now + wait).time_since_epoch().count(), std::memory_order_relaxed);
    if (segment < closed_from_.load(std::memory_order_relaxed))
      closed_from_.store(static_cast<std::uint32_t>(segment), std::memory_order_relaxed);
  }
  void worked() { closed_from_.store(kNone, std::memory_order_relaxed); }
  /// Something changed that may have been the cause: ask at once.
  void hope() { retry_at_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::atomic<std::uint32_t> closed_from_{kNone};
  std::atomic<Duration::rep> retry_at_{0};
  std::atomic<Duration::rep> wait_{kFirstWait.count()};
};

}  // namespace weft::io
