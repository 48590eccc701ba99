/// Frames between neighbours: the sealed one, and the two that make the keys.
///
/// sealed   prefix, receiver index u32, counter u64, ciphertext, tag. Length field: plaintext only. AAD: the
/// first 16 bytes
///          exactly as sent, so flags are set before sealing.
/// msg1     prefix, sender index u32, Noise IK message 1. Length field: everything after the prefix.
/// msg2     prefix, sender index u32, receiver index u32 (the sender index of msg1), Noise IK message 2.
///
/// Source   docs/spec/link.md sections 4, 6, 12.2.
#pragma once

#include "base/ids.h"
#include "wire/prefix.h"

namespace weft::wire {

enum class LinkPhase : std::uint8_t { sealed = 0, msg1 = 1, msg2 = 2 };

/// Bits above these are sent as zero and ignored on receipt.
struct LinkFlags {
  bool key_epoch = false;  // K, 0x01
  bool congested = false;  // CE, 0x02
  bool spin = false;       // SP, 0x04

  static constexpr LinkFlags of(std::uint8_t bits) noexcept {
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
  }
  constexpr std::uint8_t bits() const noexcept {
    return static_cast<std::uint8_t>((key_epoch ? 1 : 0) | (congested ? 2 : 0) | (spin ? 4 : 0));
  }
  bool operator==(const LinkFlags&) const = default;
};

struct LinkHeader {
  LinkFlags flags;
  std::uint16_t payload_len = 0;  // plaintext bytes
  SessionIndex receiver;
  std::uint64_t counter = 0;

  bool operator==(const LinkHeader&) const = default;
};

struct LinkMsg1 {
  SessionIndex sender;
  std::array<std::uint8_t, kIkMsg1> noise{};
};
struct LinkMsg2 {
  SessionIndex sender;
  SessionIndex receiver;
  std::array<std::uint8_t, kIkMsg2> noise{};
};

/// What a datagram claims to be, its length field checked against its size.
/// Errors: too_short, wrong_version, punch_probe, unknown_phase, wrong_length, bad_flags (handshake with
/// flags).
Result<LinkPhase, Drop> classify_link_frame(Bytes datagram) noexcept;

/// A whole sealed frame's header; its ciphertext and tag are frame[16..].
/// Errors: too_short, wrong_version, unknown_phase (not sealed), wrong_length. Cost: no allocation.
inline Result<LinkHeader, Drop> decode_link_header(Bytes frame) noexcept {
  if (frame.size() < kMinLinkFrame) return bad(Drop::too_short);
  if (frame[0] != 0) return bad((frame[0] >> 4) != 0 ? Drop::wrong_version : Drop::unknown_phase);
  LinkHeader h;
  h.flags = LinkFlags::of(frame[1]);
  h.payload_len = load_le<std::uint16_t>(frame.data() + 2);
  if (frame.size() - kMinLinkFrame != h.payload_len) return bad(Drop::wrong_length);
  h.receiver.value = load_le<std::uint32_t>(frame.data() + 4);
  h.counter = load_le<std::uint64_t>(frame.data() + 8);
  return h;
}

/// Fills out[0..16]; `out` holds at least that much.
inline void write_link_header(MutBytes out, const LinkHeader& h) noexcept {
  write_prefix(out, {0, 0, h.flags.bits(), h.payload_len});
  store_le<std::uint32_t>(out.data() + 4, h.receiver.value);
  store_le<std::uint64_t>(out.data() + 8, h.counter);
}

/// Errors: too_short, wrong_version, unknown_phase, wrong_length (any size but the exact one), bad_flags.
Result<LinkMsg1, Drop> decode_link_msg1(Bytes frame) noexcept;
Result<LinkMsg2, Drop> decode_link_msg2(Bytes frame) noexcept;
void encode_link_msg1(Buffer& out, const LinkMsg1& m);
void encode_link_msg2(Buffer& out, const LinkMsg2& m);

/// An opened frame: when its sender's clock made it, and the message with its type byte first (never empty).
struct LinkInner {
  std::uint32_t timestamp = 0;  // ms since the sender's start of this key epoch, wrapping
  Bytes message;                // borrows the plaintext
};

/// Errors: inner_short.
inline Result<LinkInner, Drop> decode_link_inner(Bytes plaintext) noexcept {
  if (plaintext.size() < kLinkInnerMin) return bad(Drop::inner_short);
  return LinkInner{load_le<std::uint32_t>(plaintext.data()), plaintext.subspan(kLinkTimestamp)};
}

/// Fills out[0..4].
inline void write_link_timestamp(MutBytes out, std::uint32_t timestamp_ms) noexcept {
  store_le<std::uint32_t>(out.first<kLinkTimestamp>().data(), timestamp_ms);
}

/// Size of the frame that begins with these bytes of a stream (TCP, where frames follow each other without
/// more framing). `max_frame` is the smaller of our MTU and the stream's segment size. Errors: too_short
/// (fewer than four bytes), wrong_version, unknown_phase, wrong_length. All but the first end the stream.
Result<std::size_t, Drop> stream_frame_size(Bytes head, std::size_t max_frame) noexcept;

}  // namespace weft::wire
