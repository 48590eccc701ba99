/// Offsets and flags of the headers that this room reads and writes. Private to the room.
#pragma once

#include "offload/checksum.h"

namespace weft::offload {

constexpr std::size_t kIp6Header = 40;
constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kTcpHeader = 20;

constexpr std::uint8_t kProtoTcp = 6;
constexpr std::uint8_t kProtoUdp = 17;
constexpr std::uint8_t kProtoIcmp6 = 58;

constexpr std::size_t kTcpSumOffset = 16;
constexpr std::size_t kUdpSumOffset = 6;

constexpr std::uint8_t kTcpFin = 0x01;
constexpr std::uint8_t kTcpSyn = 0x02;
constexpr std::uint8_t kTcpRst = 0x04;
constexpr std::uint8_t kTcpPsh = 0x08;
constexpr std::uint8_t kTcpAck = 0x10;
constexpr std::uint8_t kTcpCwr = 0x80;

/// Bytes of the TCP header at `tcp`, as its data offset says: 0 to 60.
inline std::size_t tcp_header_size(const std::uint8_t* tcp) {
  return static_cast<std::size_t>(tcp[12] >> 4) * 4;
}

/// What goes into a checksum field for this sum. UDP writes a zero as its other form, since zero there means
/// "none".
inline std::uint16_t finished_sum(Sum sum, bool udp) {
  const auto v = static_cast<std::uint16_t>(~checksum_fold(sum));
  return udp && v == 0 ? std::uint16_t{0xffff} : v;
}

}  // namespace weft::offload
