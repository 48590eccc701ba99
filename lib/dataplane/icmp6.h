/// The two ICMPv6 errors that a node writes to its own interface, and the echo request that it probes others with.
///
/// Quoted    as much of the packet as keeps the answer within 1280 bytes.
/// Silent    where RFC 4443 2.4 (e) forbids an error: 0 is returned and `out` is not touched.
/// Source    docs/spec/session.md section 2.7.
#pragma once

#include <array>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"

namespace weft {

constexpr std::size_t kMaxIcmpError = 1280;
using IcmpError = std::array<std::uint8_t, kMaxIcmpError>;

/// Size of the answer written to `out`. Its source is the packet's destination, since a kernel takes no path
/// MTU from an address of its own; `mtu` is raised to 1280, below which a kernel ignores it.
std::size_t make_packet_too_big(IcmpError& out, Bytes packet, std::uint32_t mtu);
/// "No route to destination", from `self`.
std::size_t make_unreachable(IcmpError& out, Bytes packet, const MeshAddr& self);

constexpr std::uint8_t kEchoReply = 129;
constexpr std::size_t kEchoHeader = 8;
/// Header and `mark`.
constexpr std::size_t kSmallestEcho = 40 + kEchoHeader + 8;
/// A whole packet of `size` bytes (raised to kSmallestEcho) whose echo data begins with `mark`; the rest is zero.
Buffer make_echo_request(const MeshAddr& from, const MeshAddr& to, std::uint64_t mark, std::uint16_t sequence,
                         std::size_t size);

/// One error per 100 ms and source address. Cost: O(1), 32 sources remembered.
class IcmpLimiter {
 public:
  bool allow(const MeshAddr& source, Instant now);

 private:
  static constexpr Duration kEvery = 100ms;
  struct Slot {
    MeshAddr source;
    Instant at;
    bool used = false;
  };
  std::array<Slot, 32> slots_{};
};

}  // namespace weft
