/// Root and parent: which claim to follow, decided from claims and link costs alone.
///
/// Two things differ from the reference, both in favour of staying connected: a peer that loops through us
/// never counts as the present parent, and a parent that fell to a larger root holds nobody back.
///
/// Pure    no time, no change of state; equal inputs give equal answers.
/// Cost    O(peers * depth).
/// Source  docs/spec/mesh.md section 1.6.
#pragma once

#include <map>

#include "tree/state.h"

namespace weft {

/// Cost of the link to each peer that has an RTT sample, etx * (1 + srtt_ms / 100): finite, at least 1 as a
/// habit.
using LinkCosts = std::map<NodeAddr, double>;

/// What happened to our place in the tree.
enum class TreeMove : std::uint8_t {
  none,
  switched,         // another parent
  self_root,        // nobody visible has a smaller root than us
  loop_drop,        // the parent's path came to contain us; parent() says where we went
  ancestry_update,  // same parent, whose own path was announced anew
  parent_lost,      // the parent's link went; parent() says where we went
  rebroadcast,      // nothing; only said again
};

struct Candidate {
  enum class Kind : std::uint8_t { none, mandatory, discretionary } kind = Kind::none;
  NodeAddr parent;  // unless none
};
/// The better parent, if there is one. Never one whose path contains us, or is too long for one more entry.
Candidate choose_parent(const TreeState& state, const LinkCosts& costs, double hysteresis);

struct TreeDecision {
  TreeMove move = TreeMove::none;
  NodeAddr parent;  // for switched and ancestry_update
};
/// After `from`'s announce was stored. `suppressed`: improvements must wait (Damping).
TreeDecision decide_on_announce(const TreeState& state, const NodeAddr& from, const LinkCosts& costs,
                                double hysteresis, bool suppressed);
/// At any other time: none, switched or self_root.
TreeDecision decide(const TreeState& state, const LinkCosts& costs, double hysteresis, bool suppressed);
/// The effective depth below each peer, for operators: peer depth + cost; nullopt when the peer is not
/// judged.
std::optional<double> effective_depth(const TreeState& state, const NodeAddr& peer, const LinkCosts& costs);

}  // namespace weft
