/// Where other nodes are in the tree, as far as anybody said.
///
/// Trust   proven   by a lookup answer or inside a session: replaces anything.
///         hearsay  read in passing: does not replace a proven path younger than `proof_protects`.
/// Life    `ttl` after the last insert or routing lookup; peek() renews nothing.
/// Bounds  `max_entries`, and 16 times as many addresses in all paths together. What was used longest ago
///         goes first.
/// Time    monotonic.
/// Thread  control thread only. Cost: O(1); the drop_* scans O(all addresses).
/// Source  docs/spec/mesh.md sections 1.6, 4.4, 4.5.
#pragma once

#include <functional>
#include <optional>

#include "base/drop.h"
#include "base/lru.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/coord.h"

namespace weft {

struct CoordCacheLimits {
  std::size_t max_entries = 50'000;
  Duration ttl = 300s;
  Duration proof_protects = 60s;
};

enum class CoordSource : std::uint8_t { hearsay, proven };

struct CoordEntry {
  Path path;                              // the node first, its root last
  std::optional<std::uint16_t> path_mtu;  // bytes, of a whole link frame
  Instant inserted{};
  Instant last_used{};
  Instant expires{};  // still good at this instant
  std::optional<Instant> proven;
};

class CoordCache {
 public:
  explicit CoordCache(const CoordCacheLimits& limits = {}) : limits_(limits), entries_(limits.max_entries) {}

  /// A stored path MTU stays unless `path_mtu` is given; a value under 256 counts as not given.
  /// Errors: warm_mismatch (the path is not `node`'s, or empty), path_too_long; hearsay_refused (proven, and
  /// young).
  Result<void, Drop> insert(const NodeAddr& node, Path path, CoordSource source, Instant now,
                            std::optional<std::uint16_t> path_mtu = std::nullopt);
  /// For choosing a next hop: renews. nullptr when unknown or expired. Valid until the next call that changes
  /// the cache.
  const Path* routing_lookup(const NodeAddr& node, Instant now);
  /// For everything else: renews nothing.
  const CoordEntry* peek(const NodeAddr& node, Instant now) const;
  void set_path_mtu(const NodeAddr& node, std::optional<std::uint16_t> path_mtu);

  bool erase(const NodeAddr& node);
  /// Entries whose path contains `node` (ourselves, when we moved). Returns how many went.
  std::size_t drop_through(const NodeAddr& node);
  /// Entries whose root is another.
  std::size_t drop_foreign_roots(const NodeAddr& root);
  std::size_t drop_expired(Instant now);

  std::size_t size() const { return entries_.size(); }
  std::size_t max_entries() const { return limits_.max_entries; }
  Duration ttl() const { return limits_.ttl; }
  /// All addresses in all paths.
  std::size_t addresses() const { return addresses_; }
  /// Most recently used first, expired ones included: pairs of node and entry.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  template <class Pred>
  std::size_t drop_if(Pred pred);
  void trim();

  CoordCacheLimits limits_;
  Lru<NodeAddr, CoordEntry> entries_;
  std::size_t addresses_ = 0;
};

}  // namespace weft
