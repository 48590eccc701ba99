#include "wire/link_frame.h"

namespace weft::wire {
namespace {

// Hole-punching probes share the socket; they begin with "NPTC" or "NPTA".
bool is_punch_probe(Bytes d) noexcept {
  return d[0] == 0x4e && d[1] == 0x50 && d[2] == 0x54 && (d[3] == 0x43 || d[3] == 0x41);
}

/// The one size a handshake frame of this phase can have.
constexpr std::size_t handshake_size(LinkPhase p) noexcept {
  return p == LinkPhase::msg1 ? kLinkMsg1Frame : kLinkMsg2Frame;
}

Result<LinkPhase, Drop> expect_handshake(Bytes frame, LinkPhase want) noexcept {
  const auto phase = classify_link_frame(frame);
  if (phase && *phase != want) return bad(Drop::unknown_phase);
  return phase;
}

}  // namespace

Result<LinkPhase, Drop> classify_link_frame(Bytes datagram) noexcept {
  const auto p = decode_prefix(datagram);
  if (!p) return bad(p.error());
  if (p->version != 0) return bad(is_punch_probe(datagram) ? Drop::punch_probe : Drop::wrong_version);
  if (p->phase > 2) return bad(Drop::unknown_phase);
  const auto phase = static_cast<LinkPhase>(p->phase);
  if (phase == LinkPhase::sealed) {
    if (datagram.size() < kMinLinkFrame) return bad(Drop::too_short);
    if (datagram.size() - kMinLinkFrame != p->length) return bad(Drop::wrong_length);
    return phase;
  }
  const auto size = handshake_size(phase);
  if (datagram.size() != size || p->length != size - kPrefix) return bad(Drop::wrong_length);
  if (p->flags != 0) return bad(Drop::bad_flags);
  return phase;
}

Result<LinkMsg1, Drop> decode_link_msg1(Bytes frame) noexcept {
  if (const auto ok = expect_handshake(frame, LinkPhase::msg1); !ok) return bad(ok.error());
  Reader in{frame.subspan(kPrefix)};
  LinkMsg1 m;
  m.sender.value = in.le<std::uint32_t>();
  m.noise = in.array<kIkMsg1>();
  if (!in.ok()) return bad(Drop::too_short);
  return m;
}

Result<LinkMsg2, Drop> decode_link_msg2(Bytes frame) noexcept {
  if (const auto ok = expect_handshake(frame, LinkPhase::msg2); !ok) return bad(ok.error());
  Reader in{frame.subspan(kPrefix)};
  LinkMsg2 m;
  m.sender.value = in.le<std::uint32_t>();
  m.receiver.value = in.le<std::uint32_t>();
  m.noise = in.array<kIkMsg2>();
  if (!in.ok()) return bad(Drop::too_short);
  return m;
}

void encode_link_msg1(Buffer& out, const LinkMsg1& m) {
  encode_prefix(out, {0, 1, 0, kLinkMsg1Frame - kPrefix});
  Writer(out).le<std::uint32_t>(m.sender.value).raw(m.noise);
}

void encode_link_msg2(Buffer& out, const LinkMsg2& m) {
  encode_prefix(out, {0, 2, 0, kLinkMsg2Frame - kPrefix});
  Writer(out).le<std::uint32_t>(m.sender.value).le<std::uint32_t>(m.receiver.value).raw(m.noise);
}

Result<std::size_t, Drop> stream_frame_size(Bytes head, std::size_t max_frame) noexcept {
  const auto p = decode_prefix(head);
  if (!p) return bad(p.error());
  if (p->version != 0) return bad(Drop::wrong_version);
  if (p->phase > 2) return bad(Drop::unknown_phase);
  if (p->phase == 0) {
    const std::size_t size = kMinLinkFrame + p->length;
    if (size > max_frame) return bad(Drop::wrong_length);
    return size;
  }
  const auto size = handshake_size(static_cast<LinkPhase>(p->phase));
  if (p->length != size - kPrefix) return bad(Drop::wrong_length);
  return size;
}

}  // namespace weft::wire
