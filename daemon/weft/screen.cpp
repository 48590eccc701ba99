#include "weft/screen.h"

#include <algorithm>

namespace weft::cli {
namespace {

std::size_t length_of(char first) {
  const auto c = static_cast<unsigned char>(first);
  return c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
}

}  // namespace

std::size_t Screen::put(std::size_t row, std::size_t column, std::string_view raw, Look look,
                        std::size_t most) {
  if (row >= rows_) return column;
  const std::string text = clean(raw);
  for (std::size_t i = 0; i < text.size() && column < columns_ && most > 0; ++column, --most) {
    const auto n = length_of(text[i]);
    cells_[row * columns_ + column] = {text.substr(i, n), look};
    i += n;
  }
  return column;
}

void Screen::put_right(std::size_t row, std::size_t column, std::string_view text, Look look) {
  const auto n = width(text);
  put(row, column > n ? column - n : 0, text, look, column);
}

void Screen::paint(std::size_t row, std::size_t from, Look look) {
  if (row >= rows_) return;
  for (auto c = from; c < columns_; ++c) cells_[row * columns_ + c].look = look;
}

std::string Screen::row_text(std::size_t row) const {
  std::string out;
  for (std::size_t c = 0; c < columns_; ++c) out += at(row, c).text;
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string cut(std::string_view text, std::size_t most) {
  if (width(text) <= most) return std::string(text);
  if (most == 0) return "";
  std::size_t i = 0;
  for (std::size_t n = 0; n + 1 < most; ++n) i += length_of(text[i]);
  return std::string(text.substr(0, i)) + "~";
}

}  // namespace weft::cli
