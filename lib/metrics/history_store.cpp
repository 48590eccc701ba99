#include "metrics/history_store.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weft {
namespace {

// Five digits are what a packed value is good for: 0.05 stays 0.05 in a reply.
double widen(float f) {
  if (!std::isfinite(f)) return kNoValue;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, f, std::chars_format::general, 5).ptr;
  double out = 0;
  std::from_chars(text, end, out);
  return out;
}
// An open value is exact: the shortest decimal that means this float.
double widen_open(float f) {
  if (!std::isfinite(f)) return kNoValue;
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, f).ptr;
  double out = 0;
  std::from_chars(text, end, out);
  return out;
}

}  // namespace

HistoryStore::HistoryStore(std::span<const Fold> folds, Phase phase) : folds_(folds) {
  const auto open = [&](Level& level, std::size_t rows, std::size_t most) {
    level.open.assign(kBlockRows * folds.size(), std::numeric_limits<float>::quiet_NaN());
    level.open_rows = rows;
    level.most_packed = most;
    heap_ += level.open.size() * sizeof(float);
  };
  open(seconds_, phase.second, kSecondsKept / kBlockRows);
  open(minutes_, phase.minute, kMinutesKept / kBlockRows);
}

void HistoryStore::append(Level& level, HistoryBlock block) {
  if (level.packed.size() == level.most_packed) {
    heap_ -= level.packed.front().heap_bytes() + sizeof(HistoryBlock);
    level.packed.erase(level.packed.begin());
  }
  heap_ += block.heap_bytes() + sizeof(HistoryBlock);
  level.packed.push_back(std::move(block));
}

// True when the row closed a block; the open rows are still there to be folded.
bool HistoryStore::push_row(Level& level, std::span<const double> row) {
  auto* const at = level.open.data() + level.open_rows * folds_.size();
  for (std::size_t c = 0; c < folds_.size(); ++c) at[c] = static_cast<float>(row[c]);
  if (++level.open_rows < kBlockRows) return false;
  level.open_rows = 0;
  append(level, HistoryBlock(level.open, folds_.size()));
  return true;
}

void HistoryStore::push(std::span<const double> row) {
  if (!push_row(seconds_, row)) return;
  std::vector<double> minute(folds_.size());
  std::array<float, kBlockRows> column{};
  for (std::size_t c = 0; c < folds_.size(); ++c) {
    for (std::size_t i = 0; i < kBlockRows; ++i) column[i] = seconds_.open[i * folds_.size() + c];
    minute[c] = fold_values(column, folds_[c]);
  }
  push_row(minutes_, minute);
}

void HistoryStore::push_gap(std::uint64_t n) {
  const std::vector<double> none(folds_.size(), kNoValue);
  for (; n > 0 && (seconds_.open_rows != 0 || n < kBlockRows); --n) push(none);
  auto whole = n / kBlockRows;
  // What is longer than everything kept only moves the place within the hour.
  constexpr std::uint64_t kEnough = kMinutesKept + kBlockRows;
  if (whole > kEnough) whole -= (whole - kEnough) / kBlockRows * kBlockRows;
  for (; whole > 0; --whole) {
    append(seconds_, HistoryBlock());
    push_row(minutes_, none);
  }
  for (n %= kBlockRows; n > 0; --n) push(none);
}

std::vector<double> HistoryStore::read(const Level& level, std::size_t column, std::size_t n) const {
  std::vector<double> out(n, kNoValue);
  auto at = n;
  for (auto row = level.open_rows; row > 0 && at > 0; --row)
    out[--at] = widen_open(level.open[(row - 1) * folds_.size() + column]);
  std::array<float, kBlockRows> values{};
  for (auto block = level.packed.rbegin(); block != level.packed.rend() && at > 0; ++block) {
    if (block->empty()) {
      at -= std::min(at, kBlockRows);
      continue;
    }
    block->read(column, values);
    for (auto row = kBlockRows; row > 0 && at > 0; --row) out[--at] = widen(values[row - 1]);
  }
  return out;
}

std::vector<double> HistoryStore::seconds(std::size_t column, std::size_t n) const {
  return read(seconds_, column, std::min(n, kSecondsKept));
}
std::vector<double> HistoryStore::minutes(std::size_t column, std::size_t n) const {
  return read(minutes_, column, std::min(n, kMinutesKept));
}

std::size_t HistoryStore::drop(Level& level, std::size_t ago) {
  if (ago == 0 || ago > level.packed.size()) return 0;
  auto& block = level.packed[level.packed.size() - ago];
  const auto freed = block.heap_bytes();
  block = HistoryBlock();
  heap_ -= freed;
  return freed;
}

std::size_t HistoryStore::coarsen_minutes(std::size_t ago) {
  if (ago == 0 || ago > minutes_.packed.size()) return 0;
  auto& block = minutes_.packed[minutes_.packed.size() - ago];
  if (block.empty() || block.coarse()) return 0;
  const auto before = block.heap_bytes();
  block.coarsen(folds_);
  const auto freed = before - std::min(before, block.heap_bytes());
  heap_ -= freed;
  return freed;
}

}  // namespace weft
