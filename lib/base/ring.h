/// Bounded queue between exactly one writer thread and one reader thread; takes move-only values.
///
/// Errors  push returns false when full; the value is then untouched.
/// Cost    one acquire and one release per operation; the far side's index is re-read only when it seems full or empty.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <vector>

namespace weft {

template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : mask_(std::bit_ceil(capacity) - 1), slots_(mask_ + 1) {}

  bool push(T&& value) {
    const auto head = head_.load(std::memory_order_relaxed);
    if (head - tail_seen_ > mask_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head - tail_seen_ > mask_) return false;
    }
    slots_[head & mask_].emplace(std::move(value));
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  std::optional<T> pop() {
    const auto tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_seen_) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail == head_seen_) return std::nullopt;
    }
    std::optional<T> out(std::move(*slots_[tail & mask_]));
    slots_[tail & mask_].reset();
    tail_.store(tail + 1, std::memory_order_release);
    return out;
  }
  /// For a sleeping reader's last look; exact only for reader and writer themselves.
  bool empty() const { return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire); }
  std::size_t capacity() const { return mask_ + 1; }

 private:
  std::size_t mask_;
  std::vector<std::optional<T>> slots_;
  alignas(64) std::atomic<std::size_t> head_{0};
  std::size_t tail_seen_ = 0;  // writer's
  alignas(64) std::atomic<std::size_t> tail_{0};
  std::size_t head_seen_ = 0;  // reader's
};

}  // namespace weft
