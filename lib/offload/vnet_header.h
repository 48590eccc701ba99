/// What a TUN device says before each packet: how large its segments are, which checksum is still open.
///
/// Source  struct virtio_net_hdr, VIRTIO 1.2 section 5.1.6; little-endian, without num_buffers.
#pragma once

#include "base/bytes.h"

namespace weft::offload {

constexpr std::uint8_t kNeedsChecksum = 0x01;
constexpr std::uint8_t kGsoNone = 0;
constexpr std::uint8_t kGsoTcp6 = 4;
constexpr std::uint8_t kGsoUdp = 5;     // UDP_L4 (USO): one datagram per segment
constexpr std::uint8_t kGsoEcn = 0x80;  // with kGsoTcp6: CWR belongs to the first segment only

constexpr std::size_t kVnetHeaderBytes = 10;
/// The largest IPv6 packet without a jumbo option: what a buffer must hold to read any super-packet.
constexpr std::size_t kMaxSuperPacket = 40 + 65535;

struct VnetHeader {
  std::uint8_t flags = 0;
  std::uint8_t gso_type = kGsoNone;
  std::uint16_t header_bytes = 0;   // of all headers; a hint only, when it comes from the kernel
  std::uint16_t segment_bytes = 0;  // payload of every segment but the last
  std::uint16_t sum_start = 0;      // the open checksum covers the packet from here to its end
  std::uint16_t sum_offset = 0;     // and lies here, counted from sum_start

  bool operator==(const VnetHeader&) const = default;
  std::array<std::uint8_t, kVnetHeaderBytes> encode() const {
    std::array<std::uint8_t, kVnetHeaderBytes> b{flags, gso_type};
    store_le(b.data() + 2, header_bytes);
    store_le(b.data() + 4, segment_bytes);
    store_le(b.data() + 6, sum_start);
    store_le(b.data() + 8, sum_offset);
    return b;
  }
  static VnetHeader decode(const std::array<std::uint8_t, kVnetHeaderBytes>& b) {
    return {b[0],
            b[1],
            load_le<std::uint16_t>(b.data() + 2),
            load_le<std::uint16_t>(b.data() + 4),
            load_le<std::uint16_t>(b.data() + 6),
            load_le<std::uint16_t>(b.data() + 8)};
  }
};

}  // namespace weft::offload
