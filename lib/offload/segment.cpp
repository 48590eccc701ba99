#include "offload/segment.h"

#include "offload/headers.h"

namespace weft::offload {
namespace {

struct Transport {
  std::uint8_t protocol = 0;
  std::size_t at = 0;
};

// Behind the extension headers that do not change what the checksum covers. A routing header does (its last
// address counts), a fragment is never a super-packet: both are left to the caller's refusal, as is
// everything unknown.
Transport find_transport(Bytes packet) {
  constexpr std::uint8_t kHopByHop = 0;
  constexpr std::uint8_t kDestination = 60;
  Transport t{packet[6], kIp6Header};
  while ((t.protocol == kHopByHop || t.protocol == kDestination) && t.at + 8 <= packet.size()) {
    t.protocol = packet[t.at];
    t.at += (std::size_t{packet[t.at + 1]} + 1) * 8;
  }
  return t;
}

}  // namespace

Result<Segmenter, Drop> Segmenter::open(const VnetHeader& vnet, Bytes packet) {
  if (packet.empty()) return bad(Drop::packet_truncated);
  if (packet[0] >> 4 != 6) return bad(Drop::not_ipv6);
  if (packet.size() < kIp6Header) return bad(Drop::packet_truncated);
  const std::size_t said = kIp6Header + load_be<std::uint16_t>(packet.data() + 4);
  if (said > packet.size()) return bad(Drop::packet_truncated);
  return vnet.gso_type == kGsoNone ? open_single(vnet, packet.first(said))
                                   : open_super(vnet, packet.first(said));
}

Result<Segmenter, Drop> Segmenter::open_single(const VnetHeader& vnet, Bytes packet) {
  Segmenter s;
  s.count_ = 1;
  s.header_size_ = kIp6Header;
  if (vnet.flags & kNeedsChecksum) {
    s.kind_ = Kind::open_sum;
    s.l4_ = vnet.sum_start;
    s.sum_at_ = s.l4_ + vnet.sum_offset;
    s.header_size_ = s.sum_at_ + 2;
    if (s.l4_ < kIp6Header || vnet.sum_offset % 2 != 0 || s.header_size_ > packet.size() ||
        s.header_size_ > kMaxHeaders)
      return bad(Drop::bad_offload);
  }
  std::memcpy(s.header_.data(), packet.data(), s.header_size_);
  s.payload_ = packet.subspan(s.header_size_);
  s.step_ = s.payload_.size();
  return s;
}

Result<Segmenter, Drop> Segmenter::open_super(const VnetHeader& vnet, Bytes packet) {
  const bool tcp = (vnet.gso_type & ~kGsoEcn) == kGsoTcp6;
  if (!tcp && vnet.gso_type != kGsoUdp) return bad(Drop::bad_offload);
  if (!(vnet.flags & kNeedsChecksum) || vnet.segment_bytes == 0) return bad(Drop::bad_offload);
  const auto t = find_transport(packet);
  const std::size_t least = tcp ? kTcpHeader : kUdpHeader;
  if (t.protocol != (tcp ? kProtoTcp : kProtoUdp) || t.at != vnet.sum_start ||
      vnet.sum_offset != (tcp ? kTcpSumOffset : kUdpSumOffset) || t.at + least > packet.size())
    return bad(Drop::bad_offload);
  Segmenter s;
  s.kind_ = tcp ? Kind::tcp : Kind::udp;
  s.l4_ = t.at;
  s.sum_at_ = t.at + vnet.sum_offset;
  s.header_size_ = t.at + (tcp ? tcp_header_size(packet.data() + t.at) : kUdpHeader);
  if (s.header_size_ < t.at + least || s.header_size_ > kMaxHeaders || s.header_size_ >= packet.size())
    return bad(Drop::bad_offload);
  std::memcpy(s.header_.data(), packet.data(), s.header_size_);
  s.payload_ = packet.subspan(s.header_size_);
  s.step_ = vnet.segment_bytes;
  s.count_ = (s.payload_.size() + s.step_ - 1) / s.step_;
  if (tcp) {
    s.sequence_ = load_be<std::uint32_t>(s.header_.data() + s.l4_ + 4);
    s.flags_ = s.header_[s.l4_ + 13];
    if (s.flags_ & (kTcpSyn | kTcpRst)) return bad(Drop::bad_offload);
  }
  return s;
}

Bytes Segmenter::advance() {
  const auto at = done_ * step_;
  const Bytes payload = payload_.subspan(at, std::min(step_, payload_.size() - at));
  patch(payload);
  ++done_;
  return payload;
}

void Segmenter::patch(Bytes payload) {
  if (kind_ != Kind::tcp && kind_ != Kind::udp) return;
  std::uint8_t* const l4 = header_.data() + l4_;
  const auto l4_bytes = static_cast<std::uint16_t>(header_size_ - l4_ + payload.size());
  store_be(header_.data() + 4, static_cast<std::uint16_t>(header_size_ - kIp6Header + payload.size()));
  if (kind_ == Kind::udp) {
    store_be(l4 + 4, l4_bytes);
    return;
  }
  std::uint8_t flags = flags_;
  if (done_ + 1 < count_) flags = static_cast<std::uint8_t>(flags & ~(kTcpFin | kTcpPsh));
  if (done_ > 0) flags = static_cast<std::uint8_t>(flags & ~kTcpCwr);
  l4[13] = flags;
  store_be(l4 + 4, sequence_);
  sequence_ += static_cast<std::uint32_t>(payload.size());
}

void Segmenter::store_sum(Sum payload_sum, std::size_t payload_size) {
  if (kind_ == Kind::plain) return;
  std::uint8_t* const field = header_.data() + sum_at_;
  const Bytes l4 = Bytes(header_).subspan(l4_, header_size_ - l4_);
  if (kind_ == Kind::open_sum) {  // the field holds the pseudo-header's part
    store_be(field, finished_sum(checksum_add(l4, payload_sum), sum_at_ - l4_ == kUdpSumOffset));
    return;
  }
  store_be(field, std::uint16_t{0});
  const bool udp = kind_ == Kind::udp;
  const auto l4_bytes = static_cast<std::uint32_t>(l4.size() + payload_size);
  const Sum pseudo = pseudo_header_sum(header_.data(), udp ? kProtoUdp : kProtoTcp, l4_bytes);
  store_be(field, finished_sum(checksum_add(l4, payload_sum + pseudo), udp));
}

bool Segmenter::next(Segment& out) {
  if (done_ == count_) return false;
  const Bytes payload = advance();
  if (kind_ != Kind::plain) store_sum(checksum_add(payload), payload.size());
  out = {Bytes(header_).first(header_size_), payload};
  return true;
}

std::size_t Segmenter::write_next(MutBytes out) {
  if (done_ == count_ || out.size() < max_packet()) return 0;
  const Bytes payload = advance();
  if (kind_ == Kind::plain) {
    if (!payload.empty()) std::memcpy(out.data() + header_size_, payload.data(), payload.size());
  } else {
    store_sum(checksum_copy(out.data() + header_size_, payload), payload.size());
  }
  std::memcpy(out.data(), header_.data(), header_size_);
  return header_size_ + payload.size();
}

}  // namespace weft::offload
