#include "base/bytes.h"

namespace weft {

std::string to_hex(Bytes b) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(b.size() * 2);
  for (const auto x : b) {
    out.push_back(kDigits[x >> 4]);
    out.push_back(kDigits[x & 15]);
  }
  return out;
}

bool from_hex(std::string_view text, MutBytes out) {
  if (text.size() != out.size() * 2) return false;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  if (std::ranges::any_of(text, [&](char c) { return digit(c) < 0; })) return false;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  return true;
}

}  // namespace weft
