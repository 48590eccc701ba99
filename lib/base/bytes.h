/// Borrowed bytes, and the two cursors that every codec is written with.
///
/// Reader  yields zeros after a short read and latches failure: decode first, ask ok() once at the end.
/// Writer  appends to a vector that the caller owns. Integers are little-endian unless the name says be.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft {

using Bytes = std::span<const std::uint8_t>;
using MutBytes = std::span<std::uint8_t>;
using Buffer = std::vector<std::uint8_t>;

inline Bytes as_bytes(std::string_view s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }
inline std::string_view as_text(Bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }
inline bool equal(Bytes a, Bytes b) { return std::ranges::equal(a, b); }

template <class T>
T load_le(const std::uint8_t* p) {
  static_assert(std::is_unsigned_v<T>);
  T v = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) v = static_cast<T>(v | static_cast<T>(static_cast<T>(p[i]) << (8 * i)));
  return v;
}
template <class T>
void store_le(std::uint8_t* p, T v) {
  static_assert(std::is_unsigned_v<T>);
  for (std::size_t i = 0; i < sizeof(T); ++i) p[i] = static_cast<std::uint8_t>(v >> (8 * i));
}
template <class T>
T load_be(const std::uint8_t* p) {
  static_assert(std::is_unsigned_v<T>);
  T v = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) v = static_cast<T>(static_cast<T>(v << (sizeof(T) > 1 ? 8 : 0)) | p[i]);
  return v;
}
template <class T>
void store_be(std::uint8_t* p, T v) {
  static_assert(std::is_unsigned_v<T>);
  for (std::size_t i = 0; i < sizeof(T); ++i) p[i] = static_cast<std::uint8_t>(v >> (8 * (sizeof(T) - 1 - i)));
}

class Reader {
 public:
  explicit Reader(Bytes in) : in_(in) {}

  template <class T>
  T le() {
    const Bytes b = take(sizeof(T));
    return b.empty() ? T{0} : load_le<T>(b.data());
  }
  template <class T>
  T be() {
    const Bytes b = take(sizeof(T));
    return b.empty() ? T{0} : load_be<T>(b.data());
  }
  std::uint8_t u8() { return le<std::uint8_t>(); }
  /// N bytes by value; zeros when the input is short.
  template <std::size_t N>
  std::array<std::uint8_t, N> array() {
    std::array<std::uint8_t, N> out{};
    const Bytes b = take(N);
    if (!b.empty()) std::memcpy(out.data(), b.data(), N);
    return out;
  }
  /// The next n bytes, borrowed; empty (and failed) when fewer are left.
  Bytes take(std::size_t n) {
    if (failed_ || n > in_.size()) {
      failed_ = true;
      return {};
    }
    const Bytes out = in_.first(n);
    in_ = in_.subspan(n);
    return out;
  }
  Bytes rest() { return take(in_.size()); }
  std::size_t left() const { return in_.size(); }
  bool ok() const { return !failed_; }

 private:
  Bytes in_;
  bool failed_ = false;
};

class Writer {
 public:
  explicit Writer(Buffer& out) : out_(out) {}

  template <class T>
  Writer& le(T v) {
    const auto at = out_.size();
    out_.resize(at + sizeof(T));
    store_le<T>(out_.data() + at, v);
    return *this;
  }
  template <class T>
  Writer& be(T v) {
    const auto at = out_.size();
    out_.resize(at + sizeof(T));
    store_be<T>(out_.data() + at, v);
    return *this;
  }
  Writer& u8(std::uint8_t v) {
    out_.push_back(v);
    return *this;
  }
  Writer& raw(Bytes b) {
    out_.insert(out_.end(), b.begin(), b.end());
    return *this;
  }
  std::size_t size() const { return out_.size(); }

 private:
  Buffer& out_;
};

/// Lower-case hexadecimal.
std::string to_hex(Bytes b);
/// Exactly the bytes that the digits spell; false (and `out` untouched) for any other length or character.
bool from_hex(std::string_view text, MutBytes out);

}  // namespace weft
