/// Core to workers. Each command says who gets it; a worker applies its commands in order, before its packets.
#pragma once

#include <variant>

#include "seam/halves.h"

namespace weft {

// ---- to every worker, of both pools --------------------------------------------------------------------------------

/// Installs or replaces a link's sending state.
struct SetLink { LinkSend send; };
/// Forgets the link and every route over it. A decrypt worker also forgets its receiving halves.
struct DropLink { LinkId link; };
struct SetSession { SessionSend send; };
struct DropSession { NodeAddr remote; };
/// Next hop for a destination. After `refresh_after` the entry still serves, but its first use punts RouteStale once.
struct SetRoute {
  NodeAddr dest;
  LinkId link;
  HopClass how = HopClass::direct_peer;
  Instant refresh_after;
};
struct DropRoute { NodeAddr dest; };
/// Forgets all routes: the tree or a filter changed more than one by one would be cheap for.
struct FlushRoutes {};
/// What the packet path must know of this node's surroundings; sent at start and when a transport or setting changes.
struct SetLocal {
  std::uint16_t transport_mtu = 1280;  // smallest of the operational transports, as configured: where no more is known
  bool tun = true;                     // false: a pure router; local packets are dropped as no_tun
  std::uint64_t echo_mark = 0;         // echo replies that begin with it answer the core's own probes; 0: none do
};

// ---- to the home decrypt worker of a link or session ----------------------------------------------------------------

struct AddLinkRecv { LinkRecv recv; };
struct DropLinkRecv { SessionIndex our_index; };
/// `our_index` is now the link's current epoch: metrics follow it alone, interval state starts anew.
struct LinkCutover { LinkId link; SessionIndex our_index; };
struct AddSessionRecv { SessionRecv recv; };
struct DropSessionRecv { NodeAddr remote; EpochId epoch; };
struct SessionCutover { NodeAddr remote; EpochId epoch; };

/// One link message of the core's own (type byte first): sealed and sent ahead of bulk traffic.
/// `ce`: a datagram that is passed on and arrived marked.
struct SendLink { LinkId link; Buffer message; bool ce = false; };
/// One session message of the core's own. `with_coords`: clear coordinates in front (a CoordsWarmup is this with type
/// 0x14 and an empty body, K clear). Travels over `via`.
struct SendSession {
  NodeAddr remote;
  LinkId via;
  std::uint8_t type = 0;
  bool with_coords = false;
  Buffer body;
};
/// One round of MTU discovery: a padded probe that leaves alone and is not to be fragmented, and its notice behind it.
struct SendProbe {
  LinkId link;
  std::uint32_t id = 0;
  std::uint16_t size = 0;  // whole link frame, bytes
};
/// Metrics reports whose moment-dependent fields are filled in at the seal; skipped when the interval saw nothing.
struct SendLinkReports { LinkId link; bool sender = false; bool receiver = false; };
struct SendSessionReports { NodeAddr remote; LinkId via; bool sender = false; bool receiver = false; };

// ---- to one encrypt worker ------------------------------------------------------------------------------------------

/// An IPv6 packet that waited in the core for its session, in order; treated as if just read from the interface.
struct InjectTun { Buffer packet; };

/// What goes to every worker; copied for each.
using Broadcast = std::variant<SetLink, DropLink, SetSession, DropSession, SetRoute, DropRoute, FlushRoutes, SetLocal>;

using Command = std::variant<SetLink, DropLink, SetSession, DropSession, SetRoute, DropRoute, FlushRoutes, SetLocal,
                             AddLinkRecv, DropLinkRecv, LinkCutover, AddSessionRecv, DropSessionRecv, SessionCutover,
                             SendLink, SendSession, SendProbe, SendLinkReports, SendSessionReports, InjectTun>;

}  // namespace weft
