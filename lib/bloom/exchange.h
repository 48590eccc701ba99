/// What each peer must hear about who is reachable through us, and what each told us.
///
/// Out     for peer Q: ourselves, our dependants, and the inbound filters of all tree peers except Q.
/// When    marked peers, at most one filter per peer and 500 ms, content of the moment of sending. Nothing
///         acknowledges a filter, so each is said again under a higher number: a new one soon, then every 60 s.
/// Order   a filter that overtakes the announce which makes us a tree peer is stored by the reference and
///         never merged: take_due() asks before each send, and Tree::announce_pending() has the answer.
/// Errors  a refused filter changes nothing but a counter.
/// Time    monotonic.
/// Thread  control thread only. Cost: 1 KiB of work per peer for each changed filter, and for each send.
/// Source  docs/spec/mesh.md sections 2.3 to 2.6, 7.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "base/deadlines.h"
#include "base/drop.h"
#include "base/result.h"
#include "base/time.h"
#include "bloom/filter.h"

namespace weft {

struct BloomLimits {
  double max_inbound_fpr = 0.20;
  Duration debounce = 500ms;
  Duration repeat = 60s;  // 0: never
  /// After a filter with new content, so that a lost one is not missed for a minute. Not when `repeat` is 0.
  std::array<Duration, 2> early_repeats = {2s, 8s};
};

/// Names as operators see them (show_bloom, show_metrics).
struct BloomCounters {
  std::uint64_t received = 0, decode_error = 0, invalid = 0, non_v1 = 0, unknown_peer = 0, stale = 0,
                fill_exceeded = 0, accepted = 0, sent = 0, debounce_suppressed = 0, send_failed = 0;
};

class BloomExchange {
 public:
  struct Send {
    NodeAddr to;
    Buffer message;  // FilterAnnounce with its type byte
  };
  /// What one peer told us.
  struct Inbound {
    Filter filter;
    std::uint64_t sequence = 0;
    Instant at;
  };
  using Predicate = std::function<bool(const NodeAddr&)>;

  BloomExchange(const NodeAddr& own, Now now, const BloomLimits& limits = {});

  /// Marked at once.
  void add_peer(const NodeAddr& peer, Instant now);
  /// Marks everybody.
  void remove_peer(const NodeAddr& peer, Instant now);
  /// The peer's startup epoch changed: its numbers start again, and it has lost what we sent. Its filter
  /// stays in use.
  void peer_restarted(const NodeAddr& peer, Instant now);
  /// Who is parent or child now. Call after every change in the tree; marks those whose content differs.
  void set_tree_peers(const Predicate& is_tree_peer, Instant now);
  void mark_all(Instant now);
  /// Marks every peer whose filter would differ from the last one sent.
  void mark_changed(Instant now);
  /// Nodes that only we can reach; inserted into everything we send.
  void set_dependants(const std::vector<NodeAddr>& nodes, Instant now);

  /// `message` with its type byte, from the authenticated link of `from`. A refusal changes nothing.
  Result<void, Drop> on_filter(const NodeAddr& from, Bytes message, Instant now);

  std::optional<Instant> deadline() const { return due_.next(); }
  /// Filters to send now; counted as sent. Where `must_wait` says so the mark stays, and is looked at again
  /// 50 ms later.
  std::vector<Send> take_due(Instant now, const Predicate& must_wait);
  void on_send_failed(const NodeAddr& peer, Instant now);

  /// nullptr: no filter yet. Valid until that peer's next filter, or its removal.
  const Inbound* inbound(const NodeAddr& peer) const;
  bool may_reach(const NodeAddr& peer, const FilterKey& key) const {
    const auto* in = inbound(peer);
    return in != nullptr && in->filter.holds(key);
  }
  /// Does any peer's filter hold it?
  bool any_reaches(const FilterKey& key) const;
  /// What `peer` would be sent now.
  Filter outgoing(const NodeAddr& peer) const;
  /// Nodes in the mesh by all filters together; nothing while no peer sent one, or when their union is too
  /// full.
  std::optional<std::uint64_t> mesh_size() const;
  std::uint64_t sequence() const { return sequence_; }
  /// The last filter we sent was fuller than we would take from others. Worth a warning now and then.
  bool overfull() const { return overfull_; }
  const BloomCounters& counters() const { return counters_; }

 private:
  struct Peer {
    std::optional<Inbound> in;
    std::optional<Filter> sent;
    std::optional<Instant> last_sent;
    std::size_t early = 0;  // repeats of `sent` that are behind us
    bool tree = false;
    bool marked = false;
  };
  void mark(const NodeAddr& peer, Peer& state, Instant now);
  void rebuild();
  Filter outgoing(const Peer& state) const;

  NodeAddr own_;
  BloomLimits limits_;
  Filter base_;          // ourselves and our dependants
  OrExceptOne inbound_;  // of all tree peers
  std::map<NodeAddr, Peer> peers_;
  Deadlines<NodeAddr> due_;
  std::uint64_t sequence_;  // node-wide: each send takes the next one; starts at Unix milliseconds
  bool overfull_ = false;
  BloomCounters counters_;
};

}  // namespace weft
