#include "offload/coalesce.h"

#include "offload/headers.h"

namespace weft::offload {
namespace {

std::uint32_t flow_slot(const std::uint8_t* p) {
  std::uint64_t h = load_le<std::uint32_t>(p + kIp6Header) + p[6];  // ports, protocol
  for (std::size_t i = 8; i < kIp6Header; i += 8)
    h = (h ^ load_le<std::uint64_t>(p + i)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::uint32_t>(h >> 56);
}

bool same(const std::uint8_t* a, const std::uint8_t* b, std::size_t from, std::size_t to) {
  return std::memcmp(a + from, b + from, to - from) == 0;
}

bool same_flow(const std::uint8_t* a, const std::uint8_t* b) {
  return a[6] == b[6] && same(a, b, 8, kIp6Header + 4);
}

// Valid, and written the way we would write it: the other form of zero would not survive the round trip.
bool sum_is_ours(Bytes packet, bool udp) {
  const std::size_t at = kIp6Header + (udp ? kUdpSumOffset : kTcpSumOffset);
  const auto field = load_be<std::uint16_t>(packet.data() + at);
  if (udp ? field == 0 : field == 0xffff) return false;
  const Bytes l4 = packet.subspan(kIp6Header);
  const Sum pseudo =
      pseudo_header_sum(packet.data(), udp ? kProtoUdp : kProtoTcp, static_cast<std::uint32_t>(l4.size()));
  return checksum_fold(checksum_add(l4, pseudo)) == 0xffff;
}

}  // namespace

Coalescer::Parsed Coalescer::parse(Bytes packet) const {
  Parsed out;
  if (packet.size() < kIp6Header + kUdpHeader || packet[0] >> 4 != 6) return out;
  const std::uint8_t* const p = packet.data();
  const bool whole =
      load_be<std::uint16_t>(p + 4) == packet.size() - kIp6Header && packet.size() <= kMaxJoined;
  if (p[6] == kProtoUdp) {
    out.kind = Kind::udp;
    out.header_size = kIp6Header + kUdpHeader;
    out.joinable = udp_ && whole &&
                   load_be<std::uint16_t>(p + kIp6Header + 4) == packet.size() - kIp6Header &&
                   packet.size() > out.header_size;
  } else if (p[6] == kProtoTcp) {
    out.kind = Kind::tcp;
    if (tcp_ && whole && packet.size() > kIp6Header + kTcpHeader) {
      const auto size = tcp_header_size(p + kIp6Header);
      const auto flags = p[kIp6Header + 13];
      out.header_size = static_cast<std::uint16_t>(kIp6Header + size);
      out.joinable = size >= kTcpHeader && packet.size() > out.header_size && (flags & ~kTcpPsh) == kTcpAck &&
                     (p[kIp6Header + 12] & 0x0f) == 0;
    }
  }
  if (out.kind != Kind::other) out.slot = flow_slot(p);
  return out;
}

bool Coalescer::may_join(Group& g, const Parsed& p, Bytes packet) const {
  const Bytes first = packets_[g.first].bytes;
  const std::uint8_t* const a = first.data();
  const std::uint8_t* const b = packet.data();
  const std::size_t size = packet.size() - p.header_size;
  if (!g.open || !p.joinable || p.header_size != g.header_size || size > g.step ||
      std::size_t{p.header_size} + g.bytes + size > kMaxJoined)
    return false;
  // Version, traffic class with ECN, flow label; next header and hop limit.
  if (!same(a, b, 0, 4) || !same(a, b, 6, 8)) return false;
  if (p.kind == Kind::tcp) {
    const std::uint8_t* const t = b + kIp6Header;
    const auto expected = load_be<std::uint32_t>(a + kIp6Header + 4) + g.bytes;
    if (load_be<std::uint32_t>(t + 4) != expected || !same(a, b, kIp6Header + 8, kIp6Header + 13) ||
        !same(a, b, kIp6Header + 14, kIp6Header + 16) || !same(a, b, kIp6Header + 18, p.header_size))
      return false;
  }
  const bool udp = p.kind == Kind::udp;
  if (!g.checked && !sum_is_ours(first, udp)) return false;
  g.checked = true;
  return sum_is_ours(packet, udp);
}

// A packet that is no plain TCP or UDP may still belong to a flow (a fragment, say) and must not be overtaken
// by it.
void Coalescer::close_pair(Bytes packet) {
  for (const auto slot : slots_) {
    if (slot == kNone || !groups_[slot].open) continue;
    const Bytes other = packets_[groups_[slot].first].bytes;
    if (packet.size() < kIp6Header || same(other.data(), packet.data(), 8, kIp6Header))
      groups_[slot].open = false;
  }
}

void Coalescer::add(Bytes packet) {
  const auto p = parse(packet);
  const auto index = static_cast<std::uint32_t>(packets_.size());
  packets_.push_back({packet});
  if (p.kind == Kind::other) {
    if (packet.size() < kIp6Header || packet[6] != kProtoIcmp6) close_pair(packet);
    groups_.push_back({.first = index, .last = index});
    return;
  }
  const bool ends = p.kind == Kind::tcp && p.joinable && (packet[kIp6Header + 13] & kTcpPsh);
  const auto at = slots_[p.slot];
  if (at != kNone && same_flow(packets_[groups_[at].first].bytes.data(), packet.data()) &&
      may_join(groups_[at], p, packet)) {
    Group& g = groups_[at];
    const auto size = static_cast<std::uint32_t>(packet.size() - p.header_size);
    packets_[g.last].next = index;
    g.last = index;
    g.bytes += size;
    ++g.packets;
    g.open = !ends && size == g.step && g.packets < kMaxSegments;
    return;
  }
  // The newest group of the flow takes the slot, joinable or not: what follows it must not jump over it.
  slots_[p.slot] = static_cast<std::uint32_t>(groups_.size());
  Group g{.first = index, .last = index, .header_size = p.header_size, .kind = p.kind};
  if (p.joinable) {
    g.bytes = static_cast<std::uint32_t>(packet.size() - p.header_size);
    g.step = static_cast<std::uint16_t>(g.bytes);
    g.open = !ends;
  }
  groups_.push_back(g);
}

bool Coalescer::next(Write& out) {
  pieces_.clear();
  if (out_ == groups_.size()) {
    packets_.clear();
    groups_.clear();
    slots_.fill(kNone);
    out_ = 0;
    return false;
  }
  const Group& g = groups_[out_++];
  out.vnet = {};
  out.packets = g.packets;
  if (g.packets == 1) pieces_.push_back(packets_[g.first].bytes);
  else build(g, out);
  out.pieces = pieces_;
  return true;
}

void Coalescer::build(const Group& g, Write& out) {
  const bool udp = g.kind == Kind::udp;
  std::memcpy(header_.data(), packets_[g.first].bytes.data(), g.header_size);
  std::uint8_t* const l4 = header_.data() + kIp6Header;
  const auto l4_bytes = static_cast<std::uint16_t>(g.header_size - kIp6Header + g.bytes);
  store_be(header_.data() + 4, l4_bytes);
  if (udp) store_be(l4 + 4, l4_bytes);
  else l4[13] = static_cast<std::uint8_t>(l4[13] | (packets_[g.last].bytes[kIp6Header + 13] & kTcpPsh));
  const auto sum_offset = static_cast<std::uint16_t>(udp ? kUdpSumOffset : kTcpSumOffset);
  const Sum pseudo = pseudo_header_sum(header_.data(), udp ? kProtoUdp : kProtoTcp, l4_bytes);
  store_be(l4 + sum_offset, checksum_fold(pseudo));
  out.vnet = {.flags = kNeedsChecksum,
              .gso_type = udp ? kGsoUdp : kGsoTcp6,
              .header_bytes = g.header_size,
              .segment_bytes = g.step,
              .sum_start = kIp6Header,
              .sum_offset = sum_offset};
  pieces_.push_back(Bytes(header_).first(g.header_size));
  for (auto i = g.first; i != kNone; i = packets_[i].next)
    pieces_.push_back(packets_[i].bytes.subspan(g.header_size));
}

}  // namespace weft::offload
