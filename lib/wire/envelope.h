/// The envelope (SessionDatagram, type 0x00): who a session payload is from, whom it is for, how far it may
/// go.
///
///   0  type 0x00    1  ttl    2  path_mtu u16    4  source    20  destination    36  session payload, may be
///   empty
///
/// Delivery is never gated by ttl; only forwarding is.
/// Cost     all of this is on the packet path: no allocation, no copy of the payload.
/// Source   docs/spec/mesh.md sections 4.1, 4.2.
#pragma once

#include "base/ids.h"
#include "wire/limits.h"
#include "wire/link_msg.h"

namespace weft::wire {

struct Envelope {
  std::uint8_t ttl = kInitialTtl;
  std::uint16_t path_mtu = kMtuUnknown;  // smallest link MTU so far, bytes
  NodeAddr from;
  NodeAddr to;
  Bytes payload;  // borrows the message
};

/// `message` begins with its type byte. Errors: too_short, wrong_type.
inline Result<Envelope, Drop> decode_envelope(Bytes message) noexcept {
  Result<Envelope, Drop>
      out;  // the only thing returned, so that it is built in place: a copy costs more than the rest
  const std::uint8_t* p = message.data();
  if (message.size() < kEnvelopeHeader) {
    out = bad(Drop::too_short);
  } else if (p[0] != static_cast<std::uint8_t>(LinkMsg::envelope)) {
    out = bad(Drop::wrong_type);
  } else {
    out->ttl = p[1];
    out->path_mtu = load_le<std::uint16_t>(p + 2);
    std::memcpy(out->from.bytes.data(), p + 4, 16);
    std::memcpy(out->to.bytes.data(), p + 20, 16);
    out->payload = message.subspan(kEnvelopeHeader);
  }
  return out;
}

/// Fills out[0..36] and leaves the payload behind it alone; `e.payload` is not looked at.
inline void write_envelope_header(MutBytes out, const Envelope& e) noexcept {
  std::uint8_t* p = out.first<kEnvelopeHeader>().data();
  p[0] = static_cast<std::uint8_t>(LinkMsg::envelope);
  p[1] = e.ttl;
  store_le<std::uint16_t>(p + 2, e.path_mtu);
  std::memcpy(p + 4, e.from.bytes.data(), 16);
  std::memcpy(p + 20, e.to.bytes.data(), 16);
}

/// Makes a decoded envelope ready for the next hop, in place: one hop less, path MTU no larger than the
/// link's. Errors: ttl_spent (the hop limit ends here; the message is untouched).
inline Result<void, Drop> advance_envelope(MutBytes message, std::uint16_t link_mtu) noexcept {
  std::uint8_t* p = message.first<kEnvelopeHeader>().data();
  if (p[1] <= 1) return bad(Drop::ttl_spent);
  --p[1];
  if (link_mtu < load_le<std::uint16_t>(p + 2)) store_le<std::uint16_t>(p + 2, link_mtu);
  return {};
}

/// Appends header and payload.
void encode_envelope(Buffer& out, const Envelope& e);

}  // namespace weft::wire
