/// Which addresses a peer can reach, as bits.
///
///   0 type 0x20   1 sequence u64   9 hash count 5   10 size class 1   11 bits 1024
///
/// The length is exact: the one message that refuses trailing bytes.
/// Source   docs/spec/mesh.md sections 2.1, 2.5.
#pragma once

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"
#include "wire/limits.h"

namespace weft::wire {

struct FilterAnnounce {
  std::uint64_t sequence = 0;
  Bytes bits;  // kFilterBytes, borrows the message; bit b is bits[b / 8] >> (b % 8)
};

constexpr std::size_t kFilterAnnounceSize = 11 + kFilterBytes;

/// Errors: too_short, wrong_type, bad_filter_size (class), wrong_length, bad_hash_count.
Result<FilterAnnounce, Drop> decode_filter_announce(Bytes message) noexcept;
/// `m.bits` holds kFilterBytes.
void encode_filter_announce(Buffer& out, const FilterAnnounce& m);

}  // namespace weft::wire
