/// A rectangle of characters, drawn on before anything is sent to a terminal. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/table.h"

namespace weft::cli {

struct Look {
  Colour colour = Colour::none;
  bool reverse = false;
  friend bool operator==(const Look&, const Look&) = default;
};

class Screen {
 public:
  struct Glyph {
    std::string text = " ";  // one character in UTF-8
    Look look;
  };
  Screen(std::size_t columns, std::size_t rows) : columns_(columns), rows_(rows), cells_(columns * rows) {}

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return rows_; }
  /// Up to `most` characters from there; what lies outside is cut. Returns the column after the text. Control
  /// characters become '?'.
  std::size_t put(std::size_t row, std::size_t column, std::string_view text, Look look = {},
                  std::size_t most = SIZE_MAX);
  /// Ends before `column`.
  void put_right(std::size_t row, std::size_t column, std::string_view text, Look look = {});
  /// Changes how a row looks from a column on, not what it says.
  void paint(std::size_t row, std::size_t from, Look look);
  const Glyph& at(std::size_t row, std::size_t column) const { return cells_[row * columns_ + column]; }
  /// Without blanks at its end.
  std::string row_text(std::size_t row) const;

 private:
  std::size_t columns_, rows_;
  std::vector<Glyph> cells_;
};

/// The first `most` characters; a cut one ends with '~'.
std::string cut(std::string_view text, std::size_t most);

}  // namespace weft::cli
