/// Where is a node? Asks when somebody wants to send and no coordinates are known; answers and passes on others' questions.
///
/// Thread   control thread only.
/// Source   docs/spec/mesh.md part 3.
#pragma once

#include "bloom/exchange.h"
#include "crypto/identity.h"
#include "link/links.h"
#include "lookup/requests.h"
#include "names/identity_cache.h"
#include "route/coord_cache.h"
#include "tree/tree.h"

namespace weft {

class LookupFlow {
 public:
  LookupFlow(const crypto::Identity& self, Rng& rng, link::Links& links, Tree& tree, BloomExchange& bloom,
             Lookups& lookups, CoordCache& coords, names::IdentityCache& identities, DropCounters& drops);

  struct Found {
    NodeAddr target;
    PublicKey key;
    std::uint16_t path_mtu = 0;  // as the answer gathered it; below 256 means nothing
  };
  struct Results {
    std::vector<Found> found;
    std::vector<NodeAddr> failed;
  };

  /// Asks for `target`, unless a question is open. While no filter holds it, waits `grace` for one to come before giving
  /// up: in the first seconds after a start the filters are still on their way.
  void want(Now now, const NodeAddr& target, Outbox& out);
  /// As want(), but says at once what became of it; an open question counts as sent.
  Lookups::Start ask(Now now, const NodeAddr& target, Outbox& out);
  /// Neighbours whose filter holds it, smallest address first.
  std::vector<LookupPeer> reaching(const NodeAddr& target) const;
  const Lookups& lookups() const { return lookups_; }
  void on_request(Now now, const link::Peer& from, Bytes message, Outbox& out);
  Results on_response(Now now, Bytes message, Outbox& out);
  /// A filter or the tree changed: questions that had nobody to go to may have now.
  void on_change(Now now, Outbox& out);
  void on_link_down(const NodeAddr& peer) { lookups_.remove_peer(peer); }

  std::optional<Instant> deadline() const;
  Results on_deadline(Now now, Outbox& out);

 private:
  void send(const LookupSend& s, Outbox& out);
  bool start(Now now, const NodeAddr& target, Outbox& out);

  const crypto::Identity& self_;
  Rng& rng_;
  link::Links& links_;
  Tree& tree_;
  BloomExchange& bloom_;
  Lookups& lookups_;
  CoordCache& coords_;
  names::IdentityCache& identities_;
  DropCounters& drops_;
  Deadlines<NodeAddr> hopeless_;  // wanted, no filter holds them yet: when to give up
};

}  // namespace weft
