/// One metric's last hour in seconds and last day in minutes.
///
/// Storage  float; taken in steps as samples come, from the first finite one on. NaN: no value.
/// Thread   one owner.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft {

/// How sixty seconds become a minute. NaN is left out; sixty of them are NaN.
enum class Fold : std::uint8_t { last, sum, mean };

inline constexpr std::size_t kSecondsKept = 3600;
inline constexpr std::size_t kMinutesKept = 1440;
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// The newest `capacity` values.
class FloatRing {
 public:
  explicit FloatRing(std::size_t capacity) : capacity_(static_cast<std::uint32_t>(capacity)) {}

  void push(double value);
  /// n unknown values; cheaper than n pushes.
  void push_gap(std::uint64_t n);
  /// The newest n, oldest first, unknown ones in front where there are fewer.
  std::vector<double> newest(std::size_t n) const;
  std::size_t size() const { return data_.size(); }
  std::size_t capacity() const { return capacity_; }
  std::size_t memory_bytes() const { return data_.capacity() * sizeof(float); }
  void clear();

 private:
  std::vector<float> data_;  // oldest at head_ once full, else at 0
  std::uint32_t capacity_;
  std::uint32_t head_ = 0;
};

class HistoryRing {
 public:
  explicit HistoryRing(Fold fold = Fold::last)
      : seconds_(kSecondsKept), minutes_(kMinutesKept), fold_(fold) {}

  /// One second's value. `keep_seconds` false: it only goes into the minute.
  void push(double value, bool keep_seconds = true);
  void push_gap(std::uint64_t n, bool keep_seconds = true);
  /// Sixty seconds are over: their fold becomes a minute.
  void finish_minute();
  void push_minute_gap(std::uint64_t n) { minutes_.push_gap(n); }

  /// For counters: what it rose by since the last call; `first` before that, `fallen` when it fell.
  double rise(std::uint64_t total, double first, double fallen);
  void forget_total() { has_total_ = false; }

  const FloatRing& seconds() const { return seconds_; }
  const FloatRing& minutes() const { return minutes_; }
  void drop_seconds() { seconds_.clear(); }
  std::size_t memory_bytes() const { return seconds_.memory_bytes() + minutes_.memory_bytes(); }

 private:
  FloatRing seconds_;
  FloatRing minutes_;
  double sum_ = 0;
  double last_ = kNoValue;
  std::uint64_t total_ = 0;
  std::uint32_t folded_ = 0;  // finite samples in the open minute
  Fold fold_;
  bool has_total_ = false;
};

}  // namespace weft
