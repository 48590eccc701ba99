/// The back-ends, for aead.cpp alone.
#pragma once

#include "crypto/aead.h"

namespace weft::crypto {

using Nonce = std::array<std::uint8_t, 12>;
inline Nonce nonce_of(std::uint64_t counter) {
  Nonce n{};
  store_le<std::uint64_t>(n.data() + 4, counter);
  return n;
}

std::unique_ptr<Aead> make_sodium_aead();
/// Null when it is not built in, or when the processor has no AVX2 and `any_cpu` is false.
std::unique_ptr<Aead> make_ipsec_mb_aead(bool any_cpu);

}  // namespace weft::crypto
