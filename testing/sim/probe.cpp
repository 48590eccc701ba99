#include "sim/probe.h"

#include "dataplane/ip6.h"
#include "dataplane/mss.h"

namespace weft::sim {
namespace {

constexpr std::uint64_t kMarker = 0x7765667470726f62ULL;
constexpr std::size_t kUdpAt = ip6::kHeader;
constexpr std::size_t kDataAt = kUdpAt + 8;
constexpr std::size_t kFragmentHeader = 8;

Buffer make(const MeshAddr& from, const MeshAddr& to, std::size_t size, std::uint64_t number) {
  Buffer p(std::max(size, Probes::kSmallest));
  p[0] = 0x60;
  store_be<std::uint16_t>(p.data() + 4, static_cast<std::uint16_t>(p.size() - ip6::kHeader));
  p[6] = ip6::kUdp;
  p[7] = 64;
  std::memcpy(p.data() + 8, from.bytes.data(), 16);
  std::memcpy(p.data() + 24, to.bytes.data(), 16);
  store_be<std::uint16_t>(p.data() + kUdpAt, static_cast<std::uint16_t>(1024 + number % 60000));
  store_be<std::uint16_t>(p.data() + kUdpAt + 2, 7);
  store_be<std::uint16_t>(p.data() + kUdpAt + 4, static_cast<std::uint16_t>(p.size() - kUdpAt));
  store_be<std::uint64_t>(p.data() + kDataAt, kMarker);
  store_be<std::uint64_t>(p.data() + kDataAt + 8, number);
  for (std::size_t i = kDataAt + 16; i < p.size(); ++i) p[i] = static_cast<std::uint8_t>(i * 13 + number);
  complete_checksum(p);
  return p;
}

}  // namespace

std::size_t Probes::send(SimNode& from, SimNode& to, std::size_t size) {
  const std::size_t number = probes_.size();
  probes_.push_back({from.id(), to.id(), net_.now(), {}, 0});
  from.send_packet(make(from.identity().mesh_addr(), to.identity().mesh_addr(), size, number));
  return number;
}

void Probes::on_packet(SimNode& at, Bytes packet) {
  if (packet.size() < ip6::kHeader + 8) return;
  switch (packet[6]) {
    case ip6::kUdp:
      return on_udp(at, packet);
    case ip6::kFragment:
      return on_fragment(at, packet);
    case ip6::kIcmp:
      if (packet[kUdpAt] == 2) too_big_[at.id()] = load_be<std::uint32_t>(packet.data() + kUdpAt + 4);
      if (packet[kUdpAt] == 1) ++unreachables_;
      return;
    default:
      return;
  }
}

void Probes::on_udp(SimNode& at, Bytes packet) {
  if (packet.size() < kSmallest || load_be<std::uint64_t>(packet.data() + kDataAt) != kMarker) return;
  const auto number = load_be<std::uint64_t>(packet.data() + kDataAt + 8);
  if (number >= probes_.size()) return void(++wrong_);
  Probe& probe = probes_[number];
  const Buffer expected = make(ip6::source(packet), ip6::dest(packet), packet.size(), number);
  if (probe.to != at.id() || ip6::dest(packet) != at.identity().mesh_addr() || !equal(expected, packet))
    return void(++wrong_);
  if (probe.copies++ > 0) return void(++repeated_);
  probe.arrived = net_.now();
}

void Probes::on_fragment(SimNode& at, Bytes packet) {
  ++fragments_;
  const Bytes header = packet.subspan(ip6::kHeader, kFragmentHeader);
  const auto field = load_be<std::uint16_t>(header.data() + 2);
  const std::size_t offset = field & 0xfff8;
  const Bytes data = packet.subspan(ip6::kHeader + kFragmentHeader);
  const std::pair key{ip6::source(packet), load_be<std::uint32_t>(header.data() + 4)};
  Pieces& p = pieces_[key];
  p.by_offset[offset] = Buffer(data.begin(), data.end());
  if ((field & 1) == 0) p.total = offset + data.size();
  if (!p.total) return;
  Buffer whole(packet.begin(), packet.begin() + ip6::kHeader);
  for (const auto& [o, bytes] : p.by_offset) {
    if (o != whole.size() - ip6::kHeader) return;  // one is missing
    whole.insert(whole.end(), bytes.begin(), bytes.end());
  }
  if (whole.size() - ip6::kHeader != *p.total) return;
  whole[6] = header[0];
  store_be<std::uint16_t>(whole.data() + 4, static_cast<std::uint16_t>(*p.total));
  pieces_.erase(key);
  on_udp(at, whole);
}

std::optional<std::uint32_t> Probes::too_big_at(NodeId node) const {
  const auto it = too_big_.find(node);
  return it == too_big_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace weft::sim
