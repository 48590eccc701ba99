/// The greedy step: which peer brings a datagram strictly closer to its destination.
///
/// Every hop is strictly closer by tree distance, which is what keeps routes free of loops; the ranking among
/// those peers is policy.
///
/// Pure    equal inputs give equal answers.
/// Cost    O(peers * common path length), no allocation; under 2 us for 128 peers.
/// Source  docs/spec/mesh.md sections 1.9, 4.3.
#pragma once

#include <optional>
#include <span>

#include "wire/coord.h"

namespace weft {

inline constexpr std::size_t kInfiniteDistance = SIZE_MAX;

/// Hops between two nodes along the tree; infinite when their roots differ. Neither path is empty.
std::size_t tree_distance(const Path& a, const Path& b);

struct HopCandidate {
  NodeAddr addr;
  bool sendable = false;       // the link carries data now
  bool filter_hit = false;     // its inbound filter holds the destination
  double link_cost = 1.0;      // 1.0 without an RTT; finite
  const Path* path = nullptr;  // as it announced it; nullptr: not yet
};

enum class HopStage : std::uint8_t { direct, filter, greedy };
struct NextHop {
  NodeAddr peer;
  HopStage stage = HopStage::direct;
};

/// mesh.md 4.3 in order, but for the ranking of closer peers whose filter holds the destination: link cost plus the
/// distance that is left, so that no difference in cost, however small, buys a long way round. `dest_path` nullptr: not in the cache; only a peer that is the destination itself
/// serves then.
std::optional<NextHop> find_next_hop(const NodeAddr& own, const Path& own_path, const NodeAddr& dest,
                                     const Path* dest_path, std::span<const HopCandidate> peers);
/// The two stages apart, for diagnostics.
std::optional<NodeAddr> filter_stage(const Path& own_path, const Path& dest_path,
                                     std::span<const HopCandidate> peers);
std::optional<NodeAddr> greedy_stage(const Path& own_path, const Path& dest_path,
                                     std::span<const HopCandidate> peers);

/// What kind of step it is, for the forwarding counters route_*.
enum class RouteClass : std::uint8_t {
  tree_up,            // to an ancestor
  tree_down,          // to a descendant that is above the destination
  tree_down_cross,    // to a descendant that is not
  crosslink_descend,  // sideways, to a node above the destination
  crosslink_ascend,   // sideways, to one that is not
  direct_peer,        // to the destination itself
};
RouteClass classify_hop(const NodeAddr& own, const Path& own_path, const NodeAddr& dest,
                        const Path* dest_path, const NodeAddr& peer, const Path* peer_path);

}  // namespace weft
