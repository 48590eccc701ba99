/// Other nodes' lookups on their way through us: where each came from, so that its answer finds back.
///
/// Bounds  `max` requests in all and `max_per_peer` of one neighbour, so that a flood of ids fills only the
///         flooder's share.
/// Time    monotonic.
/// Thread  owner's. Cost: O(log peers) amortised.
/// Source  docs/spec/mesh.md sections 3.4, 3.5, 8.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include "base/drop.h"
#include "base/ids.h"
#include "base/lru.h"
#include "base/result.h"
#include "base/time.h"

namespace weft {

struct TransitLimits {
  std::size_t max = 4096;
  std::size_t max_per_peer = 1024;
  Duration expiry = 10s;
  Duration forward_interval = 2s;  // per target and origin
};

/// Who is asked for, by whom. An origin of its own keeps nodes that want the same target at the same time from
/// taking each other's turn; what a flood of invented origins costs is bounded by max_per_peer.
struct LookupQuestion {
  NodeAddr target;
  NodeAddr origin;
  bool operator==(const LookupQuestion&) const = default;
};

}  // namespace weft

template <>
struct std::hash<weft::LookupQuestion> {
  std::size_t operator()(const weft::LookupQuestion& q) const noexcept {
    return weft::detail::mix(std::hash<weft::NodeAddr>{}(q.target) +
                             3 * std::hash<weft::NodeAddr>{}(q.origin));
  }
};

namespace weft {

class LookupTransit {
 public:
  explicit LookupTransit(const TransitLimits& limits = {}) : limits_(limits), forwards_(limits.max) {}

  /// Errors: duplicate_request, request_table_full.
  Result<void, Drop> record(std::uint64_t id, const NodeAddr& from, const NodeAddr& target, Instant now);
  /// False: the same question was forwarded less than forward_interval ago.
  bool may_forward(const LookupQuestion& question, Instant now);
  /// The peer that the answer goes back to, once. Entries past their expiry still serve until record() sweeps
  /// them. Errors: unknown_request, target_mismatch, response_repeated.
  Result<NodeAddr, Drop> take_back(std::uint64_t id, const NodeAddr& target);
  bool knows(std::uint64_t id) const { return table_.contains(id); }
  std::size_t size() const { return table_.size(); }

 private:
  struct Entry {
    NodeAddr from;
    NodeAddr target;
    bool answered = false;
  };
  void sweep(Instant now);

  TransitLimits limits_;
  std::unordered_map<std::uint64_t, Entry> table_;  // never iterated
  std::deque<std::pair<Instant, std::uint64_t>> order_;
  std::map<NodeAddr, std::size_t> per_peer_;
  Lru<LookupQuestion, Instant> forwards_;
};

}  // namespace weft
