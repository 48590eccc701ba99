#include "dataplane/icmp6.h"

#include "dataplane/ip6.h"
#include "offload/checksum.h"

namespace weft {
namespace {

constexpr std::uint8_t kMulticast = 0xff;
constexpr std::uint8_t kFirstInformational = 128;
constexpr std::uint8_t kEchoRequest = 128;
constexpr std::uint8_t kHopLimit = 64;
constexpr std::size_t kErrorHeader = 8;

/// Whether the packet may be answered with an error at all.
bool answerable(Bytes packet) {
  if (packet.size() < ip6::kHeader) return false;
  const MeshAddr source = ip6::source(packet);
  if (source.is_zero() || source.bytes[0] == kMulticast) return false;
  const auto upper = ip6::upper(packet);
  if (!upper) return false;
  return upper->protocol != ip6::kIcmp ||
         (packet.size() > upper->at && packet[upper->at] >= kFirstInformational);
}

std::size_t make_error(IcmpError& out, Bytes packet, const MeshAddr& from, std::uint8_t type,
                       std::uint32_t word) {
  const std::size_t quoted = std::min(packet.size(), out.size() - ip6::kHeader - kErrorHeader);
  const std::size_t payload = kErrorHeader + quoted;
  std::uint8_t* p = out.data();
  std::memset(p, 0, ip6::kHeader + kErrorHeader);
  p[0] = 0x60;
  store_be<std::uint16_t>(p + 4, static_cast<std::uint16_t>(payload));
  p[6] = ip6::kIcmp;
  p[7] = kHopLimit;
  std::memcpy(p + 8, from.bytes.data(), 16);
  std::memcpy(p + 24, packet.data() + 8, 16);
  std::uint8_t* icmp = p + ip6::kHeader;
  icmp[0] = type;
  store_be<std::uint32_t>(icmp + 4, word);
  std::memcpy(icmp + kErrorHeader, packet.data(), quoted);
  const auto seed = offload::pseudo_header_sum(p, ip6::kIcmp, static_cast<std::uint32_t>(payload));
  const auto sum = offload::checksum_fold(offload::checksum_add(Bytes(icmp, payload), seed));
  store_be<std::uint16_t>(icmp + 2, static_cast<std::uint16_t>(~sum));
  return ip6::kHeader + payload;
}

}  // namespace

std::size_t make_packet_too_big(IcmpError& out, Bytes packet, std::uint32_t mtu) {
  if (!answerable(packet)) return 0;
  return make_error(out, packet, ip6::dest(packet), 2, std::max<std::uint32_t>(mtu, ip6::kMinMtu));
}

std::size_t make_unreachable(IcmpError& out, Bytes packet, const MeshAddr& self) {
  if (!answerable(packet) || ip6::dest(packet).bytes[0] == kMulticast) return 0;
  return make_error(out, packet, self, 1, 0);
}

Buffer make_echo_request(const MeshAddr& from, const MeshAddr& to, std::uint64_t mark, std::uint16_t sequence,
                         std::size_t size) {
  Buffer b(std::max(size, kSmallestEcho));
  std::uint8_t* p = b.data();
  const std::size_t payload = b.size() - ip6::kHeader;
  p[0] = 0x60;
  store_be<std::uint16_t>(p + 4, static_cast<std::uint16_t>(payload));
  p[6] = ip6::kIcmp;
  p[7] = kHopLimit;
  std::memcpy(p + 8, from.bytes.data(), 16);
  std::memcpy(p + 24, to.bytes.data(), 16);
  std::uint8_t* icmp = p + ip6::kHeader;
  icmp[0] = kEchoRequest;
  store_be<std::uint16_t>(icmp + 4, static_cast<std::uint16_t>(mark));
  store_be<std::uint16_t>(icmp + 6, sequence);
  store_le<std::uint64_t>(icmp + kEchoHeader, mark);
  const auto seed = offload::pseudo_header_sum(p, ip6::kIcmp, static_cast<std::uint32_t>(payload));
  const auto sum = offload::checksum_fold(offload::checksum_add(Bytes(icmp, payload), seed));
  store_be<std::uint16_t>(icmp + 2, static_cast<std::uint16_t>(~sum));
  return b;
}

bool IcmpLimiter::allow(const MeshAddr& source, Instant now) {
  Slot* oldest = slots_.data();
  for (Slot& s : slots_) {
    if (s.used && s.source == source) {
      if (now - s.at < kEvery) return false;
      s.at = now;
      return true;
    }
    if (!s.used || (oldest->used && s.at < oldest->at)) oldest = &s;
  }
  *oldest = {source, now, true};
  return true;
}

}  // namespace weft
