/// What an envelope carries end to end: sealed session messages, the three handshake messages, plain error
/// signals.
///
/// sealed   prefix, counter u64 (these 12 bytes are the AAD), with CP two clear coordinate lists (outside the
/// AAD), then
///          ciphertext and tag. Length field: plaintext only. It is not compared with the size, since tag and
///          coordinates are outside it and the AEAD covers it.
/// Source   docs/spec/session.md section 1.1; mesh.md section 4.5.
#pragma once

#include "wire/coord.h"
#include "wire/prefix.h"

namespace weft::wire {

enum class SessionKind : std::uint8_t { sealed, setup, ack, msg3, signal };

/// What a session payload claims to be, by its prefix alone.
/// Errors: too_short, wrong_version, unknown_phase, bad_flags (a handshake marked plaintext).
Result<SessionKind, Drop> classify_session_payload(Bytes payload) noexcept;

// ---- sealed
// -----------------------------------------------------------------------------------------------------

struct SessionHeader {
  bool coords = false;            // CP, 0x01
  bool key_epoch = false;         // K, 0x02: a hint, never a key selector
  std::uint16_t payload_len = 0;  // plaintext bytes: inner header and body
  std::uint64_t counter = 0;

  bool operator==(const SessionHeader&) const = default;
};

/// A sealed session message taken apart; everything borrows the payload.
struct SealedSession {
  SessionHeader header;
  CoordView from;    // the sender's coordinates, empty when absent
  CoordView to;      // the destination's as the sender knows them, empty when absent
  Bytes aad;         // 12 bytes
  Bytes ciphertext;  // with tag
};

/// Errors: too_short, wrong_version, unknown_phase, bad_flags (plaintext signal), bad_count, path_too_long.
/// Cost: no allocation.
Result<SealedSession, Drop> decode_sealed_coords(Bytes payload, const SessionHeader& h) noexcept;  // with CP
inline Result<SealedSession, Drop> decode_sealed_session(Bytes payload) noexcept {
  if (payload.size() < kMinSessionFrame) return bad(Drop::too_short);
  const std::uint8_t* p = payload.data();
  if (p[0] != 0) return bad((p[0] >> 4) != 0 ? Drop::wrong_version : Drop::unknown_phase);
  if ((p[1] & 4) != 0) return bad(Drop::bad_flags);
  const SessionHeader h{(p[1] & 1) != 0, (p[1] & 2) != 0, load_le<std::uint16_t>(p + 2),
                        load_le<std::uint64_t>(p + 4)};
  if (h.coords) return decode_sealed_coords(payload, h);
  return SealedSession{h, {}, {}, payload.first(kSessionHeader), payload.subspan(kSessionHeader)};
}

/// Fills out[0..12]. The coordinate lists of a CP message follow it: write_path(from), write_path(to).
inline void write_session_header(MutBytes out, const SessionHeader& h) noexcept {
  const auto flags = static_cast<std::uint8_t>((h.coords ? 1 : 0) | (h.key_epoch ? 2 : 0));
  write_prefix(out, {0, 0, flags, h.payload_len});
  store_le<std::uint64_t>(out.data() + 4, h.counter);
}

// ---- inside a sealed message
// ------------------------------------------------------------------------------------

enum class SessionMsg : std::uint8_t {
  data = 0x10,  // DataPacket
  sender_report = 0x11,
  receiver_report = 0x12,
  path_mtu = 0x13,       // PathMtuNotification
  coords_warmup = 0x14,  // empty; its coordinates lie in front
};
/// Errors: unknown_session_message.
Result<SessionMsg, Drop> session_msg_of(std::uint8_t type) noexcept;

struct SessionInner {
  std::uint32_t timestamp = 0;  // ms since the sender's start of this key epoch, wrapping
  std::uint8_t type = 0;
  bool spin = false;
  Bytes body;  // borrows the plaintext
};
/// Errors: inner_short.
inline Result<SessionInner, Drop> decode_session_inner(Bytes plaintext) noexcept {
  if (plaintext.size() < kSessionInner) return bad(Drop::inner_short);
  const std::uint8_t* p = plaintext.data();
  return SessionInner{load_le<std::uint32_t>(p), p[4], (p[5] & 1) != 0, plaintext.subspan(kSessionInner)};
}
/// Fills out[0..6]; `m.body` is not looked at.
inline void write_session_inner(MutBytes out, const SessionInner& m) noexcept {
  std::uint8_t* p = out.first<kSessionInner>().data();
  store_le<std::uint32_t>(p, m.timestamp);
  p[4] = m.type;
  p[5] = m.spin ? 1 : 0;
}

constexpr std::uint16_t kPortShim = 256;  // IPv6 with a compressed header, both ports
struct DataPacket {
  std::uint16_t from_port = 0;
  std::uint16_t to_port = 0;
  Bytes payload;
};
/// Errors: too_short.
inline Result<DataPacket, Drop> decode_data_packet(Bytes body) noexcept {
  if (body.size() < kPortHeader) return bad(Drop::too_short);
  return DataPacket{load_le<std::uint16_t>(body.data()), load_le<std::uint16_t>(body.data() + 2),
                    body.subspan(kPortHeader)};
}
/// Fills out[0..4]; `m.payload` is not looked at.
inline void write_ports(MutBytes out, const DataPacket& m) noexcept {
  std::uint8_t* p = out.first<kPortHeader>().data();
  store_le<std::uint16_t>(p, m.from_port);
  store_le<std::uint16_t>(p + 2, m.to_port);
}

// ---- handshake
// --------------------------------------------------------------------------------------------------

/// Setup: `to` is the destination's path, or the sender's own as filler when it knows none.
struct SessionSetup {
  Path from;
  Path to;
  std::array<std::uint8_t, kXkMsg1> noise{};
};
/// Answer: `to` is the `from` of the setup.
struct SessionAck {
  Path from;
  Path to;
  std::array<std::uint8_t, kXkMsg2> noise{};
};
struct SessionMsg3 {
  std::array<std::uint8_t, kXkMsg3> noise{};
};

/// Errors: too_short, wrong_version, unknown_phase, bad_flags, bad_count, path_too_long,
/// bad_handshake_length.
Result<SessionSetup, Drop> decode_session_setup(Bytes payload);
Result<SessionAck, Drop> decode_session_ack(Bytes payload);
Result<SessionMsg3, Drop> decode_session_msg3(Bytes payload) noexcept;
void encode_session_setup(Buffer& out, const SessionSetup& m);
void encode_session_ack(Buffer& out, const SessionAck& m);
void encode_session_msg3(Buffer& out, const SessionMsg3& m);

// ---- in passing
// -------------------------------------------------------------------------------------------------

/// Coordinates that any node on the way may read out of a payload; both empty when it carries none.
struct PassingCoords {
  CoordView from;
  CoordView to;
};
/// Never a reason to refuse delivery. Errors: warm_malformed; short_cp (do not forward: it crashes old
/// nodes). Cost: no allocation; two byte tests for what carries none.
Result<PassingCoords, Drop> peek_coords(Bytes payload) noexcept;

}  // namespace weft::wire
