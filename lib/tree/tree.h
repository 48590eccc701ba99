/// This node's place in the spanning tree: announces in, announces out, and what a move means elsewhere.
///
/// Use     after every call, send announce() to everyone in take_due(); only then hand filters to bloom, as
///         receivers need that order. Wake at deadline().
/// Costs   LinkCosts are the caller's at the time of the call.
/// Errors  a refused announce changes nothing but a counter.
/// Thread  control thread only.
/// Cost    O(peers * depth) per announce, and one signature check per fresh one, at most `verify_rate` a
///         second and peer.
/// Source  docs/spec/mesh.md sections 1 and 8.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/bucket.h"
#include "crypto/curve.h"
#include "crypto/hash.h"
#include "tree/choose.h"
#include "tree/damping.h"
#include "tree/pacing.h"

namespace weft {

struct TreeLimits {
  double hysteresis = 0.2;
  DampingLimits damping;
  Duration reeval_interval = 60s;  // 0: off
  Duration announce_min_interval = 500ms;
  Duration repeat_after = 2s;
  double verify_burst = 32;
  double verify_rate = 8;  // an honest peer sends two a second at most
};

/// Names as operators see them (show_tree, show_metrics).
struct TreeCounters {
  std::uint64_t received = 0, decode_error = 0, unknown_peer = 0, addr_mismatch = 0, sig_failed = 0,
                stale = 0, ancestry_invalid = 0, accepted = 0, loop_detected = 0, ancestry_changed = 0,
                sent = 0, rate_limited = 0, send_failed = 0, outbound_sign_failed = 0, parent_switches = 0,
                parent_losses = 0, flap_dampened = 0;
};

/// What the caller must pass on. Announces are queued already.
struct TreeChange {
  TreeMove move = TreeMove::none;
  bool path_changed = false;           // our coordinates name other nodes: every cached route is void
  bool mark_all_filters = false;       // else only those whose content differs
  bool drop_paths_through_us = false;  // coordinate cache
  bool drop_foreign_roots = false;     // coordinate cache: entries whose root is not Tree::root()
  bool clear_lookup_backoff = false;
  bool damping_armed = false;  // worth a warning
};

class Tree {
 public:
  /// BIP-340 over the digest with our identity key; nothing when signing fails.
  using Sign = std::function<std::optional<crypto::Signature>(const crypto::Digest&)>;
  /// Does the signature over the digest verify under the key of the peer whose announce this is?
  using Verify = std::function<bool(const crypto::Digest&, const crypto::Signature&)>;

  Tree(const NodeAddr& own, Now now, const TreeLimits& limits = {});

  void add_peer(const NodeAddr& peer, Instant now);
  TreeChange remove_peer(const NodeAddr& peer, const LinkCosts& costs, Now now);
  /// The peer's startup epoch changed on a link that stays: its numbers start again, and it forgot ours.
  void peer_restarted(const NodeAddr& peer, Instant now);

  /// `message` with its type byte, from the authenticated link of `from`.
  Result<TreeChange, Drop> on_announce(const NodeAddr& from, Bytes message, const Verify& verify,
                                       const LinkCosts& costs, Now now);
  /// A peer was measured for the first time.
  TreeChange on_first_cost(const LinkCosts& costs, Now now);
  /// The periodic look, if it is due.
  TreeChange on_deadline(const LinkCosts& costs, Now now);
  std::optional<Instant> deadline() const;

  /// Peers that get announce() now; counted as sent.
  std::vector<NodeAddr> take_due(Instant now);
  /// The current announce with its type byte, signed when first asked for; nullptr when signing failed.
  const Buffer* announce(const Sign& sign);
  /// Our newest place has not been sent to this peer yet: its filter must wait.
  bool announce_pending(const NodeAddr& peer) const { return pacing_.pending(peer); }
  void on_send_failed() { ++counters_.send_failed; }

  /// Parent or child.
  bool is_tree_peer(const NodeAddr& peer) const { return is_parent(peer) || is_child(peer); }
  bool is_parent(const NodeAddr& peer) const { return !state_.is_root() && state_.parent() == peer; }
  bool is_child(const NodeAddr& peer) const;
  const NodeAddr& own() const { return state_.own(); }
  const NodeAddr& root() const { return state_.root(); }
  const Path& path() const { return state_.path(); }
  /// nullptr before its first announce. Valid until that peer's next one, or its removal.
  const Path* path_of(const NodeAddr& peer) const;
  const TreeState& state() const { return state_; }
  const Damping& damping() const { return damping_; }
  bool is_signed() const { return signed_sequence_ == state_.sequence(); }
  const TreeCounters& counters() const { return counters_; }

 private:
  TreeChange apply(const TreeDecision& decision, const LinkCosts& costs, Now now);
  TreeChange recover(TreeMove why, const LinkCosts& costs, Now now);
  void attach(const NodeAddr& parent, Now now, TreeChange& change);
  void request_all(Instant now);
  Result<wire::TreeAnnounce, Drop> admit(const NodeAddr& from, Bytes message, Instant now);

  TreeLimits limits_;
  TreeState state_;
  Damping damping_;
  AnnouncePacing pacing_;
  std::map<NodeAddr, Bucket> peers_;  // active peers, each with its budget of signature checks
  std::optional<Instant> reeval_at_;
  Buffer announce_;
  std::optional<std::uint64_t> signed_sequence_;
  TreeCounters counters_;
};

}  // namespace weft
