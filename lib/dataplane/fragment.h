/// IPv6 fragments, made as the source's own stack would (RFC 8200, 4.5): for packets that IPv6 promises to
/// carry (up to 1280 bytes) and a mesh path does not.
///
/// A packet that is a fragment already is cut further: same identification, offsets added.
/// Errors   too_big (the path has no room for even eight bytes), packet_truncated (headers run out of the
///          packet).
/// Cost     one copy per byte, no allocation.
#pragma once

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"

namespace weft {

class Fragmenter {
 public:
  /// `packet` (40 bytes or more) is borrowed; no fragment is larger than `mtu` bytes.
  static Result<Fragmenter, Drop> open(Bytes packet, std::size_t mtu, std::uint32_t id);

  /// The next fragment, written to `out` (at least `mtu` bytes); its size, 0 when all are out.
  std::size_t next(MutBytes out);
  std::size_t count() const { return (body_.size() + step_ - 1) / step_; }

 private:
  Bytes front_;  // headers that every fragment repeats
  Bytes body_;   // what is split
  std::size_t next_header_at_ = 0;
  std::uint8_t next_header_ = 0;  // of the body
  std::size_t step_ = 0;          // body bytes per fragment, a multiple of eight
  std::size_t done_ = 0;
  std::size_t base_offset_ = 0;  // of the body within the original, bytes
  bool more_ = false;            // the original had more behind this packet
  std::uint32_t id_ = 0;
};

}  // namespace weft
