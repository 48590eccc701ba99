/// IPv6 with its 40-byte header pressed into 7: what both ends of a session know is left out.
///
///   0 format 0   1 first four header bytes verbatim (version, class, flow label)   5 next header   6 hop
///   limit   7 the rest
///
/// The rebuilt addresses are those of the session, so an inner source cannot be forged.
/// Cost     packet path: no allocation, the payload is not touched.
/// Source   docs/spec/session.md section 2.2; mesh.md section 5.9.
#pragma once

#include "base/drop.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/limits.h"

namespace weft::wire {

using Shim = std::array<std::uint8_t, kShimHeader>;
using Ip6Header = std::array<std::uint8_t, kIp6Header>;

/// The shim that takes the place of packet[0..40]; its caller writes it at packet + 33.
/// Errors: packet_truncated, not_ipv6. The payload-length field is not consulted.
inline Result<Shim, Drop> shim_of(Bytes packet) noexcept {
  if (packet.size() < kIp6Header) return bad(Drop::packet_truncated);
  const std::uint8_t* p = packet.data();
  if ((p[0] >> 4) != 6) return bad(Drop::not_ipv6);
  return Shim{0, p[0], p[1], p[2], p[3], p[6], p[7]};
}

/// The header that takes the place of shimmed[0..7], 33 bytes in front of it.
/// Errors: bad_shim (short, unknown format), rebuilt_too_long.
inline Result<Ip6Header, Drop> ip6_header_of(Bytes shimmed, const MeshAddr& from,
                                             const MeshAddr& to) noexcept {
  if (shimmed.size() < kShimHeader || shimmed[0] != 0) return bad(Drop::bad_shim);
  const std::size_t n = shimmed.size() - kShimHeader;
  if (n + kIp6Header > kMaxIpPacket) return bad(Drop::rebuilt_too_long);
  const std::uint8_t* p = shimmed.data();
  Ip6Header h;
  h[0] = static_cast<std::uint8_t>((p[1] & 0x0f) | 0x60);
  h[1] = p[2];
  h[2] = p[3];
  h[3] = p[4];
  store_be<std::uint16_t>(h.data() + 4, static_cast<std::uint16_t>(n));
  h[6] = p[5];
  h[7] = p[6];
  std::memcpy(h.data() + 8, from.bytes.data(), 16);
  std::memcpy(h.data() + 24, to.bytes.data(), 16);
  return h;
}

/// Marks an ECN-capable packet as having met congestion; leaves Not-ECT and anything under two bytes alone.
/// IPv6 has no header checksum to mend. True when the packet bears the mark afterwards.
inline bool mark_congested(MutBytes packet) noexcept {
  if (packet.size() < 2) return false;
  if ((packet[1] & 0x30) == 0)
    return false;  // class: low nibble of byte 0, high nibble of byte 1; ECN is its low two bits
  packet[1] |= 0x30;
  return true;
}

/// Both directions for whole packets, for tests and tools; the packet path works in place.
Result<Buffer, Drop> compress_ip6(Bytes packet);
Result<Buffer, Drop> rebuild_ip6(Bytes shimmed, const MeshAddr& from, const MeshAddr& to);

}  // namespace weft::wire
