/// Sliding window over the counters of one key epoch.
///
/// Order     check, open, accept: accept only what was authentic. accept checks again, so two openings that
/// ran at the
///           same time cannot both pass.
/// Width     counters behind the highest that are still taken; the reference's is 2048, ours 16384.
/// Thread    one owner. Cost: O(words passed over), a few nanoseconds when counters come in order; no
/// allocation. Source    RFC 6479: a ring of words with one to spare, so that nothing is ever shifted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/drop.h"

namespace weft::crypto {

template <std::size_t Width>
class ReplayWindowOf {
  static_assert(Width % 64 == 0 && Width > 0);

 public:
  static constexpr std::size_t kWidth = Width;

  /// Why this counter must not be opened: too_old or replayed; nullopt when it may be.
  std::optional<Drop> check(std::uint64_t counter) const {
    if (counter > highest_) return std::nullopt;
    if (highest_ - counter >= Width) return Drop::too_old;
    if ((word(counter) & bit(counter)) != 0) return Drop::replayed;
    return std::nullopt;
  }

  /// Marks it seen; the answer of check() when it must not be.
  std::optional<Drop> accept(std::uint64_t counter) {
    if (const auto no = check(counter)) return no;
    if (counter > highest_) {
      const std::uint64_t passed = std::min<std::uint64_t>(counter / 64 - highest_ / 64, kWords);
      for (std::uint64_t i = 0; i < passed; ++i) words_[(counter / 64 - i) % kWords] = 0;
      highest_ = counter;
    }
    words_[(counter / 64) % kWords] |= bit(counter);
    return std::nullopt;
  }

  /// 0 until a counter above 0 was accepted.
  std::uint64_t highest() const { return highest_; }

 private:
  static constexpr std::size_t kWords = Width / 64 + 1;
  static std::uint64_t bit(std::uint64_t counter) { return std::uint64_t{1} << (counter % 64); }
  std::uint64_t word(std::uint64_t counter) const { return words_[(counter / 64) % kWords]; }

  std::uint64_t highest_ = 0;
  std::array<std::uint64_t, kWords> words_{};
};

using ReplayWindow = ReplayWindowOf<16384>;

}  // namespace weft::crypto
