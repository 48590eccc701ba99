#include "weft/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/table.h"

namespace weft::cli {
namespace {

/// Smallest and largest of what falls into one column of dots.
struct Reach {
  double lo = HUGE_VAL, hi = -HUGE_VAL;
  bool any() const { return hi >= lo; }
  void add(double v) {
    lo = std::min(lo, v);
    hi = std::max(hi, v);
  }
};

std::vector<Reach> reaches(const Values& values, std::size_t dots) {
  std::vector<Reach> out(dots);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) out[i * dots / values.size()].add(*values[i]);
  if (values.size() >= dots) return out;
  // Fewer values than dots: each reaches to the next one.
  for (std::size_t d = 0; d < dots; ++d)
    if (const auto& v = values[d * values.size() / dots]; v) out[d].add(*v);
  return out;
}

/// 1, 2, 2.5 or 5 times a power of ten, not below v.
double round_up(double v) {
  if (v <= 0) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(v)));
  for (const double step : {1.0, 2.0, 2.5, 5.0, 10.0})
    if (v <= step * power * (1 + 1e-9)) return step * power;
  return v;
}

Reach scale_of(const std::vector<Reach>& columns) {
  Reach all;
  for (const auto& c : columns)
    if (c.any()) all.add(c.lo), all.add(c.hi);
  if (!all.any()) return all;
  if (all.lo > 0.5 * all.hi && all.hi > all.lo) {  // a band far from 0: show what moves
    const double step = round_up((all.hi - all.lo) / 4);
    return {std::floor(all.lo / step) * step, std::ceil(all.hi / step) * step};
  }
  return {0, round_up(all.hi)};
}

class Canvas {
 public:
  Canvas(std::size_t columns, const PlotSize& size)
      : columns_(columns),
        ascii_(size.ascii),
        across_(ascii_ ? 1 : 2),
        down_(ascii_ ? 1 : 4),
        rows_(size.rows) {
    cells_.resize(columns * rows_);
  }
  std::size_t dots_across() const { return columns_ * across_; }
  std::size_t dots_down() const { return rows_ * down_; }
  /// y counts from the bottom.
  void dot(std::size_t x, std::size_t y) {
    const auto top = dots_down() - 1 - y;
    constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[top / down_ * columns_ + x / across_] |= ascii_ ? 1U : kBits[top % down_][x % across_];
  }
  std::string row(std::size_t r) const {
    std::string out;
    for (std::size_t c = 0; c < columns_; ++c) {
      const unsigned bits = cells_[r * columns_ + c];
      if (ascii_ || bits == 0) {
        out += bits == 0 ? ' ' : '*';
        continue;
      }
      out += static_cast<char>(0xE2);  // U+2800 and the dots
      out += static_cast<char>(0xA0 | bits >> 6);
      out += static_cast<char>(0x80 | (bits & 0x3FU));
    }
    while (out.ends_with(' ')) out.pop_back();
    return out;
  }

 private:
  std::size_t columns_;
  bool ascii_;
  std::size_t across_, down_, rows_;
  std::vector<unsigned> cells_;
};

void draw(Canvas& canvas, const std::vector<Reach>& columns, const Reach& scale) {
  const auto y_of = [&](double v) {
    const double part = (v - scale.lo) / (scale.hi - scale.lo);
    const auto most = static_cast<double>(canvas.dots_down() - 1);
    return static_cast<std::size_t>(std::lround(std::clamp(part, 0.0, 1.0) * most));
  };
  std::optional<std::size_t> before_lo, before_hi;
  for (std::size_t x = 0; x < columns.size(); ++x) {
    if (!columns[x].any()) {
      before_lo = before_hi = std::nullopt;
      continue;
    }
    const auto lo = y_of(columns[x].lo), hi = y_of(columns[x].hi);
    auto from = lo, to = hi;
    if (before_hi && *before_hi < lo) from = *before_hi + 1;  // joined with the column before
    if (before_lo && *before_lo > hi) to = *before_lo - 1;
    for (auto y = from; y <= to; ++y) canvas.dot(x, y);
    before_lo = lo;
    before_hi = hi;
  }
}

std::string time_axis(std::size_t margin, std::size_t columns, std::int64_t span) {
  std::string left = "-" + age_text(span), middle = "-" + age_text(span / 2), right = "now";
  std::string out = std::string(margin, ' ') + left;
  const auto put = [&](std::string_view text, std::size_t at) {
    if (out.size() + 1 < margin + at) out += std::string(margin + at - out.size(), ' ') + std::string(text);
  };
  put(middle, columns / 2 - std::min(columns / 2, middle.size() / 2));
  put(right, columns - std::min(columns, right.size()));
  return out;
}

}  // namespace

std::string value_text(double v, std::string_view unit) {
  if (unit == "bytes/s") return rate_text(v);
  if (unit == "ms") return ms_text(v);
  if (unit == "fraction") return percent_text(v);
  if (unit == "cores") return fmt::format("{:.1f} %", v * 100);
  if (unit.ends_with("/s")) return (v > 0 && v < 10 ? fmt::format("{:.2g}", v) : count_text(v)) + "/s";
  return v == std::floor(v) ? count_text(v) : fmt::format("{:.3g}", v);
}

std::string plot_text(const Values& values, std::string_view unit, std::int64_t span_s,
                      const PlotSize& size) {
  if (values.empty()) return "no data yet\n";
  const auto all_columns = std::max<std::size_t>(20, size.columns);
  PlotSize s = size;
  s.rows = std::max<std::size_t>(2, size.rows);
  // The scale decides the labels' width, which decides the dots, which may move the scale: labels get room for any.
  constexpr std::size_t kLabel = 10;
  Canvas canvas(all_columns - kLabel - 2, s);
  const auto columns = reaches(values, canvas.dots_across());
  const Reach scale = scale_of(columns);
  if (!scale.any()) return "no data yet\n";
  draw(canvas, columns, scale);
  std::string out;
  for (std::size_t r = 0; r < s.rows; ++r) {
    std::string label;
    const auto at = [&](double part) { return value_text(scale.lo + (scale.hi - scale.lo) * part, unit); };
    if (r == 0) label = at(1);
    else if (r + 1 == s.rows) label = at(0);
    else if (s.rows % 2 == 1 && r == s.rows / 2) label = at(0.5);
    const bool marked = !label.empty();
    out += fmt::format("{:>{}} {}{}\n", label, kLabel,
                       s.ascii  ? (marked ? "+" : "|")
                       : marked ? "┤"
                                : "│",
                       canvas.row(r));
  }
  return out + time_axis(kLabel + 2, all_columns - kLabel - 2, span_s) + "\n";
}

}  // namespace weft::cli
