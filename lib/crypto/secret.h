/// N bytes that nobody may see: moved, never copied by accident, wiped when they die, printed by nothing.
///
/// Moving wipes the source. `clone()` is the one way to a second copy, and it is easy to search for.
#pragma once

#include "base/bytes.h"

namespace weft::crypto {

/// Overwrites in a way that the optimiser must keep.
void wipe(void* p, std::size_t n) noexcept;
/// Constant time in the content.
bool equal_secret(Bytes a, Bytes b) noexcept;

template <std::size_t N>
class Secret {
 public:
  static constexpr std::size_t kSize = N;

  /// All zero; fill it through mut().
  Secret() noexcept = default;
  /// Copies in; the caller wipes its own.
  explicit Secret(std::span<const std::uint8_t, N> in) noexcept { std::memcpy(bytes_.data(), in.data(), N); }
  Secret(Secret&& other) noexcept : bytes_(other.bytes_) { other.clear(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      bytes_ = other.bytes_;
      other.clear();
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { clear(); }

  Secret clone() const noexcept { return Secret{view()}; }
  std::span<const std::uint8_t, N> view() const noexcept { return bytes_; }
  std::span<std::uint8_t, N> mut() noexcept { return bytes_; }
  const std::uint8_t* data() const noexcept { return bytes_.data(); }
  void clear() noexcept { wipe(bytes_.data(), N); }
  friend bool operator==(const Secret& a, const Secret& b) noexcept {
    return equal_secret(a.bytes_, b.bytes_);
  }

 private:
  std::array<std::uint8_t, N> bytes_{};
};

using Secret32 = Secret<32>;

}  // namespace weft::crypto
