#include "metrics/history_ring.h"

#include <algorithm>
#include <charconv>

namespace weft {
namespace {
constexpr std::size_t kGrowth = 8;  // steps from empty to full

// The shortest decimal that means this float, as a double: 0.05 stays 0.05 in a reply.
double widen(float f) {
  if (!std::isfinite(f)) return kNoValue;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, f).ptr;
  double out = 0;
  std::from_chars(text, end, out);
  return out;
}
}  // namespace

void FloatRing::push(double value) {
  const auto f = static_cast<float>(value);
  if (data_.empty() && !std::isfinite(f)) return;  // what is missing reads as unknown anyway
  if (data_.size() < capacity_) {
    if (data_.size() == data_.capacity())
      data_.reserve(std::min<std::size_t>(capacity_, data_.size() + (capacity_ + kGrowth - 1) / kGrowth));
    data_.push_back(f);
    return;
  }
  data_[head_] = f;
  head_ = head_ + 1 == capacity_ ? 0 : head_ + 1;
}

void FloatRing::push_gap(std::uint64_t n) {
  if (n >= capacity_) return clear();
  for (; n > 0; --n) push(kNoValue);
}

std::vector<double> FloatRing::newest(std::size_t n) const {
  n = std::min<std::size_t>(n, capacity_);
  std::vector<double> out(n, kNoValue);
  const auto have = std::min(n, data_.size());
  for (std::size_t i = 0; i < have; ++i) {
    const auto from_oldest = data_.size() - have + i;
    out[n - have + i] = widen(data_[(head_ + from_oldest) % data_.size()]);
  }
  return out;
}

void FloatRing::clear() {
  data_ = std::vector<float>();  // gives the memory back
  head_ = 0;
}

void HistoryRing::push(double value, bool keep_seconds) {
  if (keep_seconds) seconds_.push(value);
  if (!std::isfinite(value)) return;
  sum_ += value;
  last_ = value;
  ++folded_;
}

void HistoryRing::push_gap(std::uint64_t n, bool keep_seconds) {
  if (keep_seconds) seconds_.push_gap(n);
}

void HistoryRing::finish_minute() {
  double value = kNoValue;
  if (folded_ > 0) value = fold_ == Fold::last ? last_ : fold_ == Fold::sum ? sum_ : sum_ / folded_;
  minutes_.push(value);
  sum_ = 0;
  last_ = kNoValue;
  folded_ = 0;
}

double HistoryRing::rise(std::uint64_t total, double first, double fallen) {
  const auto before = total_;
  const bool had = has_total_;
  total_ = total;
  has_total_ = true;
  if (!had) return first;
  return total < before ? fallen : static_cast<double>(total - before);
}

}  // namespace weft
