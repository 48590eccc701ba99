#include "dataplane/fragment.h"

#include "dataplane/ip6.h"

namespace weft {
namespace {
constexpr std::size_t kFragmentHeader = 8;
}

Result<Fragmenter, Drop> Fragmenter::open(Bytes packet, std::size_t mtu, std::uint32_t id) {
  // Repeated in each fragment: what routers on the way look at, that is everything up to hop-by-hop and
  // routing headers.
  std::size_t front = ip6::kHeader;
  std::size_t next_at = 6;
  for (ip6::Upper u{packet[6], ip6::kHeader, 6};
       u.protocol == ip6::kHopByHop || u.protocol == ip6::kRouting || u.protocol == ip6::kOptions;) {
    if (packet.size() < u.at + 8) return bad(Drop::packet_truncated);
    const std::size_t size = (packet[u.at + 1] + std::size_t{1}) * 8;
    if (packet.size() < u.at + size) return bad(Drop::packet_truncated);
    if (u.protocol != ip6::kOptions) {
      front = u.at + size;
      next_at = u.at;
    }
    u = {packet[u.at], u.at + size, u.at};
  }
  Fragmenter f;
  f.next_header_at_ = next_at;
  f.next_header_ = packet[next_at];
  f.front_ = packet.first(front);
  f.id_ = id;
  std::size_t body_at = front;
  if (f.next_header_ == ip6::kFragment) {
    if (packet.size() < front + kFragmentHeader) return bad(Drop::packet_truncated);
    const std::uint16_t word = load_be<std::uint16_t>(packet.data() + front + 2);
    f.next_header_ = packet[front];
    f.base_offset_ = word & 0xfff8U;
    f.more_ = (word & 1) != 0;
    f.id_ = load_be<std::uint32_t>(packet.data() + front + 4);
    body_at += kFragmentHeader;
  }
  f.body_ = packet.subspan(body_at);
  if (mtu < front + kFragmentHeader + 8) return bad(Drop::too_big);
  f.step_ = (mtu - front - kFragmentHeader) / 8 * 8;
  return f;
}

std::size_t Fragmenter::next(MutBytes out) {
  if (done_ >= body_.size()) return 0;
  const std::size_t n = std::min(step_, body_.size() - done_);
  const bool more = more_ || done_ + n < body_.size();
  std::memcpy(out.data(), front_.data(), front_.size());
  out[next_header_at_] = ip6::kFragment;
  const std::size_t total = front_.size() + kFragmentHeader + n;
  store_be<std::uint16_t>(out.data() + 4, static_cast<std::uint16_t>(total - ip6::kHeader));
  std::uint8_t* h = out.data() + front_.size();
  h[0] = next_header_;
  h[1] = 0;
  store_be<std::uint16_t>(h + 2, static_cast<std::uint16_t>((base_offset_ + done_) | (more ? 1U : 0U)));
  store_be<std::uint32_t>(h + 4, id_);
  std::memcpy(h + kFragmentHeader, body_.data() + done_, n);
  done_ += n;
  return total;
}

}  // namespace weft
