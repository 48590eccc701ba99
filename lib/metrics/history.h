/// An hour of seconds and a day of minutes of this node's numbers and its peers', in bounded memory.
///
/// Time     one tick a second; ticks that came late or not at all leave gaps (or, up to 10 s, a mean rate),
/// so that
///          a value's place always tells its age.
/// Gaps     NaN: unknown. Series are padded with it at the front.
/// Memory   at most `memory_cap` bytes; a peer takes up to 143 KB, and its storage begins with its first
/// value. Over the
///          cap, in this order: absent peers lose their seconds, absent peers go, connected peers lose their
///          seconds; longest unheard, then longest known first. Minutes of connected peers always stay: where
///          even these would not fit, further peers are not tracked. Peers absent for a day go in any case.
/// Thread   one owner. Cost: tick O(peers), query O(values).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "metrics/history_ring.h"

namespace weft {

enum class NodeMetric : std::uint8_t {
  mesh_size,
  tree_depth,
  peer_count,
  parent_switches,
  bytes_in,
  bytes_out,
  packets_in,
  packets_out,
  loss_rate,
  active_sessions
};
enum class PeerMetric : std::uint8_t {
  srtt_ms,
  loss_rate,
  bytes_in,
  bytes_out,
  packets_in,
  packets_out,
  ecn_ce
};

struct MetricInfo {
  std::string_view name;
  std::string_view unit;
  Fold fold;
  bool counter;  // samples are differences of a total
};
inline constexpr std::size_t kNodeMetrics = 10;
inline constexpr std::size_t kPeerMetrics = 7;
/// In the order of the enumerations.
std::span<const MetricInfo, kNodeMetrics> node_metrics();
std::span<const MetricInfo, kPeerMetrics> peer_metrics();

enum class Granularity : std::uint8_t { second, minute };
constexpr std::uint32_t seconds_of(Granularity g) { return g == Granularity::second ? 1 : 60; }

/// The words of a query; errors are the text that the operator reads.
Result<NodeMetric, std::string> parse_node_metric(std::string_view name);
Result<PeerMetric, std::string> parse_peer_metric(std::string_view name);
Result<Granularity, std::string> parse_granularity(std::string_view text);
/// Digits and one of s, m, h. More than a Duration holds is an error, not a wrap.
Result<std::chrono::seconds, std::string> parse_window(std::string_view text);

/// Totals and gauges of this node at one tick.
struct NodeSample {
  std::optional<double> mesh_size;
  double tree_depth = 0;
  double peer_count = 0;
  double loss_rate = 0;
  double active_sessions = 0;
  std::uint64_t parent_switches = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0, packets_in = 0, packets_out = 0;
};
/// One connected peer at one tick; totals may begin anew with a new link.
struct PeerSample {
  NodeAddr peer;
  std::optional<double> srtt_ms;
  std::optional<double> loss_rate;
  std::uint64_t bytes_in = 0, bytes_out = 0, packets_in = 0, packets_out = 0, ecn_ce = 0;
};

struct Series {
  std::string_view metric;
  std::string_view unit;
  std::uint32_t granularity_seconds = 1;
  std::vector<double> values;  // oldest first; NaN = none
};
struct TrackedPeer {
  NodeAddr peer;
  bool active = false;  // connected at the last tick
  Instant first_seen;
  Instant last_contact;
};

class History {
 public:
  static constexpr std::size_t kDefaultMemoryCap = std::size_t{16} << 20U;
  static constexpr Duration kPeerRetention = 24h;

  explicit History(std::size_t memory_cap = kDefaultMemoryCap);

  /// Once a second; each peer at most once in `peers`. A second call within one second of this clock does
  /// nothing.
  void tick(Instant now, const NodeSample& node, std::span<const PeerSample> peers);
  /// When the next tick is due; Instant{} before the first.
  Instant next_tick() const;

  /// Always window / granularity values, clipped to the ring.
  Series query(NodeMetric m, std::chrono::seconds window, Granularity g) const;
  /// Error: the peer is not tracked.
  std::optional<Series> query(const NodeAddr& peer, PeerMetric m, std::chrono::seconds window,
                              Granularity g) const;
  /// The newest n seconds, oldest first; fewer while there are fewer.
  std::vector<double> recent(NodeMetric m, std::size_t n) const;
  /// In the order of addresses.
  std::vector<TrackedPeer> peers() const;
  bool tracks(const NodeAddr& peer) const { return peers_.contains(peer); }
  /// Everything included.
  std::size_t memory_bytes() const;

 private:
  struct Peer {
    Peer();
    std::array<HistoryRing, kPeerMetrics> rings;
    std::array<double, kPeerMetrics> values;  // of the tick under way
    Instant first_seen;
    Instant last_contact;
    bool active = false;
    bool coarse = false;  // minutes only
    std::size_t memory_bytes() const;
  };
  struct NodeRings {
    NodeRings();
    std::array<HistoryRing, kNodeMetrics> rings;
    std::array<double, kNodeMetrics> values;
  };

  void read_node(const NodeSample& s, std::uint64_t elapsed);
  void read_peers(Instant now, std::span<const PeerSample> samples, std::uint64_t elapsed);
  Peer* admit(const NodeAddr& peer, Instant now);
  void fill(std::uint64_t slot);
  void fill_gap(std::uint64_t from, std::uint64_t to);
  void push_slot(bool is_now);
  void finish_minute(std::uint64_t minutes);
  void forget_absent(Instant now);
  void keep_within_cap();
  std::vector<std::map<NodeAddr, Peer>::iterator> by_age(bool active);

  std::size_t memory_cap_;
  NodeRings node_;
  std::map<NodeAddr, Peer> peers_;
  Instant origin_{};
  std::optional<std::uint64_t> last_slot_;  // seconds since origin_
};

}  // namespace weft
