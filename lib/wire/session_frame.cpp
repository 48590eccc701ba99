#include "wire/session_frame.h"

#include <cassert>

namespace weft::wire {
namespace {

constexpr std::uint8_t kFlagCoords = 0x01;
constexpr std::uint8_t kFlagPlain = 0x04;

/// Setup and answer after their prefix: flags, two lists, length, Noise message.
struct HandshakeParts {
  CoordView from;
  CoordView to;
  Bytes noise;
};

Result<HandshakeParts, Drop> take_handshake(Reader& in) noexcept {
  in.u8();  // flags: sent as zero, never read
  const auto from = read_coords(in, CoordForm::strict);
  if (!from) return bad(from.error());
  const auto to = read_coords(in, CoordForm::strict);
  if (!to) return bad(to.error());
  const std::size_t len = in.le<std::uint16_t>();
  const Bytes noise = in.take(len);
  if (!in.ok()) return bad(Drop::too_short);
  return HandshakeParts{*from, *to, noise};
}

/// Checks that the payload is of this kind and leaves the cursor behind the prefix.
Result<Reader, Drop> open_handshake(Bytes payload, SessionKind want) noexcept {
  const auto kind = classify_session_payload(payload);
  if (!kind) return bad(kind.error());
  if (*kind != want) return bad(Drop::unknown_phase);
  return Reader{payload.subspan(kPrefix)};
}

template <class M, std::size_t N>
Result<M, Drop> decode_two_lists(Bytes payload, SessionKind want) {
  auto in = open_handshake(payload, want);
  if (!in) return bad(in.error());
  const auto parts = take_handshake(*in);
  if (!parts) return bad(parts.error());
  if (parts->noise.size() != N) return bad(Drop::bad_handshake_length);
  M m;
  m.from = parts->from.path();
  m.to = parts->to.path();
  std::memcpy(m.noise.data(), parts->noise.data(), N);
  return m;
}

template <class M>
void encode_two_lists(Buffer& out, const M& m, std::uint8_t phase) {
  const auto body = 1 + coords_size(m.from.size()) + coords_size(m.to.size()) + 2 + m.noise.size();
  assert(body <= UINT16_MAX);
  encode_prefix(out, {0, phase, 0, static_cast<std::uint16_t>(body)});
  Writer(out).u8(0);
  put_path(out, m.from);
  put_path(out, m.to);
  Writer(out).le<std::uint16_t>(static_cast<std::uint16_t>(m.noise.size())).raw(m.noise);
}

}  // namespace

Result<SessionKind, Drop> classify_session_payload(Bytes payload) noexcept {
  const auto p = decode_prefix(payload);
  if (!p) return bad(p.error());
  if (p->version != 0) return bad(Drop::wrong_version);
  const bool plain = (p->flags & kFlagPlain) != 0;
  if (p->phase == 0) return plain ? SessionKind::signal : SessionKind::sealed;
  if (p->phase > 3) return bad(Drop::unknown_phase);
  if (plain) return bad(Drop::bad_flags);
  if (p->phase == 1) return SessionKind::setup;
  return p->phase == 2 ? SessionKind::ack : SessionKind::msg3;
}

Result<SealedSession, Drop> decode_sealed_coords(Bytes payload, const SessionHeader& h) noexcept {
  if (payload.size() < kSessionHeader) return bad(Drop::too_short);
  Reader in{payload.subspan(kSessionHeader)};
  const auto from = read_coords(in, CoordForm::optional);
  if (!from) return bad(from.error());
  const auto to = read_coords(in, CoordForm::optional);
  if (!to) return bad(to.error());
  if (in.left() < kTag) return bad(Drop::too_short);
  return SealedSession{h, *from, *to, payload.first(kSessionHeader), in.rest()};
}

Result<SessionMsg, Drop> session_msg_of(std::uint8_t type) noexcept {
  if (type < 0x10 || type > 0x14) return bad(Drop::unknown_session_message);
  return static_cast<SessionMsg>(type);
}

Result<SessionSetup, Drop> decode_session_setup(Bytes payload) {
  return decode_two_lists<SessionSetup, kXkMsg1>(payload, SessionKind::setup);
}

Result<SessionAck, Drop> decode_session_ack(Bytes payload) {
  return decode_two_lists<SessionAck, kXkMsg2>(payload, SessionKind::ack);
}

Result<SessionMsg3, Drop> decode_session_msg3(Bytes payload) noexcept {
  auto in = open_handshake(payload, SessionKind::msg3);
  if (!in) return bad(in.error());
  in->u8();  // flags
  const auto len = in->le<std::uint16_t>();
  if (!in->ok()) return bad(Drop::too_short);
  if (len != kXkMsg3) return bad(Drop::bad_handshake_length);
  SessionMsg3 m;
  m.noise = in->array<kXkMsg3>();
  if (!in->ok()) return bad(Drop::too_short);
  return m;
}

void encode_session_setup(Buffer& out, const SessionSetup& m) { encode_two_lists(out, m, 1); }

void encode_session_ack(Buffer& out, const SessionAck& m) { encode_two_lists(out, m, 2); }

void encode_session_msg3(Buffer& out, const SessionMsg3& m) {
  encode_prefix(out, {0, 3, 0, static_cast<std::uint16_t>(3 + m.noise.size())});
  Writer(out).u8(0).le<std::uint16_t>(static_cast<std::uint16_t>(m.noise.size())).raw(m.noise);
}

Result<PassingCoords, Drop> peek_coords(Bytes payload) noexcept {
  if (payload.size() < kPrefix) return PassingCoords{};
  const auto phase = payload[0] & 0x0f;
  if (phase == 1 || phase == 2) {
    // The version is not tested here: what only passes by may be newer than we are.
    Reader in{payload.subspan(kPrefix)};
    const auto parts = take_handshake(in);
    if (!parts) return bad(Drop::warm_malformed);
    return PassingCoords{parts->from, parts->to};
  }
  if (phase != 0 || (payload[1] & kFlagCoords) == 0) return PassingCoords{};
  if (payload.size() < kMinSessionFrame) return bad(Drop::short_cp);
  if (payload[0] != 0 || (payload[1] & kFlagPlain) != 0) return PassingCoords{};
  const auto sealed = decode_sealed_session(payload);
  if (!sealed) return bad(Drop::warm_malformed);
  return PassingCoords{sealed->from, sealed->to};
}

}  // namespace weft::wire
