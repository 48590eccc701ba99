/// A set of node addresses in 1024 bytes that never forgets a member and sometimes claims a stranger.
///
/// Key     five bit positions of one address: computed once (one SHA-256), tested against many filters.
/// Thread  values. Cost: test at most 5 loads; union, count and compare 128 words.
/// Source  docs/spec/mesh.md sections 2.2, 2.6. The item is the 16-byte address, not the key behind it.
#pragma once

#include <array>
#include <optional>

#include "base/ids.h"
#include "wire/limits.h"

namespace weft {

inline constexpr std::size_t kFilterBits = 8 * wire::kFilterBytes;

struct FilterKey {
  std::array<std::uint16_t, wire::kFilterHashes> bits;
  static FilterKey of(const NodeAddr& addr);
};

class Filter {
 public:
  Filter() = default;
  /// Exactly wire::kFilterBytes bytes.
  static Filter from(Bytes bits);

  void insert(const FilterKey& key) {
    for (const auto b : key.bits) words_[b / 64] |= std::uint64_t{1} << (b % 64);
  }
  bool holds(const FilterKey& key) const {
    for (const auto b : key.bits)
      if (((words_[b / 64] >> (b % 64)) & 1U) == 0) return false;
    return true;
  }
  Filter& operator|=(const Filter& other);
  bool operator==(const Filter&) const = default;

  std::size_t ones() const;
  double fill() const { return static_cast<double>(ones()) / static_cast<double>(kFilterBits); }
  /// Share of strangers that the filter claims: fill^5.
  double fpr() const;
  /// Members, by the number of ones; nothing when full or when fpr() > max_fpr.
  std::optional<double> estimate(double max_fpr = 1.0) const;

  std::array<std::uint8_t, wire::kFilterBytes> bytes() const;

 private:
  friend class OrExceptOne;
  std::array<std::uint64_t, kFilterBits / 64> words_{};  // bit b is bit b % 64 of word b / 64
};

/// The union of many filters, and of all but any one of them, without keeping them apart.
class OrExceptOne {
 public:
  void add(const Filter& f);
  const Filter& all() const { return once_; }
  /// The union of everything added except this one `f`, which was added exactly once.
  Filter without(const Filter& f) const;

 private:
  Filter once_;   // bits that somebody has
  Filter twice_;  // bits that at least two have
};

}  // namespace weft
