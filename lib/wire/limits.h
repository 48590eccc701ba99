/// Sizes, overheads and caps of the wire format, in bytes unless the name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::wire {

// Noise messages; their framing is below.
constexpr std::size_t kIkMsg1 = 106;
constexpr std::size_t kIkMsg2 = 57;
constexpr std::size_t kXkMsg1 = 33;
constexpr std::size_t kXkMsg2 = 57;
constexpr std::size_t kXkMsg3 = 73;
constexpr std::size_t kTag = 16;
constexpr std::size_t kSignature = 64;

// Link layer.
constexpr std::size_t kPrefix = 4;
constexpr std::size_t kLinkHeader = 16;    // prefix, receiver index, counter: also the AAD
constexpr std::size_t kLinkTimestamp = 4;  // inner, before the type byte
constexpr std::size_t kLinkInnerMin = 5;   // timestamp and type byte
constexpr std::size_t kMinLinkFrame = kLinkHeader + kTag;
constexpr std::size_t kLinkMsg1Frame = 114;
constexpr std::size_t kLinkMsg2Frame = 69;
constexpr std::size_t kFrameCost =
    kLinkHeader + kLinkTimestamp + kTag;  // around a message with its type byte
constexpr std::size_t kMaxPlaintext = 65535 - kTag;

// Session layer.
constexpr std::size_t kEnvelopeHeader = 36;  // type byte included
constexpr std::size_t kSessionHeader = 12;   // prefix and counter: also the AAD
constexpr std::size_t kSessionInner = 6;
constexpr std::size_t kMinSessionFrame = kSessionHeader + kTag;
constexpr std::size_t kPortHeader = 4;
/// A session message's body inside a link frame costs this much, ports and coordinates apart.
constexpr std::size_t kFipsOverhead = kFrameCost + kEnvelopeHeader + kSessionHeader + kSessionInner + kTag;
static_assert(kFipsOverhead == 106);

// IPv6 adapter.
constexpr std::size_t kIp6Header = 40;
constexpr std::size_t kTcpHeader = 20;
constexpr std::size_t kShimHeader = 7;
/// Link MTU minus this is the largest IPv6 packet.
constexpr std::size_t kShimOverhead = kFipsOverhead + kPortHeader - (kIp6Header - kShimHeader);
static_assert(kShimOverhead == 77);
/// Link MTU minus this is the largest TCP segment.
constexpr std::size_t kTcpOverhead = kShimOverhead + kIp6Header + kTcpHeader;
static_assert(kTcpOverhead == 137);
constexpr std::size_t kMaxIpPacket = 65535;

// Tree, filters.
constexpr std::size_t kTreePreimage = 48;
constexpr std::size_t kFilterBytes = 1024;
constexpr std::uint8_t kFilterHashes = 5;
constexpr std::uint8_t kFilterSizeClass = 1;

/// Announces, look-ups and session setups grow with the depth of the tree and cannot be split: where one exceeds the
/// link MTU it is sent all the same, up to this, and left to IP's own fragments. Else no tree could be deeper than 34.
constexpr std::size_t kMaxControlFrame = 4096;

// Caps on what a peer may claim; the reference has none.
constexpr std::size_t kMaxCoords = 255;    // entries of an address list
constexpr std::size_t kMaxAncestry = 256;  // entries of a TreeAnnounce

// Values with a meaning.
constexpr std::uint8_t kInitialTtl = 64;
constexpr std::uint16_t kMtuUnknown = 65535;
constexpr std::uint16_t kMtuFloor = 256;  // a smaller path MTU from the wire is ignored

}  // namespace weft::wire
