/// Our place in the mesh: announces and filters in and out, and what a move means for what others have cached.
///
/// Order    announces leave before filters, since a receiver that does not know yet whose child we are would store our
///          filter and never pass it on.
/// Thread   control thread only.
/// Source   docs/spec/mesh.md parts 1, 2.
#pragma once

#include "base/log.h"
#include "bloom/exchange.h"
#include "crypto/identity.h"
#include "link/links.h"
#include "node/flow_report.h"
#include "tree/tree.h"

namespace weft {

class TreeFlow {
 public:
  TreeFlow(const crypto::Identity& self, Rng& rng, link::Links& links, Tree& tree, BloomExchange& bloom,
           const ReportFlow& reports, Log& log, DropCounters& drops);

  /// What the rest of the node must do about a move; all false: nothing.
  struct Effects {
    bool routes_changed = false;         // next hops may differ
    bool path_changed = false;           // our coordinates do
    bool drop_paths_through_us = false;
    bool drop_foreign_roots = false;
    bool clear_lookup_backoff = false;
    void merge(const TreeChange& c);
  };

  Effects on_link_up(Now now, const NodeAddr& peer, Outbox& out);
  Effects on_link_down(Now now, const NodeAddr& peer, Outbox& out);
  /// New keys on the link: the peer may have lost what it heard from us.
  Effects on_link_rekeyed(Now now, const NodeAddr& peer, Outbox& out);
  Effects on_announce(Now now, const link::Peer& peer, Bytes message, Outbox& out);
  Effects on_filter(Now now, const link::Peer& peer, Bytes message, Outbox& out);
  Effects on_first_rtt(Now now, Outbox& out);

  std::optional<Instant> deadline() const;
  Effects on_deadline(Now now, Outbox& out);

 private:
  void settle(Now now, Effects& fx, const TreeChange& change, Outbox& out);
  void pump(Now now, Outbox& out);
  bool send(const NodeAddr& to, Buffer message, Outbox& out);

  const crypto::Identity& self_;
  Rng& rng_;
  link::Links& links_;
  Tree& tree_;
  BloomExchange& bloom_;
  const ReportFlow& reports_;
  Log& log_;
  DropCounters& drops_;
  NodeAddr last_root_;
};

}  // namespace weft
