#include "tree/choose.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

bool contains(const Path& path, const NodeAddr& node) { return std::ranges::find(path, node) != path.end(); }

/// Before anybody is measured all links count alike; afterwards the unmeasured are not judged.
std::optional<double> cost_of(const LinkCosts& costs, const NodeAddr& peer) {
  if (costs.empty()) return 1.0;
  const auto it = costs.find(peer);
  if (it == costs.end()) return std::nullopt;
  return it->second;
}

std::optional<double> effective(const TreeClaim& claim, const NodeAddr& peer, const LinkCosts& costs) {
  const auto cost = cost_of(costs, peer);
  if (!cost) return std::nullopt;
  return static_cast<double>(claim.path.size() - 1) + *cost;
}

bool eligible(const TreeClaim& claim, const NodeAddr& own) {
  return claim.path.size() < wire::kMaxCoords && !contains(claim.path, own);
}

struct Best {
  NodeAddr peer;
  double depth = std::numeric_limits<double>::infinity();
};

std::optional<Best> best_under(const TreeState& state, const NodeAddr& root, const LinkCosts& costs) {
  std::optional<Best> best;
  for (const auto& [peer, claim] : state.claims()) {  // ascending, so the smaller address keeps a tie
    if (claim.root() != root || !eligible(claim, state.own())) continue;
    const auto depth = effective(claim, peer, costs);
    if (depth && (!best || *depth < best->depth)) best = Best{peer, *depth};
  }
  return best;
}

bool may_take(const Candidate& c, bool suppressed) {
  return c.kind == Candidate::Kind::mandatory || (c.kind == Candidate::Kind::discretionary && !suppressed);
}

bool should_be_root(const TreeState& state) {
  if (state.is_root()) return false;
  const auto least = state.smallest_root();
  return !least || state.own() <= *least;
}

}  // namespace

Candidate choose_parent(const TreeState& state, const LinkCosts& costs, double hysteresis) {
  using Kind = Candidate::Kind;
  const auto root = state.smallest_root();
  if (!root || state.own() <= *root) return {};
  const auto best = best_under(state, *root, costs);
  if (!best) return {};
  if (state.is_root()) return {Kind::mandatory, best->peer};
  if (best->peer == state.parent()) return {};
  const auto* parent = state.claim(state.parent());
  if (parent == nullptr || contains(parent->path, state.own())) return {Kind::mandatory, best->peer};
  if (*root < state.root() || *root < parent->root()) return {Kind::mandatory, best->peer};
  const auto present =
      effective(*parent, state.parent(), costs).value_or(std::numeric_limits<double>::infinity());
  if (best->depth < present * (1.0 - hysteresis)) return {Kind::discretionary, best->peer};
  return {};
}

TreeDecision decide(const TreeState& state, const LinkCosts& costs, double hysteresis, bool suppressed) {
  const auto better = choose_parent(state, costs, hysteresis);
  if (may_take(better, suppressed)) return {TreeMove::switched, better.parent};
  if (should_be_root(state)) return {TreeMove::self_root, state.own()};
  return {};
}

TreeDecision decide_on_announce(const TreeState& state, const NodeAddr& from, const LinkCosts& costs,
                                double hysteresis, bool suppressed) {
  const auto decision = decide(state, costs, hysteresis, suppressed);
  if (decision.move != TreeMove::none || state.is_root() || from != state.parent()) return decision;
  const auto* claim = state.claim(from);
  if (claim != nullptr && contains(claim->path, state.own())) return {TreeMove::loop_drop, {}};
  return {TreeMove::ancestry_update, from};
}

std::optional<double> effective_depth(const TreeState& state, const NodeAddr& peer, const LinkCosts& costs) {
  const auto* claim = state.claim(peer);
  return claim == nullptr ? std::nullopt : effective(*claim, peer, costs);
}

}  // namespace weft
