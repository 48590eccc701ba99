#include "offload/checksum.h"

#include <bit>

namespace weft::offload {
namespace {

// 32-bit words into 64-bit lanes: no carry to chase, and folding to 16 bits gives the same value, because
// 2^32 and 2^16 are both 1 modulo 0xffff.
using Lanes4 = std::uint64_t __attribute__((vector_size(32)));
using Lanes2 = std::uint64_t __attribute__((vector_size(16)));

template <class Lanes, bool kCopy>
[[gnu::always_inline]] inline Sum run(std::uint8_t* to, const std::uint8_t* p, std::size_t n, Sum seed) {
  Lanes low{};
  Lanes high{};
  for (; n >= sizeof(Lanes); n -= sizeof(Lanes), p += sizeof(Lanes)) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    if constexpr (kCopy) {
      std::memcpy(to, &v, sizeof v);
      to += sizeof v;
    }
    low += v & 0xffffffffU;
    high += v >> 32;
  }
  low += high;
  Sum sum = 0;
  for (std::size_t i = 0; i < sizeof(Lanes) / 8; ++i) sum += low[i];
  if constexpr (kCopy)
    if (n > 0) std::memcpy(to, p, n);
  for (; n >= 4; n -= 4, p += 4) {
    std::uint32_t v;
    std::memcpy(&v, p, 4);
    sum += v;
  }
  std::uint32_t tail = 0;  // zero bytes behind the end count nothing
  if (n > 0) std::memcpy(&tail, p, n);
  sum += tail;
  return seed + (sum & 0xffffffffU) + (sum >> 32);
}

template <bool kCopy>
Sum baseline(std::uint8_t* to, const std::uint8_t* p, std::size_t n, Sum seed) {
  return run<Lanes2, kCopy>(to, p, n, seed);
}

#if defined(__x86_64__)
template <bool kCopy>
__attribute__((target("avx2"))) Sum wide(std::uint8_t* to, const std::uint8_t* p, std::size_t n, Sum seed) {
  return run<Lanes4, kCopy>(to, p, n, seed);
}
bool has_wide() {
  static const bool yes = __builtin_cpu_supports("avx2");
  return yes;
}
#endif

template <bool kCopy>
Sum dispatch(std::uint8_t* to, Bytes b, Sum seed) {
#if defined(__x86_64__)
  if (b.size() >= 64 && has_wide()) return wide<kCopy>(to, b.data(), b.size(), seed);
#endif
  return baseline<kCopy>(to, b.data(), b.size(), seed);
}

std::uint16_t network(std::uint16_t v) {
  if constexpr (std::endian::native == std::endian::little)
    return static_cast<std::uint16_t>((v << 8) | (v >> 8));
  return v;
}

}  // namespace

Sum checksum_add(Bytes b, Sum seed) { return dispatch<false>(nullptr, b, seed); }

Sum checksum_copy(std::uint8_t* to, Bytes from, Sum seed) { return dispatch<true>(to, from, seed); }

Sum checksum_add_u16(std::uint16_t v, Sum seed) { return seed + network(v); }

Sum pseudo_header_sum(const std::uint8_t* ip6, std::uint8_t next_header, std::uint32_t length) {
  Sum s = checksum_add(Bytes(ip6 + 8, 32));
  s = checksum_add_u16(next_header, s);
  s = checksum_add_u16(static_cast<std::uint16_t>(length >> 16), s);
  return checksum_add_u16(static_cast<std::uint16_t>(length), s);
}

std::uint16_t checksum_fold(Sum sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return network(static_cast<std::uint16_t>(sum));
}

}  // namespace weft::offload
