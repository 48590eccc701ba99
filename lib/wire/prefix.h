/// The four bytes that begin every link frame and every session payload.
///
///   0  version (high nibble, 0), phase (low nibble)    1  flags    2  length u16, meaning depends on the
///   phase
#pragma once

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"
#include "wire/limits.h"

namespace weft::wire {

struct Prefix {
  std::uint8_t version = 0;
  std::uint8_t phase = 0;
  std::uint8_t flags = 0;
  std::uint16_t length = 0;

  bool operator==(const Prefix&) const = default;
};

/// Errors: too_short. Version and phase are for the caller to judge.
inline Result<Prefix, Drop> decode_prefix(Bytes in) noexcept {
  if (in.size() < kPrefix) return bad(Drop::too_short);
  Prefix p;
  p.version = static_cast<std::uint8_t>(in[0] >> 4);
  p.phase = in[0] & 0x0f;
  p.flags = in[1];
  p.length = load_le<std::uint16_t>(in.data() + 2);
  return p;
}

/// Fills out[0..4]; `out` holds at least that much.
inline void write_prefix(MutBytes out, const Prefix& p) noexcept {
  out[0] = static_cast<std::uint8_t>((p.version << 4) | (p.phase & 0x0f));
  out[1] = p.flags;
  store_le<std::uint16_t>(out.data() + 2, p.length);
}

void encode_prefix(Buffer& out, const Prefix& p);

}  // namespace weft::wire
