#include "wire/own_msg.h"

#include <cstring>

#include "wire/link_msg.h"

namespace weft::wire {
namespace {

constexpr std::uint8_t kAnswer = 1;

/// Past the type byte, when it is `type`.
Result<Reader, Drop> open(Bytes message, LinkMsg type) noexcept {
  if (message.empty()) return bad(Drop::too_short);
  Reader in{message};
  if (in.u8() != static_cast<std::uint8_t>(type)) return bad(Drop::wrong_type);
  return in;
}

Writer begin(Buffer& out, LinkMsg type, std::uint8_t flags = 0) {
  Writer w(out);
  w.u8(static_cast<std::uint8_t>(type)).u8(flags);
  return w;
}

}  // namespace

Result<Hello, Drop> decode_hello(Bytes message) noexcept {
  auto in = open(message, LinkMsg::hello);
  if (!in) return bad(in.error());
  Hello m;
  m.answer = (in->u8() & kAnswer) != 0;
  m.features = in->le<std::uint32_t>();
  if (!in->ok()) return bad(Drop::too_short);
  return m;
}

void encode_hello(Buffer& out, const Hello& m) {
  begin(out, LinkMsg::hello, m.answer ? kAnswer : std::uint8_t{0}).le(m.features);
}

Result<MtuProbe, Drop> decode_mtu_probe(Bytes message) noexcept {
  auto in = open(message, LinkMsg::mtu_probe);
  if (!in) return bad(in.error());
  (void)in->u8();
  MtuProbe m;
  m.id = in->le<std::uint32_t>();
  m.size = in->le<std::uint16_t>();
  if (!in->ok()) return bad(Drop::too_short);
  if (m.size != message.size() + kFrameCost) return bad(Drop::probe_mismatch);
  return m;
}

void write_mtu_probe(MutBytes message, std::uint32_t id) noexcept {
  std::memset(message.data(), 0, message.size());
  message[0] = static_cast<std::uint8_t>(LinkMsg::mtu_probe);
  store_le<std::uint32_t>(message.data() + 2, id);
  store_le<std::uint16_t>(message.data() + 6, static_cast<std::uint16_t>(message.size() + kFrameCost));
}

Result<MtuNotice, Drop> decode_mtu_notice(Bytes message) noexcept {
  auto in = open(message, LinkMsg::mtu_notice);
  if (!in) return bad(in.error());
  (void)in->u8();
  MtuNotice m;
  m.id = in->le<std::uint32_t>();
  m.size = in->le<std::uint16_t>();
  m.counter = in->le<std::uint64_t>();
  if (!in->ok()) return bad(Drop::too_short);
  return m;
}

void encode_mtu_notice(Buffer& out, const MtuNotice& m) {
  begin(out, LinkMsg::mtu_notice).le(m.id).le(m.size).le(m.counter);
}

Result<MtuAck, Drop> decode_mtu_ack(Bytes message) noexcept {
  auto in = open(message, LinkMsg::mtu_ack);
  if (!in) return bad(in.error());
  (void)in->u8();
  MtuAck m;
  m.id = in->le<std::uint32_t>();
  m.size = in->le<std::uint16_t>();
  if (!in->ok()) return bad(Drop::too_short);
  return m;
}

void encode_mtu_ack(Buffer& out, const MtuAck& m) { begin(out, LinkMsg::mtu_ack).le(m.id).le(m.size); }

}  // namespace weft::wire
