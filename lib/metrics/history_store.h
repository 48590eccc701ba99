/// One owner's columns over the last hour in seconds and the last day in minutes: the open minute and the open hour as
/// they came, everything before packed in blocks.
///
/// Time     a row is a second. Whoever feeds several stores pushes the same rows to all of them; `phase` aligns a new one,
///          so that all of them close a block at the same row.
/// Thread   one owner. Cost: push O(columns), every sixtieth row packs a block; read O(values).
#pragma once

#include <vector>

#include "metrics/history_block.h"

namespace weft {

inline constexpr std::size_t kSecondsKept = 3600;
inline constexpr std::size_t kMinutesKept = 1440;

class HistoryStore {
 public:
  /// Where all stores stand: rows in the open minute, and minutes in the open hour.
  struct Phase {
    std::size_t second = 0, minute = 0;
  };
  /// `folds` lives longer than the store; its size is the number of columns.
  HistoryStore(std::span<const Fold> folds, Phase phase);

  /// One second: a value per column.
  void push(std::span<const double> row);
  /// n seconds without any value; cheap for days.
  void push_gap(std::uint64_t n);
  Phase phase() const { return {seconds_.open_rows, minutes_.open_rows}; }

  /// The newest n of a column, oldest first; NaN in front where there are fewer.
  std::vector<double> seconds(std::size_t column, std::size_t n) const;
  std::vector<double> minutes(std::size_t column, std::size_t n) const;

  // ---- giving memory back. `ago`: 1 is the newest packed block. Each returns the bytes that were freed ---------------

  std::size_t drop_seconds(std::size_t ago) { return drop(seconds_, ago); }
  std::size_t drop_minutes(std::size_t ago) { return drop(minutes_, ago); }
  std::size_t coarsen_minutes(std::size_t ago);
  /// Beside the object itself.
  std::size_t heap_bytes() const { return heap_; }

 private:
  struct Level {
    std::vector<float> open;           // row after row
    std::size_t open_rows = 0;         // of kBlockRows
    std::vector<HistoryBlock> packed;  // newest last
    std::size_t most_packed = 0;
  };
  void append(Level& level, HistoryBlock block);
  bool push_row(Level& level, std::span<const double> row);
  std::size_t drop(Level& level, std::size_t ago);
  std::vector<double> read(const Level& level, std::size_t column, std::size_t n) const;

  std::span<const Fold> folds_;
  Level seconds_, minutes_;
  std::size_t heap_ = 0;
};

}  // namespace weft
