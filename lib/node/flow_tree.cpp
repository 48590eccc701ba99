#include "node/flow_tree.h"

#include "base/deadlines.h"

namespace weft {

TreeFlow::TreeFlow(const crypto::Identity& self, Rng& rng, link::Links& links, Tree& tree,
                   BloomExchange& bloom, const ReportFlow& reports, Log& log, DropCounters& drops)
    : self_(self),
      rng_(rng),
      links_(links),
      tree_(tree),
      bloom_(bloom),
      reports_(reports),
      log_(log),
      drops_(drops),
      last_root_(tree.root()) {}

void TreeFlow::Effects::merge(const TreeChange& c) {
  routes_changed |= c.path_changed || c.move != TreeMove::none;
  path_changed |= c.path_changed;
  drop_paths_through_us |= c.drop_paths_through_us;
  drop_foreign_roots |= c.drop_foreign_roots;
  clear_lookup_backoff |= c.clear_lookup_backoff;
}

TreeFlow::Effects TreeFlow::on_link_up(Now now, const NodeAddr& peer, Outbox& out) {
  tree_.add_peer(peer, now.mono);
  bloom_.add_peer(peer, now.mono);
  pump(now, out);
  Effects fx;
  fx.routes_changed = true;
  return fx;
}

TreeFlow::Effects TreeFlow::on_link_down(Now now, const NodeAddr& peer, Outbox& out) {
  Effects fx;
  const TreeChange change = tree_.remove_peer(peer, reports_.costs(), now);
  bloom_.remove_peer(peer, now.mono);
  fx.routes_changed = true;
  settle(now, fx, change, out);
  return fx;
}

TreeFlow::Effects TreeFlow::on_link_rekeyed(Now now, const NodeAddr& peer, Outbox& out) {
  tree_.peer_restarted(peer, now.mono);
  bloom_.peer_restarted(peer, now.mono);
  pump(now, out);
  return {};
}

TreeFlow::Effects TreeFlow::on_announce(Now now, const link::Peer& peer, Bytes message, Outbox& out) {
  const auto verify = [&](const crypto::Digest& d, const crypto::Signature& s) {
    return crypto::verify(peer.key, d, s);
  };
  const auto change = tree_.on_announce(peer.addr, message, verify, reports_.costs(), now);
  Effects fx;
  if (!change) {
    drops_.add(change.error());
    pump(now, out);
    return fx;
  }
  fx.routes_changed = true;  // the peer's coordinates are an input of every next hop
  settle(now, fx, *change, out);
  return fx;
}

TreeFlow::Effects TreeFlow::on_filter(Now now, const link::Peer& peer, Bytes message, Outbox& out) {
  Effects fx;
  if (const auto r = bloom_.on_filter(peer.addr, message, now.mono); !r) return drops_.add(r.error()), fx;
  fx.routes_changed = true;
  pump(now, out);
  return fx;
}

TreeFlow::Effects TreeFlow::on_first_rtt(Now now, Outbox& out) {
  Effects fx;
  settle(now, fx, tree_.on_first_cost(reports_.costs(), now), out);
  return fx;
}

std::optional<Instant> TreeFlow::deadline() const { return earlier(tree_.deadline(), bloom_.deadline()); }

TreeFlow::Effects TreeFlow::on_deadline(Now now, Outbox& out) {
  Effects fx;
  settle(now, fx, tree_.on_deadline(reports_.costs(), now), out);
  return fx;
}

void TreeFlow::settle(Now now, Effects& fx, const TreeChange& change, Outbox& out) {
  fx.merge(change);
  bloom_.set_tree_peers([&](const NodeAddr& p) { return tree_.is_tree_peer(p); }, now.mono);
  if (change.mark_all_filters) bloom_.mark_all(now.mono);
  if (change.damping_armed)
    log_(Level::warn, "flapping", "the parent changed often; improvements wait for a while");
  if (tree_.root() != last_root_) {
    last_root_ = tree_.root();
    log_(Level::info, "root", "root of the tree is now {}{}", last_root_.hex(),
         last_root_ == self_.addr() ? " (this node)" : "");
  }
  pump(now, out);
}

void TreeFlow::pump(Now now, Outbox& out) {
  for (const NodeAddr& to : tree_.take_due(now.mono)) {
    const Buffer* a =
        tree_.announce([&](const crypto::Digest& d) { return std::optional(self_.sign(d, rng_)); });
    if (!a || !send(to, *a, out)) tree_.on_send_failed();
  }
  for (auto& s : bloom_.take_due(now.mono, [&](const NodeAddr& p) { return tree_.announce_pending(p); }))
    if (!send(s.to, std::move(s.message), out)) bloom_.on_send_failed(s.to, now.mono);
}

bool TreeFlow::send(const NodeAddr& to, Buffer message, Outbox& out) {
  const link::Peer* peer = links_.find(to);
  if (!peer || message.size() + wire::kFrameCost > wire::kMaxControlFrame) return false;
  out.home(peer->home, SendLink{peer->link, std::move(message)});
  return true;
}

}  // namespace weft
