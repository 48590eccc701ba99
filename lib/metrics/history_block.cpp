#include "metrics/history_block.h"

#include <algorithm>
#include <array>
#include <bit>

namespace weft {
namespace {

constexpr unsigned kMantissa = 12;  // bits kept of 23
constexpr unsigned kCut = 23 - kMantissa;
constexpr std::uint32_t kLeast = (127U - 20U) << kMantissa;  // 2^-20, as a float's upper bits
constexpr std::uint32_t kMost = (127U + 44U) << kMantissa;
constexpr std::int32_t kNone = 0, kZero = 1;  // codes; larger ones are values in rising order
constexpr std::size_t kCoarseRows = 10;
constexpr std::size_t kAllocator = 16;
constexpr std::size_t kLengthBytes = 2;

std::int32_t code_of(float v) {
  if (!std::isfinite(v)) return kNone;
  if (v <= 0) return kZero;
  const std::uint32_t upper = (std::bit_cast<std::uint32_t>(v) + (1U << (kCut - 1))) >> kCut;
  if (upper < kLeast) return kZero;
  return static_cast<std::int32_t>(std::min(upper, kMost) - kLeast) + kZero + 1;
}
float value_of(std::int32_t code) {
  if (code <= kNone) return std::numeric_limits<float>::quiet_NaN();
  if (code == kZero) return 0;
  return std::bit_cast<float>((static_cast<std::uint32_t>(code - kZero - 1) + kLeast) << kCut);
}

void put_number(std::vector<std::uint8_t>& out, std::uint32_t n) {
  for (; n >= 0x80; n >>= 7) out.push_back(static_cast<std::uint8_t>(n | 0x80));
  out.push_back(static_cast<std::uint8_t>(n));
}
std::uint32_t get_number(const std::uint8_t*& at) {
  std::uint32_t n = 0;
  for (unsigned shift = 0;; shift += 7) {
    n |= static_cast<std::uint32_t>(*at & 0x7FU) << shift;
    if ((*at++ & 0x80U) == 0) return n;
  }
}

// Even: the step to the next code. Odd: so many times the same code again.
void pack_column(std::vector<std::uint8_t>& out, std::span<const float> rows, std::size_t column,
                 std::size_t columns) {
  std::int32_t before = kNone;
  std::uint32_t same = 0;
  const auto end_run = [&] {
    if (same > 0) put_number(out, same << 1 | 1U);
    same = 0;
  };
  for (std::size_t row = 0; row < kBlockRows; ++row) {
    const auto code = code_of(rows[row * columns + column]);
    const auto step = code - before;
    before = code;
    if (step == 0) {
      ++same;
      continue;
    }
    end_run();
    const auto zigzag = (static_cast<std::uint32_t>(step) << 1) ^ static_cast<std::uint32_t>(step >> 31);
    put_number(out, zigzag << 1);
  }
  end_run();
}

}  // namespace

double fold_values(std::span<const float> values, Fold fold) {
  double sum = 0, last = kNoValue;
  std::size_t n = 0;
  for (const float v : values) {
    if (!std::isfinite(v)) continue;
    sum += v;
    last = v;
    ++n;
  }
  if (n == 0) return kNoValue;
  return fold == Fold::last ? last : fold == Fold::sum ? sum : sum / static_cast<double>(n);
}

std::vector<double> thinned(const std::vector<double>& values, std::size_t points) {
  if (points == 0 || values.size() <= points) return values;
  std::vector<double> out(points, kNoValue);
  for (std::size_t i = 0; i < points; ++i) {
    const auto from = i * values.size() / points, to = (i + 1) * values.size() / points;
    double sum = 0;
    std::size_t n = 0;
    for (auto k = from; k < to; ++k)
      if (std::isfinite(values[k])) sum += values[k], ++n;
    if (n > 0) out[i] = sum / static_cast<double>(n);
  }
  return out;
}

HistoryBlock::HistoryBlock(std::span<const float> rows, std::size_t columns)
    : columns_(static_cast<std::uint16_t>(columns)) {
  if (std::ranges::none_of(rows, [](float v) { return std::isfinite(v); })) return;
  std::vector<std::uint8_t> out(columns * kLengthBytes);
  for (std::size_t c = 0; c < columns; ++c) {
    const auto from = out.size();
    pack_column(out, rows, c, columns);
    const auto length = out.size() - from;
    out[c * kLengthBytes] = static_cast<std::uint8_t>(length);
    out[c * kLengthBytes + 1] = static_cast<std::uint8_t>(length >> 8);
  }
  size_ = static_cast<std::uint16_t>(out.size());
  data_ = std::make_unique_for_overwrite<std::uint8_t[]>(out.size());
  std::ranges::copy(out, data_.get());
}

void HistoryBlock::read(std::size_t column, std::span<float> out) const {
  if (data_ == nullptr || column >= columns_) {
    std::ranges::fill(out, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const std::uint8_t* at = data_.get() + columns_ * kLengthBytes;
  for (std::size_t c = 0; c < column; ++c) at += data_[c * kLengthBytes] | data_[c * kLengthBytes + 1] << 8;
  std::int32_t code = kNone;
  for (std::size_t row = 0; row < out.size();) {
    const auto n = get_number(at);
    if ((n & 1U) != 0) {
      const auto end = std::min<std::size_t>(out.size(), row + (n >> 1));
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(row),
                out.begin() + static_cast<std::ptrdiff_t>(end), value_of(code));
      row = end;
      continue;
    }
    const auto zigzag = n >> 1;
    code += static_cast<std::int32_t>(zigzag >> 1) ^ -static_cast<std::int32_t>(zigzag & 1U);
    out[row++] = value_of(code);
  }
}

void HistoryBlock::coarsen(std::span<const Fold> columns) {
  coarse_ = true;
  if (data_ == nullptr) return;
  std::vector<float> rows(kBlockRows * columns.size());
  std::array<float, kBlockRows> column{};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    read(c, column);
    for (std::size_t row = 0; row < kBlockRows; row += kCoarseRows) {
      // A sum that is shown ten times must not count tenfold.
      const auto fold = columns[c] == Fold::sum ? Fold::mean : columns[c];
      const auto v = static_cast<float>(fold_values(std::span(column).subspan(row, kCoarseRows), fold));
      for (std::size_t i = 0; i < kCoarseRows; ++i) rows[(row + i) * columns.size() + c] = v;
    }
  }
  *this = HistoryBlock(rows, columns.size());
  coarse_ = true;
}

std::size_t HistoryBlock::heap_bytes() const { return data_ == nullptr ? 0 : size_ + kAllocator; }

}  // namespace weft
