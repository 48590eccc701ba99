#include "tree/tree.h"

#include <algorithm>

namespace weft {

Tree::Tree(const NodeAddr& own, Now now, const TreeLimits& limits)
    : limits_(limits),
      state_(own, now),
      damping_(limits.damping),
      pacing_(limits.announce_min_interval, limits.repeat_after) {}

void Tree::add_peer(const NodeAddr& peer, Instant now) {
  peers_.insert_or_assign(peer, Bucket(limits_.verify_burst, limits_.verify_rate));
  pacing_.add(peer, now);
  if (!reeval_at_ && limits_.reeval_interval > Duration{}) reeval_at_ = now + limits_.reeval_interval;
}

TreeChange Tree::remove_peer(const NodeAddr& peer, const LinkCosts& costs, Now now) {
  if (peers_.erase(peer) == 0) return {};
  const bool was_parent = is_parent(peer);
  pacing_.remove(peer);
  state_.forget(peer);
  if (peers_.empty()) reeval_at_.reset();
  if (!was_parent) return {};
  ++counters_.parent_losses;
  return recover(TreeMove::parent_lost, costs, now);
}

void Tree::peer_restarted(const NodeAddr& peer, Instant now) {
  if (!peers_.contains(peer)) return;
  state_.forget_sequence(peer);
  pacing_.add(peer, now);
}

Result<wire::TreeAnnounce, Drop> Tree::admit(const NodeAddr& from, Bytes message, Instant now) {
  auto announce = wire::decode_tree_announce(message);
  if (!announce) {
    const bool of_path =
        announce.error() == Drop::duplicate_ancestor || announce.error() == Drop::path_too_long;
    ++(of_path ? counters_.ancestry_invalid : counters_.decode_error);
    return announce;
  }
  const auto peer = peers_.find(from);
  if (peer == peers_.end()) {
    ++counters_.unknown_peer;
    return bad(Drop::unknown_peer);
  }
  if (const auto ok = check_ancestry(*announce, from); !ok) {
    ++(ok.error() == Drop::addr_mismatch ? counters_.addr_mismatch : counters_.ancestry_invalid);
    return bad(ok.error());
  }
  // Everything cheap is tested before the signature, so that a flood of copies costs no curve arithmetic.
  if (!state_.is_fresh(from, announce->sequence)) {
    ++counters_.stale;
    return bad(Drop::stale);
  }
  if (!peer->second.take(now)) return bad(Drop::announce_rate);
  return announce;
}

Result<TreeChange, Drop> Tree::on_announce(const NodeAddr& from, Bytes message, const Verify& verify,
                                           const LinkCosts& costs, Now now) {
  ++counters_.received;
  const auto announce = admit(from, message, now.mono);
  if (!announce) return bad(announce.error());
  const auto preimage = wire::tree_preimage(from, announce->parent, announce->sequence, announce->timestamp);
  if (!verify(crypto::sha256(preimage), announce->signature)) {
    ++counters_.sig_failed;
    return bad(Drop::bad_signature);
  }
  ++counters_.accepted;
  state_.store(from, *announce);
  state_.compare_clocks(from, now.unix_secs());
  // A peer under a larger root missed, or lost, what would let it attach through us.
  if (announce->root() > state_.root() && pacing_.request(from, now.mono)) ++counters_.rate_limited;
  if (is_parent(from) && std::ranges::find(*path_of(from), own()) != path_of(from)->end())
    ++counters_.loop_detected;
  const auto decision =
      decide_on_announce(state_, from, costs, limits_.hysteresis, damping_.suppresses(now.mono));
  return apply(decision, costs, now);
}

TreeChange Tree::on_first_cost(const LinkCosts& costs, Now now) {
  return apply(decide(state_, costs, limits_.hysteresis, damping_.suppresses(now.mono)), costs, now);
}

TreeChange Tree::on_deadline(const LinkCosts& costs, Now now) {
  if (!reeval_at_ || now.mono < *reeval_at_) return {};
  reeval_at_ = now.mono + limits_.reeval_interval;
  auto decision = decide(state_, costs, limits_.hysteresis, damping_.suppresses(now.mono));
  if (decision.move == TreeMove::none) decision.move = TreeMove::rebroadcast;
  return apply(decision, costs, now);
}

std::optional<Instant> Tree::deadline() const {
  const auto next = pacing_.next();
  if (!next || !reeval_at_) return next ? next : reeval_at_;
  return std::min(*next, *reeval_at_);
}

TreeChange Tree::apply(const TreeDecision& decision, const LinkCosts& costs, Now now) {
  TreeChange change;
  change.move = decision.move;
  switch (decision.move) {
    case TreeMove::none:
    case TreeMove::parent_lost:
      return change;
    case TreeMove::rebroadcast:
      break;
    case TreeMove::loop_drop:
      return recover(decision.move, costs, now);
    case TreeMove::switched:
      ++counters_.parent_switches;
      attach(decision.parent, now, change);
      change.mark_all_filters = change.drop_paths_through_us = change.clear_lookup_backoff = true;
      break;
    case TreeMove::self_root:
      ++counters_.parent_switches;
      change.path_changed = state_.become_root(now.unix_secs());
      change.mark_all_filters = change.drop_foreign_roots = change.clear_lookup_backoff = true;
      break;
    case TreeMove::ancestry_update:
      attach(decision.parent, now, change);
      // A parent that only counted up moved our own number too, and nothing that anybody must hear of.
      if (!change.path_changed) return change;
      ++counters_.ancestry_changed;
      change.drop_paths_through_us = change.clear_lookup_backoff = true;
      change.mark_all_filters = change.drop_foreign_roots =
          state_.is_root();  // under a parent larger than us
      break;
  }
  request_all(now.mono);
  return change;
}

TreeChange Tree::recover(TreeMove why, const LinkCosts& costs, Now now) {
  TreeChange change;
  change.move = why;
  const auto better = choose_parent(state_, costs, limits_.hysteresis);
  // With the parent gone or looping, any candidate is mandatory.
  if (better.kind != Candidate::Kind::none) attach(better.parent, now, change);
  else change.path_changed = state_.become_root(now.unix_secs());
  change.drop_paths_through_us = change.drop_foreign_roots = true;
  change.clear_lookup_backoff = why == TreeMove::loop_drop;
  request_all(now.mono);
  return change;
}

void Tree::attach(const NodeAddr& parent, Now now, TreeChange& change) {
  const bool other = state_.parent() != parent;
  change.path_changed = state_.attach(parent, now.unix_secs());
  change.damping_armed = damping_.on_parent_written(now.mono, other);
  if (change.damping_armed) ++counters_.flap_dampened;
}

void Tree::request_all(Instant now) {
  for (const auto& [peer, budget] : peers_)
    if (pacing_.request(peer, now)) ++counters_.rate_limited;
}

std::vector<NodeAddr> Tree::take_due(Instant now) {
  auto out = pacing_.take(now, state_.sequence());
  counters_.sent += out.size();
  return out;
}

const Buffer* Tree::announce(const Sign& sign) {
  if (is_signed()) return &announce_;
  wire::TreeAnnounce m{state_.sequence(), state_.timestamp(), state_.parent(), state_.ancestry(), {}};
  const auto signature = sign(crypto::sha256(wire::tree_preimage(own(), m.parent, m.sequence, m.timestamp)));
  if (!signature) {
    ++counters_.outbound_sign_failed;
    return nullptr;
  }
  m.signature = *signature;
  announce_.clear();
  wire::encode_tree_announce(announce_, m);
  signed_sequence_ = m.sequence;
  return &announce_;
}

bool Tree::is_child(const NodeAddr& peer) const {
  const auto* claim = state_.claim(peer);
  return claim != nullptr && claim->parent == own();
}

const Path* Tree::path_of(const NodeAddr& peer) const {
  const auto* claim = state_.claim(peer);
  return claim == nullptr ? nullptr : &claim->path;
}

}  // namespace weft
