#include "dataplane/mss.h"

#include "dataplane/ip6.h"
#include "offload/checksum.h"
#include "wire/limits.h"

namespace weft {
namespace {

constexpr std::uint16_t kUnknownFlowMss = 1280 - wire::kTcpOverhead;
constexpr std::size_t kTcpChecksumAt = 16;
constexpr std::size_t kUdpChecksumAt = 6;

/// Offset of the value of the first MSS option in a TCP header, 0 when there is none or the options are
/// malformed.
std::size_t find_mss(Bytes tcp_header) {
  for (std::size_t at = wire::kTcpHeader; at < tcp_header.size();) {
    const std::uint8_t kind = tcp_header[at];
    if (kind == 0) return 0;
    if (kind == 1) {
      ++at;
      continue;
    }
    if (at + 1 >= tcp_header.size()) return 0;
    const std::size_t size = tcp_header[at + 1];
    if (size < 2 || at + size > tcp_header.size()) return 0;
    if (kind == 2) return size == 4 ? at + 2 : 0;
    at += size;
  }
  return 0;
}

}  // namespace

std::uint16_t mss_ceiling(std::uint16_t transport_mtu, std::optional<std::uint16_t> flow_mtu) {
  const auto less = [](std::uint16_t mtu) {
    return static_cast<std::uint16_t>(mtu > wire::kTcpOverhead ? mtu - wire::kTcpOverhead : 0);
  };
  const std::uint16_t flow = flow_mtu ? less(*flow_mtu) : std::uint16_t{0};
  return flow > 0 ? flow : std::min(less(transport_mtu), kUnknownFlowMss);
}

bool clamp_mss(MutBytes packet, std::uint16_t ceiling) {
  if (packet.size() < ip6::kHeader + wire::kTcpHeader || packet[6] != ip6::kTcp || ceiling == 0) return false;
  std::uint8_t* tcp = packet.data() + ip6::kHeader;
  if ((tcp[13] & 0x02) == 0) return false;
  const std::size_t header = (tcp[12] >> 4) * std::size_t{4};
  if (header < wire::kTcpHeader || ip6::kHeader + header > packet.size()) return false;
  const std::size_t at = find_mss(Bytes(tcp, header));
  if (at == 0 || load_be<std::uint16_t>(tcp + at) <= ceiling) return false;
  store_be<std::uint16_t>(tcp + at, ceiling);
  return complete_checksum(packet);
}

bool complete_checksum(MutBytes packet) {
  if (packet.size() < ip6::kHeader) return false;
  const bool tcp = packet[6] == ip6::kTcp;
  if (!tcp && packet[6] != ip6::kUdp) return false;
  const MutBytes segment = packet.subspan(ip6::kHeader);
  if (segment.size() < (tcp ? wire::kTcpHeader : std::size_t{8})) return false;
  std::uint8_t* sum = segment.data() + (tcp ? kTcpChecksumAt : kUdpChecksumAt);
  store_be<std::uint16_t>(sum, 0);
  const auto seed =
      offload::pseudo_header_sum(packet.data(), packet[6], static_cast<std::uint32_t>(segment.size()));
  auto value = static_cast<std::uint16_t>(~offload::checksum_fold(offload::checksum_add(segment, seed)));
  if (value == 0 && !tcp) value = 0xffff;
  store_be<std::uint16_t>(sum, value);
  return true;
}

}  // namespace weft
