#include "bloom/filter.h"

#include <bit>
#include <cassert>
#include <cmath>

#include "crypto/hash.h"

namespace weft {

FilterKey FilterKey::of(const NodeAddr& addr) {
  const auto digest = crypto::sha256(addr.view());
  const auto h1 = load_le<std::uint64_t>(digest.data());
  const auto h2 = load_le<std::uint64_t>(digest.data() + 8);
  FilterKey key{};
  for (std::size_t i = 0; i < key.bits.size(); ++i)
    key.bits[i] = static_cast<std::uint16_t>((h1 + i * h2) % kFilterBits);
  return key;
}

Filter Filter::from(Bytes bits) {
  assert(bits.size() == wire::kFilterBytes);
  Filter f;
  for (std::size_t i = 0; i < f.words_.size(); ++i) f.words_[i] = load_le<std::uint64_t>(bits.data() + 8 * i);
  return f;
}

Filter& Filter::operator|=(const Filter& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

std::size_t Filter::ones() const {
  std::size_t n = 0;
  for (const auto w : words_) n += static_cast<std::size_t>(std::popcount(w));
  return n;
}

double Filter::fpr() const { return std::pow(fill(), wire::kFilterHashes); }

std::optional<double> Filter::estimate(double max_fpr) const {
  const double x = fill();
  if (x >= 1.0 || std::pow(x, wire::kFilterHashes) > max_fpr) return std::nullopt;
  return -static_cast<double>(kFilterBits) / wire::kFilterHashes * std::log(1.0 - x);
}

std::array<std::uint8_t, wire::kFilterBytes> Filter::bytes() const {
  std::array<std::uint8_t, wire::kFilterBytes> out;
  for (std::size_t i = 0; i < words_.size(); ++i) store_le<std::uint64_t>(out.data() + 8 * i, words_[i]);
  return out;
}

void OrExceptOne::add(const Filter& f) {
  for (std::size_t i = 0; i < f.words_.size(); ++i) {
    twice_.words_[i] |= once_.words_[i] & f.words_[i];
    once_.words_[i] |= f.words_[i];
  }
}

Filter OrExceptOne::without(const Filter& f) const {
  Filter out = twice_;
  for (std::size_t i = 0; i < f.words_.size(); ++i) out.words_[i] |= once_.words_[i] & ~f.words_[i];
  return out;
}

}  // namespace weft
