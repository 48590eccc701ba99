/// The way from this node to the target, as far as this node can tell.
///
/// Known     the next hop (this node chose it), and the target when it answered.
/// Inferred  everything between: the way along the tree that the coordinates say. Nodes on it may know a shorter one, so
///           it is a bound and no trace.
#pragma once

#include "probe/report.h"

namespace weft::probe {

struct WalkStep {
  NodeAddr node;
  bool known = false;
};
struct Walk {
  std::vector<WalkStep> steps;  // without this node; the target last. Empty: nothing is known
  bool complete = false;        // false: there may be nodes between the last two
  /// Links that the target's newest message crossed on its way here, if it started with the usual hop limit.
  std::optional<unsigned> links_back;
};

Walk walk_of(const Report& r);
/// How many nodes two paths have in common, counted from their roots.
std::size_t shared_end(const Path& a, const Path& b);
/// Along the tree from the first node of `a` to the first of `b`, both included; empty when their roots differ.
Path tree_walk(const Path& a, const Path& b);

}  // namespace weft::probe
