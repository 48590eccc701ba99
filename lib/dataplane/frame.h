/// Where the bytes of a frame with a session message lie, and its headers from the link message inwards.
///
///   0 link header   16 timestamp   20 envelope   56 session header   68 [coordinates]   68+c inner header
///   74+c body ... 16 session tag, 16 link tag
///
/// Cost   no allocation.
#pragma once

#include "seam/halves.h"
#include "wire/envelope.h"
#include "wire/ip6_shim.h"
#include "wire/link_frame.h"
#include "wire/session_frame.h"

namespace weft::frame {

constexpr std::size_t kMessageAt = wire::kLinkHeader + wire::kLinkTimestamp;
constexpr std::size_t kSessionAt = kMessageAt + wire::kEnvelopeHeader;
constexpr std::size_t kCoordsAt = kSessionAt + wire::kSessionHeader;
/// An inner IPv6 packet that is put here needs no further copy: its own header makes room for ours.
constexpr std::size_t kPacketAt =
    kCoordsAt + wire::kSessionInner + wire::kPortHeader + wire::kShimHeader - wire::kIp6Header;
constexpr std::size_t kTags = 2 * wire::kTag;
static_assert(kPacketAt + kTags == wire::kShimOverhead);

/// Bytes of a session message's frame around its body.
constexpr std::size_t size_of(std::size_t body, std::size_t coords) {
  return wire::kFipsOverhead + coords + body;
}

/// A session message that has its place but no counter and no seal yet.
struct Unsealed {
  MutBytes bytes;          // the whole frame
  std::size_t coords = 0;  // bytes of clear coordinates
};

struct Head {
  const SessionSend& session;
  const NodeAddr& self;
  std::uint16_t link_mtu = 0;
  std::uint8_t type = 0;
  bool coords = false;
  bool k = false;
};

/// Bytes of the coordinates that `session` puts in front; either list may be unknown.
inline std::size_t coords_size(const SessionSend& session) {
  const auto n = [](const std::shared_ptr<const wire::Path>& p) {
    return wire::coords_size(p ? p->size() : 0);
  };
  return n(session.own_coords) + n(session.dest_coords);
}

/// Everything from the envelope to the inner header, and the coordinates. The body lies, or will lie, behind
/// it.
inline Unsealed write_head(MutBytes frame, const Head& h, Instant now) {
  Unsealed u{frame, 0};
  wire::write_envelope_header(frame.subspan(kMessageAt),
                              {wire::kInitialTtl, h.link_mtu, h.self, h.session.remote, {}});
  if (h.coords) {
    static const wire::Path kUnknown;
    const auto put = [&](const std::shared_ptr<const wire::Path>& p) {
      u.coords += wire::write_path(frame.subspan(kCoordsAt + u.coords), p ? *p : kUnknown);
    };
    put(h.session.own_coords);
    put(h.session.dest_coords);
  }
  const std::size_t plain = frame.size() - kCoordsAt - u.coords - kTags;
  wire::write_session_header(frame.subspan(kSessionAt),
                             {h.coords, h.k, static_cast<std::uint16_t>(plain), 0});
  wire::write_session_inner(frame.subspan(kCoordsAt + u.coords),
                            {wire_ms(h.session.epoch_start, now),
                             h.type,
                             h.session.stats->spin.load(std::memory_order_relaxed),
                             {}});
  return u;
}

/// Gives the message its counter, and says how to seal it.
inline crypto::AeadJob seal_job(const Unsealed& u, const SendKey& key, std::uint64_t counter) {
  std::uint8_t* header = u.bytes.data() + kSessionAt;
  store_le<std::uint64_t>(header + 4, counter);
  std::uint8_t* plain = u.bytes.data() + kCoordsAt + u.coords;
  const std::size_t size = u.bytes.size() - kCoordsAt - u.coords - kTags;
  return {&key.key, counter, Bytes(header, wire::kSessionHeader), plain, size, plain + size, false};
}

/// What all frames have in common that leave over a link at one moment.
struct LinkHead {
  const LinkSend& to;
  std::uint32_t timestamp = 0;
  bool spin = false;

  LinkHead(const LinkSend& link, Instant now)
      : to(link),
        timestamp(wire_ms(link.epoch_start, now)),
        spin(link.stats->spin.load(std::memory_order_relaxed)) {}
};

/// Writes the header and the timestamp of a whole frame, and says how to seal it.
inline crypto::AeadJob link_job(const LinkHead& head, MutBytes frame, std::uint64_t counter, bool ce) {
  const std::size_t plain = frame.size() - wire::kMinLinkFrame;
  wire::write_link_header(
      frame, {{head.to.k, ce, head.spin}, static_cast<std::uint16_t>(plain), head.to.their_index, counter});
  wire::write_link_timestamp(frame.subspan(wire::kLinkHeader), head.timestamp);
  std::uint8_t* data = frame.data() + wire::kLinkHeader;
  return {&head.to.key->key, counter, frame.first(wire::kLinkHeader), data, plain, data + plain, false};
}

inline void count_sent(const LinkSend& to, std::uint64_t frames, std::uint64_t bytes) {
  to.key->bytes.fetch_add(bytes, std::memory_order_relaxed);
  to.stats->frames_sent.add(frames);
  to.stats->bytes_sent.add(bytes);
}

}  // namespace weft::frame
