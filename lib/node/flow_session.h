/// Local packets on their way to a session, session handshakes and signals on their way to us, and what follows from them.
///
/// Thread   control thread only.
/// Source   docs/spec/session.md 1.2, 1.6, 1.7, 2.4, 2.7.
#pragma once

#include <deque>

#include "base/bucket.h"
#include "base/log.h"
#include "names/identity_cache.h"
#include "node/flow_lookup.h"
#include "node/flow_report.h"
#include "node/flow_route.h"
#include "session/sessions.h"

namespace weft {

class SessionFlow {
 public:
  SessionFlow(const crypto::Identity& self, session::Sessions& sessions, names::IdentityCache& identities, RouteFlow& routes,
              LookupFlow& lookups, ReportFlow& reports, CoordCache& coords, RouteErrors& errors, Log& log,
              DropCounters& drops);

  /// An IPv6 packet that no worker could send.
  void on_tun_packet(Now now, Buffer packet, Outbox& out);
  /// A datagram for us whose payload is a session handshake or an error signal.
  void on_datagram(Now now, const NodeAddr& via, const wire::Envelope& e, Outbox& out);
  void on_proven(Now now, const PuntSessionProven& in, Outbox& out);
  /// Coordinates in a data packet's clear block, authenticated or in passing.
  void on_coords(Now now, const PuntCoords& in, Outbox& out);
  void on_lookups(Now now, const LookupFlow::Results& results, Outbox& out);
  /// The link to this very node is gone.
  void on_link_down(Now now, const NodeAddr& peer, Outbox& out);
  void on_own_path_changed(Now now, Outbox& out);
  /// Next hops may have appeared for packets that wait.
  void on_routes_changed(Now now, Outbox& out);

  /// Opens a session that nobody waits for. Errors: as Sessions::open; unknown_destination.
  Result<void, Drop> open(Now now, const NodeAddr& remote, Outbox& out);
  session::Sessions& sessions() { return sessions_; }
  const session::Sessions& sessions() const { return sessions_; }
  /// An error signal that was believed.
  struct Signal {
    NodeAddr dest;
    wire::RouteError what;
    Instant at;
  };
  /// The last kSignals, oldest first.
  const std::deque<Signal>& signals() const { return signals_; }

  std::optional<Instant> deadline() const { return sessions_.deadline(); }
  void on_deadline(Now now, Outbox& out);

  std::uint64_t icmp_suppressed() const { return icmp_suppressed_; }

 private:
  void try_open(Now now, const NodeAddr& remote, const PublicKey& key, Outbox& out);
  void take_events(Now now, Outbox& out);
  void unreachable(Now now, Bytes packet, Outbox& out);
  void count(const Result<void, Drop>& r) {
    if (!r) drops_.add(r.error());
  }

  static constexpr std::size_t kSignals = 64;

  const crypto::Identity& self_;
  session::Sessions& sessions_;
  names::IdentityCache& identities_;
  RouteFlow& routes_;
  LookupFlow& lookups_;
  ReportFlow& reports_;
  CoordCache& coords_;
  RouteErrors& errors_;
  Log& log_;
  DropCounters& drops_;
  Bucket icmp_{50, 20};
  std::uint64_t icmp_suppressed_ = 0;
  std::deque<Signal> signals_;
};

}  // namespace weft
