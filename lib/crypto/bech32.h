/// Bech32 (BIP 173, checksum constant 1) of whole bytes, as NIP-19 uses it for npub and nsec.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace weft::crypto {

/// `hrp` is lower-case ASCII.
std::string bech32_encode(std::string_view hrp, Bytes data);

/// The data after `hrp`, exactly out.size() bytes; `out` is untouched on failure.
/// Errors: a clause for a person. Upper case is fine, mixed case is not; bech32m is refused.
Result<void, std::string_view> bech32_decode(std::string_view hrp, std::string_view text, MutBytes out);

}  // namespace weft::crypto
