/// Sixty rows of some columns, packed: what a history keeps of a minute of seconds or of an hour of minutes.
///
/// Values    not negative; NaN: none. Kept to one part in 8,000 (whole numbers up to 8,191 exactly); what is
///           smaller than a millionth reads as 0.
/// Size      a column that does not change: 3 to 5 bytes; a wildly changing one: 3 bytes a value, at most.
/// Thread    one owner. Cost: pack and unpack O(values); a column is found without unpacking those before it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace weft {

/// How values become one of a coarser step. NaN is left out; nothing but NaN gives NaN.
enum class Fold : std::uint8_t { last, sum, mean };

inline constexpr std::size_t kBlockRows = 60;
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Means of `points` equal stretches; NaN only where nothing in a stretch is known. Fewer values stay as they are.
std::vector<double> thinned(const std::vector<double>& values, std::size_t points);
double fold_values(std::span<const float> values, Fold fold);

class HistoryBlock {
 public:
  HistoryBlock() = default;  // nothing but NaN, no memory
  /// `rows` kBlockRows rows of `columns` values each.
  HistoryBlock(std::span<const float> rows, std::size_t columns);

  /// kBlockRows values.
  void read(std::size_t column, std::span<float> out) const;
  /// Every ten rows become one value, shown ten times; a sum is shared out. Frees what that saves.
  void coarsen(std::span<const Fold> columns);

  bool empty() const { return data_ == nullptr; }
  bool coarse() const { return coarse_; }
  /// Beside the object itself; what the allocator adds is included.
  std::size_t heap_bytes() const;

 private:
  std::unique_ptr<std::uint8_t[]> data_;  // a length of 2 bytes per column, then the columns
  std::uint16_t size_ = 0;
  std::uint16_t columns_ = 0;
  bool coarse_ = false;
};

}  // namespace weft
