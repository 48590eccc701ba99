/// Columns, units and colour, for people.
///
/// Text that came from elsewhere is shown with control characters replaced, so that no name can move the cursor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

enum class Colour : std::uint8_t { none, good, warn, bad, dim, bold };

struct Style {
  bool colour = false;
  std::string paint(Colour c, std::string_view text) const;
};

struct Cell {
  std::string text;
  Colour colour = Colour::none;
  Cell(std::string t, Colour c = Colour::none)
      : text(std::move(t)), colour(c) {}  // NOLINT: cells are written as texts
  Cell(const char* t) : text(t) {}        // NOLINT
};

class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// As many cells as columns; missing ones are empty.
  void row(std::vector<Cell> cells);
  /// `nothing` when there is no row. Ends with a newline.
  std::string text(const Style& style, std::string_view nothing) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Control characters, and bytes that are not UTF-8's, become '?'.
std::string clean(std::string_view text);
/// Characters, not bytes.
std::size_t width(std::string_view text);
std::string bytes_text(double bytes);            // "1.2 MB"
std::string rate_text(double bytes_per_second);  // "1.2 MB/s"
std::string count_text(double n);                // "12.3k"
std::string ms_text(double ms);                  // "0.5 ms", "12 ms", "1.2 s"
std::string age_text(std::int64_t seconds);      // "12 s", "4 min", "2 h 5 min", "3 d 4 h"
std::string percent_text(double ratio);          // "0.0 %"
/// What the lowest of the heights stands for.
enum class SparkFrom : std::uint8_t { least, zero };
/// A curve in one line: eight heights up to the largest value, blocks or `ascii`; a blank for none.
std::string spark_text(const std::vector<std::optional<double>>& values, std::size_t max_width,
                       SparkFrom from = SparkFrom::least, bool ascii = false);

}  // namespace weft::cli
