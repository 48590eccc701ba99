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
/// `arch`: "avx512", "avx2", "sse", or "best" of those. Null when not built in or not for this processor.
std::unique_ptr<Aead> make_ipsec_mb_aead(std::string_view arch);

}  // namespace weft::crypto
