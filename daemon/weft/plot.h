/// A curve in characters. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

using Values = std::vector<std::optional<double>>;

struct PlotSize {
  std::size_t columns = 80;  // with the axis; at least 20
  std::size_t rows = 10;     // of the curve; at least 2
  bool ascii = false;        // else braille: two by four dots to a character
};

/// "12 kB/s", "3.4 ms", "1.0 %": a value with its unit as the daemon names it.
std::string value_text(double v, std::string_view unit);

/// Axis with its bounds at the left, time below; the values share `span_s` seconds evenly, the last one is now.
/// The scale begins at 0 but for round trips and the like that never come near it. Ends with a newline.
std::string plot_text(const Values& values, std::string_view unit, std::int64_t span_s, const PlotSize& size);

}  // namespace weft::cli
