/// SHA-256, and HKDF over it in the one shape that Noise uses.
#pragma once

#include <utility>

#include "crypto/secret.h"

namespace weft::crypto {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(Bytes in);
/// Of the concatenation.
Digest sha256(Bytes a, Bytes b);

/// HKDF-SHA256 with empty info: 64 bytes, as two halves. RFC 5869.
std::pair<Secret32, Secret32> hkdf_pair(std::span<const std::uint8_t, 32> salt, Bytes input);

}  // namespace weft::crypto
