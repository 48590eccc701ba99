#include "route/next_hop.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace weft {
namespace {

bool same(const NodeAddr& a, const NodeAddr& b) {
  return std::memcmp(a.bytes.data(), b.bytes.data(), 16) == 0;
}

bool contains(const Path& path, const NodeAddr& node) { return std::ranges::find(path, node) != path.end(); }

/// The distance when it is below `limit`, else anything not below it. A difference in length alone can settle
/// it.
std::size_t distance_below(const Path& a, const Path& b, std::size_t limit) {
  const std::size_t na = a.size();
  const std::size_t nb = b.size();
  if ((na > nb ? na - nb : nb - na) >= limit || !same(a.back(), b.back())) return kInfiniteDistance;
  const std::size_t most = std::min(na, nb);
  std::size_t common = 1;
  while (common < most && same(a[na - 1 - common], b[nb - 1 - common])) ++common;
  return na + nb - 2 * common;
}

/// Both stages in one walk over the peers, since distances are what costs.
class Step {
 public:
  Step(const Path& own_path, const Path& dest_path)
      : dest_(dest_path), own_(tree_distance(own_path, dest_path)) {}

  void look(const HopCandidate& peer) {
    if (peer.path == nullptr || peer.path->empty()) return;
    const auto d = distance_below(*peer.path, dest_, own_);
    if (d >= own_) return;  // loop freedom
    if (peer.sendable && peer.filter_hit) {
      assert(std::isfinite(peer.link_cost));
      // As parents are chosen: what the link costs, and a hop for each step that is left.
      const double total = peer.link_cost + static_cast<double>(d);
      if (filtered_ == nullptr ||
          std::tie(total, d, peer.addr) < std::tie(filtered_total_, filtered_distance_, filtered_->addr)) {
        filtered_ = &peer;
        filtered_distance_ = d;
        filtered_total_ = total;
      }
    }
    if (nearest_ == nullptr || std::tie(d, peer.addr) < std::tie(nearest_distance_, nearest_->addr)) {
      nearest_ = &peer;
      nearest_distance_ = d;
    }
  }
  const HopCandidate* filtered() const { return filtered_; }
  /// Under another root than the destination's there is no way to be closer; and there is no second best.
  const HopCandidate* greedy() const {
    return own_ != kInfiniteDistance && nearest_ != nullptr && nearest_->sendable ? nearest_ : nullptr;
  }

 private:
  const Path& dest_;
  std::size_t own_;
  const HopCandidate* filtered_ = nullptr;
  std::size_t filtered_distance_ = 0;
  double filtered_total_ = 0;
  const HopCandidate* nearest_ = nullptr;  // sendable or not
  std::size_t nearest_distance_ = 0;
};

}  // namespace

std::size_t tree_distance(const Path& a, const Path& b) { return distance_below(a, b, kInfiniteDistance); }

std::optional<NextHop> find_next_hop(const NodeAddr& own, const Path& own_path, const NodeAddr& dest,
                                     const Path* dest_path, std::span<const HopCandidate> peers) {
  if (dest == own) return std::nullopt;
  for (const auto& p : peers)
    if (p.sendable && same(p.addr, dest)) return NextHop{p.addr, HopStage::direct};
  if (dest_path == nullptr || dest_path->empty()) return std::nullopt;
  Step step(own_path, *dest_path);
  for (const auto& p : peers) step.look(p);
  if (const auto* p = step.filtered()) return NextHop{p->addr, HopStage::filter};
  if (const auto* p = step.greedy()) return NextHop{p->addr, HopStage::greedy};
  return std::nullopt;
}

std::optional<NodeAddr> filter_stage(const Path& own_path, const Path& dest_path,
                                     std::span<const HopCandidate> peers) {
  Step step(own_path, dest_path);
  for (const auto& p : peers) step.look(p);
  return step.filtered() != nullptr ? std::optional(step.filtered()->addr) : std::nullopt;
}

std::optional<NodeAddr> greedy_stage(const Path& own_path, const Path& dest_path,
                                     std::span<const HopCandidate> peers) {
  Step step(own_path, dest_path);
  for (const auto& p : peers) step.look(p);
  return step.greedy() != nullptr ? std::optional(step.greedy()->addr) : std::nullopt;
}

RouteClass classify_hop(const NodeAddr& own, const Path& own_path, const NodeAddr& dest,
                        const Path* dest_path, const NodeAddr& peer, const Path* peer_path) {
  if (peer == dest) return RouteClass::direct_peer;
  if (contains(own_path, peer)) return RouteClass::tree_up;
  const bool above_dest = dest_path != nullptr && contains(*dest_path, peer);
  if (peer_path != nullptr && contains(*peer_path, own))
    return above_dest ? RouteClass::tree_down : RouteClass::tree_down_cross;
  return above_dest ? RouteClass::crosslink_descend : RouteClass::crosslink_ascend;
}

}  // namespace weft
