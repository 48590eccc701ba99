/// What links to weft nodes carry: runs a search per link, answers the searches of neighbours, and says when a link's
/// MTU has changed.
///
/// Thread   control thread only.
/// Errors   unknown_probe for an answer to no probe of ours; decode errors. Counted, nothing else happens.
/// Source   docs/protocol.md section 10; lib/pmtu.
#pragma once

#include <map>

#include "base/deadlines.h"
#include "base/log.h"
#include "link/links.h"
#include "pmtu/search.h"

namespace weft {

class MtuFlow {
 public:
  /// Not `enabled`: links keep their configured MTU; neighbours are answered all the same.
  MtuFlow(bool enabled, link::Links& links, Log& log, DropCounters& drops)
      : enabled_(enabled), links_(links), log_(log), drops_(drops) {}

  /// The far side has said what it can.
  void on_features(Now now, const link::Peer& peer);
  void on_link_down(LinkId link);
  /// The peer moved, or new keys came over another path: what is known may be wrong.
  void on_path(Now now, const link::Peer& peer);
  void on_network_change(Now now);
  void on_transports(Now now);

  /// A neighbour's notice: it is told what arrived.
  void on_probe(const PuntMtuProbe& in, Outbox& out) const;
  /// An answer of a neighbour's. True: the link's MTU has changed.
  bool on_ack(Now now, const link::Peer& peer, Bytes message, Outbox& out);

  std::optional<Instant> deadline() const { return due_.next(); }
  void on_deadline(Now now, Outbox& out);

  /// nullptr: the far side is not weft, answers no probes, or this is switched off.
  const pmtu::Search* search(LinkId link) const;

 private:
  struct Path {
    pmtu::Search search;
    TransportId transport;
    Endpoint to;
    std::uint16_t base = 0;
  };
  Path fresh(Now now, const link::Peer& peer) const;
  void schedule(LinkId link, const Path& p);

  bool enabled_;
  link::Links& links_;
  Log& log_;
  DropCounters& drops_;
  std::map<LinkId, Path> paths_;
  Deadlines<LinkId> due_;
};

}  // namespace weft
