/// For fuzz targets: a property that must hold whatever the bytes are.
///
/// A target says what is true of every input, not only that nothing crashes: what decodes also encodes, to
/// bytes that decode to the same; a bound named in a header is kept.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "base/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#define FUZZ_CHECK(condition)                                                             \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

namespace weft::fuzz {

/// What decodes is encoded; that decodes again, and encodes to the same bytes. Returns the encoding, empty
/// when refused.
template <class D, class E>
Buffer round_trip(Bytes in, D decode, E encode) {
  const auto first = decode(in);
  if (!first) return {};
  Buffer once;
  encode(once, *first);
  const auto second = decode(Bytes(once));
  FUZZ_CHECK(second.has_value());
  Buffer twice;
  encode(twice, *second);
  FUZZ_CHECK(once == twice);
  return once;
}

/// For messages without reserved parts: the encoding is what the input began with.
inline void check_begins_with(Bytes in, const Buffer& encoded) {
  FUZZ_CHECK(encoded.size() <= in.size());
  FUZZ_CHECK(equal(in.first(encoded.size()), encoded));
}

/// A few bytes at the front of an input that steer a target; the rest is its data.
class Steer {
 public:
  explicit Steer(Bytes in) : in_(in) {}
  std::uint8_t u8() { return in_.u8(); }
  std::uint16_t u16() { return in_.le<std::uint16_t>(); }
  Bytes rest() { return in_.rest(); }

 private:
  Reader in_;
};

}  // namespace weft::fuzz
