/// The next hop, for everybody who needs one: workers (who cache it), the core's own datagrams, and transit that no
/// worker has a route for yet. Tells sources what went wrong.
///
/// Workers  are told a route once; this flow remembers which, and corrects it when tree, filters, links or costs change.
///          So a change costs no packet a detour through the core.
/// Thread   control thread only.
/// Source   docs/spec/mesh.md part 4.
#pragma once

#include <set>

#include "bloom/exchange.h"
#include "crypto/identity.h"
#include "link/links.h"
#include "node/flow_report.h"
#include "route/coord_cache.h"
#include "route/errors.h"
#include "route/next_hop.h"
#include "session/surroundings.h"
#include "tree/tree.h"
#include "wire/envelope.h"

namespace weft {

class RouteFlow final : public session::Surroundings {
 public:
  RouteFlow(const NodeAddr& self, std::uint8_t ttl, link::Links& links, Tree& tree, BloomExchange& bloom,
            CoordCache& coords, RouteErrors& errors, DropCounters& drops);
  void set_reports(const ReportFlow& reports) { reports_ = &reports; }

  // session::Surroundings
  const wire::Path& own_path() override { return tree_.path(); }
  const wire::Path* coords_of(const NodeAddr& remote) override;
  std::optional<session::Hop> hop_to(Instant now, const NodeAddr& dest, Outbox& out) override;
  std::uint16_t path_mtu_of(const NodeAddr& dest) override;
  bool send_datagram(Instant now, const NodeAddr& dest, Buffer session_payload, Outbox& out) override;

  /// Destinations that a datagram of our own found no way to since the last call: their coordinates are worth asking for
  /// anew. Those of another root than ours, which can lead nowhere, are forgotten here.
  std::vector<NodeAddr> take_unroutable();

  /// Passes a datagram on, or tells its source why not. `message` is the whole link message.
  void forward(Instant now, LinkId from, bool ce, MutBytes message, Outbox& out);
  void on_too_big(Instant now, const PuntTooBig& in, Outbox& out);
  void on_stale(Instant now, const NodeAddr& dest, Outbox& out);
  /// Coordinates seen in passing.
  void warm(Instant now, const NodeAddr& node, Path path);

  /// Tree, filters, links or caches changed: correct what workers were told.
  void on_change(Instant now, Outbox& out);
  /// Costs changed: the same, but soon rather than now.
  void on_costs(Instant now);
  std::optional<Instant> deadline() const { return recheck_at_; }
  void on_deadline(Instant now, Outbox& out);

  /// What would be chosen now; changes nothing.
  std::optional<NextHop> explain(Instant now, const NodeAddr& dest);
  /// The same, with what is known of that hop.
  struct HopFacts {
    const link::Peer* peer = nullptr;
    HopClass how = HopClass::direct_peer;
    const Path* path = nullptr;  // as the peer announced it; nullptr: not yet
  };
  std::optional<HopFacts> describe(Instant now, const NodeAddr& dest);
  const CoordEntry* coords_entry(Instant now, const NodeAddr& dest) const { return coords_.peek(dest, now); }
  const link::Links& links() const { return links_; }
  const ForwardingStats& stats() const { return stats_; }
  std::size_t routes() const { return told_.size(); }

 private:
  struct Choice {
    LinkId link;
    HopClass how = HopClass::direct_peer;
    bool operator==(const Choice&) const = default;
  };
  std::optional<Choice> choose(Instant now, const NodeAddr& dest, bool renew);
  std::optional<NextHop> next_hop(const NodeAddr& dest, const Path* dest_path);
  void tell(Instant now, const NodeAddr& dest, const Choice& c, Outbox& out);
  void report_no_route(Instant now, LinkId from, const wire::Envelope& e, Outbox& out);
  void send_signal(Instant now, LinkId from, const NodeAddr& to, Buffer message, Outbox& out);

  NodeAddr self_;
  std::uint8_t ttl_;
  link::Links& links_;
  Tree& tree_;
  BloomExchange& bloom_;
  CoordCache& coords_;
  RouteErrors& errors_;
  DropCounters& drops_;
  const ReportFlow* reports_ = nullptr;
  std::set<NodeAddr> unroutable_;
  Lru<NodeAddr, Choice> told_;
  std::vector<HopCandidate> scratch_;
  std::optional<Instant> recheck_at_;
  Instant now_{};  // of the turn under way: coordinates that expired by then are not served
  ForwardingStats stats_;
};

}  // namespace weft
