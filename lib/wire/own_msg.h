/// Link messages of weft's own, type numbers 0xe0 to 0xe3: the hello that tells what a neighbour can do beyond the
/// reference, and link MTU discovery.
///
/// Layout   integers little-endian; what follows the fixed part is for later versions and is ignored.
///   hello   e0, u8 flags (1: an answer), u32 features
///   probe   e1, u8 0, u32 id, u16 size, zeros: `size` counts the whole link frame
///   notice  e2, u8 0, u32 id, u16 size, u64 counter: the frame with this counter is or was probe `id`
///   ack     e3, u8 0, u32 id, u16 size: 0 when the notice came but not the probe
/// Errors   too_short, wrong_type; a probe: probe_mismatch.
/// Source   docs/protocol.md section 10.
#pragma once

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"
#include "wire/limits.h"

namespace weft::wire {

/// Feature bits; unknown ones are kept and mean nothing.
constexpr std::uint32_t kWideWindow = 1;  // takes link frames up to 16,000 counters late
constexpr std::uint32_t kMtuProbes = 2;   // answers MTU notices, and counts a lost probe as no loss

struct Hello {
  bool answer = false;  // an answer is not answered
  std::uint32_t features = 0;
};
Result<Hello, Drop> decode_hello(Bytes message) noexcept;
void encode_hello(Buffer& out, const Hello& m);

constexpr std::size_t kProbeHeader = 8;  // type byte included

struct MtuProbe {
  std::uint32_t id = 0;
  std::uint16_t size = 0;  // of the whole link frame, bytes
};
/// Errors: also probe_mismatch, when the message does not fill a frame of the size it names.
Result<MtuProbe, Drop> decode_mtu_probe(Bytes message) noexcept;
/// Writes the header to the front of `message`, whose size decides, and zeros the rest.
void write_mtu_probe(MutBytes message, std::uint32_t id) noexcept;

struct MtuNotice {
  std::uint32_t id = 0;
  std::uint16_t size = 0;
  std::uint64_t counter = 0;  // of the probe's frame, same key epoch as the notice
};
Result<MtuNotice, Drop> decode_mtu_notice(Bytes message) noexcept;
void encode_mtu_notice(Buffer& out, const MtuNotice& m);

struct MtuAck {
  std::uint32_t id = 0;
  std::uint16_t size = 0;  // as probed; 0: the probe has not come
};
Result<MtuAck, Drop> decode_mtu_ack(Bytes message) noexcept;
void encode_mtu_ack(Buffer& out, const MtuAck& m);

}  // namespace weft::wire
