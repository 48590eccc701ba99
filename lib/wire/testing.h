/// For this room's tests: messages cut at every length, each in a buffer of exactly its size so that an
/// over-read is seen.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/bytes.h"
#include "base/drop.h"
#include "base/ids.h"
#include "wire/coord.h"

namespace weft::wire {

/// First byte v, the rest zero.
inline NodeAddr node(unsigned v) {
  NodeAddr a;
  a.bytes[0] = static_cast<std::uint8_t>(v);
  return a;
}
inline Path path_of(std::initializer_list<unsigned> values) {
  Path p;
  for (const auto v : values) p.push_back(node(v));
  return p;
}
inline Path long_path(std::size_t n) {
  Path p(n);
  for (std::size_t i = 0; i < n; ++i)
    store_le<std::uint32_t>(p[i].bytes.data(), static_cast<std::uint32_t>(i + 1));
  return p;
}

/// Calls `decode` on the first n bytes of `message`, with nothing readable behind them.
template <class F>
auto on_exactly(Bytes message, std::size_t n, F decode) {
  const auto heap = std::make_unique<std::uint8_t[]>(n);
  std::copy_n(message.begin(), n, heap.get());
  return decode(Bytes(heap.get(), n)).has_value();
}

/// Every cut shorter than `whole` is refused; from there on the message is taken.
template <class F>
void expect_refuses_cuts(Bytes message, std::size_t whole, F decode) {
  for (std::size_t n = 0; n <= message.size(); ++n)
    EXPECT_EQ(on_exactly(message, n, decode), n >= whole) << "cut to " << n << " of " << message.size();
}

template <class T>
void expect_drop(const Result<T, Drop>& r, Drop why) {
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(name_of(r.error()), name_of(why));
}

inline Buffer with(Buffer b, std::size_t at, std::uint8_t value) {
  b.at(at) = value;
  return b;
}

}  // namespace weft::wire
