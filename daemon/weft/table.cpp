#include "weft/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::cli {

std::string Style::paint(Colour c, std::string_view text) const {
  if (!colour || c == Colour::none) return std::string(text);
  constexpr std::array<const char*, 6> kCodes{"", "32", "33", "31", "2", "1"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(c)], text);
}

void Table::row(std::vector<Cell> cells) {
  for (auto& c : cells) c.text = clean(c.text);
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(cells));
}

std::string Table::text(const Style& style, std::string_view nothing) const {
  if (rows_.empty()) return std::string(nothing) + "\n";
  std::vector<std::size_t> widths;
  for (const auto& c : columns_) widths.push_back(width(c.title));
  for (const auto& r : rows_)
    for (std::size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], width(r[i].text));
  std::string out;
  const auto put = [&](std::size_t i, std::string_view text, Colour colour) {
    const std::string pad(widths[i] - width(text), ' ');
    const bool last = i + 1 == columns_.size();
    if (columns_[i].align == Align::right) out += pad;
    out += style.paint(colour, text);
    if (columns_[i].align == Align::left && !last) out += pad;
    out += last ? "\n" : "  ";
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) put(i, columns_[i].title, Colour::dim);
  for (const auto& r : rows_)
    for (std::size_t i = 0; i < r.size(); ++i) put(i, r[i].text, r[i].colour);
  return out;
}

std::string clean(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      out += c < 0x20 || c == 0x7f ? '?' : text[i];
      continue;
    }
    const std::size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
    bool whole = n != 0 && c <= 0xF4 && i + n <= text.size();
    for (std::size_t k = 1; whole && k < n; ++k)
      whole = (static_cast<unsigned char>(text[i + k]) & 0xC0U) == 0x80U;
    // U+0080..009F are control characters too.
    if (whole && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) whole = false;
    if (!whole) {
      out += '?';
      continue;
    }
    out += text.substr(i, n);
    i += n - 1;
  }
  return out;
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

namespace {

std::string scaled(double v, std::initializer_list<const char*> units) {
  const char* unit = *units.begin();
  for (const char* u : units) {
    unit = u;
    if (std::fabs(v) < 1000 || u == *(units.end() - 1)) break;
    v /= 1000;
  }
  const bool whole = unit == *units.begin() || std::fabs(v) >= 100;
  return fmt::format("{:.{}f}{}", v, whole ? 0 : 1, unit);
}

}  // namespace

std::string bytes_text(double bytes) { return scaled(bytes, {" B", " kB", " MB", " GB", " TB", " PB"}); }
std::string rate_text(double r) { return bytes_text(r) + "/s"; }
std::string count_text(double n) { return scaled(n, {"", "k", "M", "G", "T"}); }
std::string percent_text(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }

std::string ms_text(double ms) {
  if (ms >= 1000) return fmt::format("{:.1f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms < 10 ? 1 : 0);
}

std::string age_text(std::int64_t s) {
  s = std::max<std::int64_t>(0, s);
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  if (s < 48 * 3600) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  return fmt::format("{} d {} h", s / 86400, s % 86400 / 3600);
}

std::string spark_text(const std::vector<std::optional<double>>& values, std::size_t max_width,
                       SparkFrom from, bool ascii) {
  constexpr std::array<const char*, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kAscii = "_.-=+*%#";
  if (values.empty() || max_width == 0) return "";
  double lo = from == SparkFrom::zero ? 0 : HUGE_VAL, hi = from == SparkFrom::zero ? 0 : -HUGE_VAL;
  // Each column shows the largest of the values that share it, so that a short peak stays visible.
  std::vector<std::optional<double>> columns(std::min(max_width, values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& c = columns[i * columns.size() / values.size()];
    if (values[i] && (!c || *values[i] > *c)) c = values[i];
  }
  for (const auto& c : columns) {
    if (!c) continue;
    if (from == SparkFrom::least) lo = std::min(lo, *c);
    hi = std::max(hi, *c);
  }
  std::string out;
  for (const auto& c : columns) {
    if (!c) {
      out += ' ';
      continue;
    }
    const auto level =
        hi <= lo ? 0 : static_cast<std::size_t>(std::lround(std::clamp((*c - lo) / (hi - lo), 0.0, 1.0) * 7));
    if (ascii) out += kAscii[level];
    else out += kBlocks[level];
  }
  return out;
}

}  // namespace weft::cli
