/// Workers to core: whatever is not a packet with a known way.
///
/// Three lanes, so that none starves another: handshakes (from strangers, behind a token bucket), control (authentic
/// link and session messages), misses (packets without session or route, and hints).
#pragma once

#include <variant>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"

namespace weft {

enum class Lane : std::uint8_t { handshake, control, miss };
constexpr std::size_t kLanes = 3;

// ---- handshake lane -------------------------------------------------------------------------------------------------

/// A phase 1 or 2 link frame, of exactly the right size, from whoever.
struct PuntHandshake {
  TransportId transport;
  Endpoint from;
  Buffer frame;
};

// ---- control lane ---------------------------------------------------------------------------------------------------

/// An authentic link message other than a SessionDatagram. `message` begins with the type byte.
struct PuntLinkMessage {
  LinkId link;
  SessionIndex our_index;  // epoch it came under
  std::uint64_t counter = 0;
  Buffer message;
};
/// A neighbour's notice of an MTU probe: it awaits an answer. `arrived`: the probe's size, 0 when it has not come.
struct PuntMtuProbe {
  LinkId link;
  std::uint32_t id = 0;
  std::uint16_t arrived = 0;
};
/// First authentic frame on a receiving half: its key is proven. K is what the frame carried.
struct PuntLinkProven {
  LinkId link;
  SessionIndex our_index;
  bool k = false;
};
/// The link's newest authentic frame came from another address.
struct PuntMoved {
  LinkId link;
  TransportId transport;
  Endpoint from;
};
/// A SessionDatagram that the core must look at: a session handshake or an error signal, ours or in transit.
/// `message` is the whole link message, type byte first, hop limit not yet decremented.
struct PuntDatagram {
  LinkId link;
  bool ce = false;
  Buffer message;
};
/// A decrypted session message other than a DataPacket.
struct PuntSessionMessage {
  NodeAddr remote;
  EpochId epoch;
  std::uint8_t type = 0;
  Buffer body;
};
struct PuntSessionProven {
  NodeAddr remote;
  EpochId epoch;
  bool k = false;
};

// ---- miss lane ------------------------------------------------------------------------------------------------------

/// A transit datagram without a cached next hop (`message` as in PuntDatagram).
struct PuntNoRoute {
  LinkId link;
  bool ce = false;
  Buffer message;
};
/// A transit or own datagram larger than the next link takes: the source is owed an MtuExceeded.
struct PuntTooBig {
  NodeAddr source;
  NodeAddr dest;
  std::uint16_t mtu = 0;
  LinkId link;  // it came over
};
/// An IPv6 packet from the interface without a session, or with a session but without a next hop.
struct PuntTunPacket {
  Buffer packet;
};
/// Coordinates seen in a data packet's clear block; lists self first, either may be empty.
struct PuntCoords {
  NodeAddr source, dest;
  std::vector<NodeAddr> source_path, dest_path;
};
/// A route past its refresh_after was used.
struct PuntRouteStale {
  NodeAddr dest;
};
/// The path MTU that a session's datagrams arrive with has changed.
struct PuntPathMtu {
  NodeAddr remote;
  std::uint16_t mtu = 0;
};
/// An ICMPv6 echo reply to a probe of the core's own (SetLocal::echo_mark); it does not reach the interface.
struct PuntEcho {
  NodeAddr remote;
  std::uint16_t sequence = 0;
  std::uint16_t size = 0;  // of the whole packet, bytes
  Instant at;
};

using Punt = std::variant<PuntHandshake, PuntLinkMessage, PuntMtuProbe, PuntLinkProven, PuntMoved, PuntDatagram,
                          PuntSessionMessage, PuntSessionProven, PuntNoRoute, PuntTooBig, PuntTunPacket, PuntCoords, PuntRouteStale, PuntPathMtu,
                          PuntEcho>;

constexpr Lane lane_of(const Punt& p) {
  if (std::holds_alternative<PuntHandshake>(p)) return Lane::handshake;
  return p.index() <= 7 ? Lane::control : Lane::miss;
}

}  // namespace weft
