/// Reading an IPv6 packet's headers without trusting them.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::ip6 {

constexpr std::size_t kHeader = 40;
constexpr std::size_t kMinMtu = 1280;  // every IPv6 link carries this
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kIcmp = 58;
constexpr std::uint8_t kOptions = 60;

/// packet.size() >= 40 for all of these.
inline MeshAddr source(Bytes packet) { return MeshAddr::from(packet.subspan(8)); }
inline MeshAddr dest(Bytes packet) { return MeshAddr::from(packet.subspan(24)); }

struct Upper {
  std::uint8_t protocol = 0;
  std::size_t at = 0;       // of its header
  std::size_t next_at = 0;  // of the byte that names it
};

/// The first header behind hop-by-hop, routing and destination options; nullopt when the chain runs out of
/// the packet.
inline std::optional<Upper> upper(Bytes packet) {
  Upper u{packet[6], kHeader, 6};
  while (u.protocol == kHopByHop || u.protocol == kRouting || u.protocol == kOptions) {
    if (packet.size() < u.at + 8) return std::nullopt;
    const std::size_t size = (packet[u.at + 1] + std::size_t{1}) * 8;
    if (packet.size() < u.at + size) return std::nullopt;
    u = {packet[u.at], u.at + size, u.at};
  }
  return u;
}

/// A TCP segment with data that neither opens nor ends a connection; no other header before TCP's.
inline bool carries_tcp_data(Bytes packet) {
  constexpr std::size_t kTcpHeader = 20;
  constexpr std::uint8_t kFinSynRst = 0x07;
  if (packet.size() < kHeader + kTcpHeader || packet[6] != kTcp) return false;
  return packet.size() > kHeader + (packet[kHeader + 12] >> 4U) * std::size_t{4} &&
         (packet[kHeader + 13] & kFinSynRst) == 0;
}

}  // namespace weft::ip6
