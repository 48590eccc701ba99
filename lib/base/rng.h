/// Randomness, injected: the daemon lends the system's, the simulator a seeded one.
#pragma once

#include "base/bytes.h"

namespace weft {

class Rng {
 public:
  virtual ~Rng() = default;
  virtual void fill(MutBytes out) = 0;

  std::uint64_t u64() {
    std::array<std::uint8_t, 8> b{};
    fill(b);
    return load_le<std::uint64_t>(b.data());
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(u64()); }
  /// Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = bound * (UINT64_MAX / bound);
    for (;;)
      if (const auto v = u64(); v < limit) return v % bound;
  }
  /// Uniform in [lo, hi], both included.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(hi - lo) + 1));
  }
};

/// SplitMix64: repeatable, for tests and the simulator only.
class SeededRng final : public Rng {
 public:
  explicit SeededRng(std::uint64_t seed) : state_(seed) {}
  void fill(MutBytes out) override {
    for (std::size_t i = 0; i < out.size(); i += 8) {
      state_ += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = state_;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      z ^= z >> 31;
      for (std::size_t j = 0; j < 8 && i + j < out.size(); ++j) out[i + j] = static_cast<std::uint8_t>(z >> (8 * j));
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft
