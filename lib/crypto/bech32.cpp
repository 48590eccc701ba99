#include "crypto/bech32.h"

#include <algorithm>

#include "crypto/secret.h"

namespace weft::crypto {
namespace {

constexpr std::string_view kDigits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::size_t kChecksumDigits = 6;
constexpr std::size_t kMaxText = 90;

class Checksum {
 public:
  explicit Checksum(std::string_view hrp) {
    for (const char c : hrp) add(static_cast<std::uint32_t>(c) >> 5);
    add(0);
    for (const char c : hrp) add(static_cast<std::uint32_t>(c) & 31);
  }
  void add(std::uint32_t digit) {
    constexpr std::uint32_t kGenerator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    const std::uint32_t top = state_ >> 25;
    state_ = ((state_ & 0x1ffffff) << 5) ^ digit;
    for (std::size_t i = 0; i < 5; ++i)
      if (((top >> i) & 1) != 0) state_ ^= kGenerator[i];
  }
  std::uint32_t state() const { return state_; }

 private:
  std::uint32_t state_ = 1;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string bech32_encode(std::string_view hrp, Bytes data) {
  std::string out;
  out.reserve(kMaxText);  // never reallocated, so that no copy of a secret stays behind
  out.append(hrp).push_back('1');
  Checksum sum{hrp};
  const auto put = [&](std::uint32_t digit) {
    sum.add(digit);
    out.push_back(kDigits[digit]);
  };
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const std::uint8_t byte : data) {
    bits = ((bits << 8) | byte) & 0xfff;
    for (have += 8; have >= 5; have -= 5) put((bits >> (have - 5)) & 31);
  }
  if (have > 0) put((bits << (5 - have)) & 31);
  for (std::size_t i = 0; i < kChecksumDigits; ++i) sum.add(0);
  for (std::size_t i = 0; i < kChecksumDigits; ++i)
    out.push_back(kDigits[((sum.state() ^ 1) >> (5 * (kChecksumDigits - 1 - i))) & 31]);
  return out;
}

Result<void, std::string_view> bech32_decode(std::string_view hrp, std::string_view text, MutBytes out) {
  using namespace std::string_view_literals;
  const bool has_lower = std::ranges::any_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
  const bool has_upper = std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  const auto one = text.rfind('1');
  if (text.size() > kMaxText || one == text.npos || text.size() - one - 1 < kChecksumDigits)
    return bad("not bech32 text"sv);
  if (has_lower && has_upper) return bad("mixes upper and lower case"sv);
  if (!std::ranges::equal(text.substr(0, one), hrp, {}, lower)) return bad("wrong prefix"sv);

  Checksum sum{hrp};
  std::string_view digits = text.substr(one + 1);
  // Five bits a digit; what does not fill a byte is padding, which must be short and zero.
  if ((digits.size() - kChecksumDigits) * 5 / 8 != out.size() ||
      (digits.size() - kChecksumDigits) * 5 % 8 >= 5)
    return bad("wrong length"sv);
  Secret<kMaxText> bytes;  // may be a secret key
  std::uint32_t bits = 0;
  unsigned have = 0;
  std::size_t written = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto digit = kDigits.find(lower(digits[i]));
    if (digit == kDigits.npos) return bad("character that bech32 does not have"sv);
    sum.add(static_cast<std::uint32_t>(digit));
    if (i + kChecksumDigits >= digits.size()) continue;
    bits = ((bits << 5) | static_cast<std::uint32_t>(digit)) & 0xfff;
    have += 5;
    if (have < 8) continue;
    have -= 8;
    bytes.mut()[written++] = static_cast<std::uint8_t>(bits >> have);
  }
  if (sum.state() != 1) return bad("checksum does not fit: a character is wrong"sv);
  if ((bits & ((1U << have) - 1)) != 0) return bad("padding bits are not zero"sv);
  std::ranges::copy(bytes.view().first(written), out.begin());
  return {};
}

}  // namespace weft::crypto
