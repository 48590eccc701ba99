/// An hour of seconds and a day of minutes of this node's numbers and its peers', in bounded memory.
///
/// Time     one tick a second; ticks that came late or not at all leave gaps (or, up to 10 s, a mean rate), so that
///          a value's place always tells its age.
/// Gaps     NaN: unknown. Series are padded with it at the front.
/// Memory   at most `memory_cap` bytes; a peer takes 6 KB from the start and 145 KB at the very most. Over the cap,
///          in this order, always the oldest of all first: seconds of absent peers; seconds before the last quarter
///          of an hour; minutes before the last four hours become tens of minutes; absent peers go, longest unheard
///          first; all packed seconds; minutes. Where even what every peer starts with would not fit, further peers
///          are not tracked. Peers absent for a day go in any case.
/// Thread   one owner. Cost: tick O(peers), every sixtieth packs a minute; query O(values).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/drop.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "metrics/history_store.h"

namespace weft {

/// The first ten, and the first seven of PeerMetric, are those of the control protocol; the others are ours.
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
  active_sessions,
  mean_srtt_ms,
  mean_etx,
  link_bytes_in,
  link_bytes_out,
  forwarded_bytes,
  forwarded_packets,
  drops,
  kernel_drops,
  cpu_control,
  cpu_workers,
  count_
};
enum class PeerMetric : std::uint8_t {
  srtt_ms,
  loss_rate,
  bytes_in,
  bytes_out,
  packets_in,
  packets_out,
  ecn_ce,
  etx,
  cost,
  count_
};

struct MetricInfo {
  std::string_view name;
  std::string_view unit;
  Fold fold;
  bool counter;  // samples are differences of a total
  std::string_view text;
};
inline constexpr std::size_t kNodeMetrics = static_cast<std::size_t>(NodeMetric::count_);
inline constexpr std::size_t kPeerMetrics = static_cast<std::size_t>(PeerMetric::count_);
/// In the order of the enumerations.
std::span<const MetricInfo, kNodeMetrics> node_metrics();
std::span<const MetricInfo, kPeerMetrics> peer_metrics();

/// A series of this node: one of its metrics, or what was refused for one cause ("drop_bad_tag").
class NodeSeries {
 public:
  NodeSeries(NodeMetric m) : column_(static_cast<std::size_t>(m)) {}           // NOLINT: the same thing
  NodeSeries(Drop d) : column_(kNodeMetrics + static_cast<std::size_t>(d)) {}  // NOLINT: the same thing
  std::size_t column() const { return column_; }
  std::string name() const;
  std::string_view unit() const;
  std::string_view text() const;
  friend bool operator==(const NodeSeries&, const NodeSeries&) = default;

 private:
  std::size_t column_;
};

enum class Granularity : std::uint8_t { second, minute };
constexpr std::uint32_t seconds_of(Granularity g) { return g == Granularity::second ? 1 : 60; }
/// Seconds where they reach back that far, else minutes.
constexpr Granularity granularity_for(std::chrono::seconds window) {
  return window > std::chrono::seconds(kSecondsKept) ? Granularity::minute : Granularity::second;
}

/// The words of a query; errors are the text that the operator reads.
Result<NodeSeries, std::string> parse_node_series(std::string_view name);
Result<PeerMetric, std::string> parse_peer_metric(std::string_view name);
Result<Granularity, std::string> parse_granularity(std::string_view text);
/// Digits and one of s, m, h. More than a Duration holds is an error, not a wrap.
Result<std::chrono::seconds, std::string> parse_window(std::string_view text);

/// Totals and gauges of this node at one tick.
struct NodeSample {
  std::optional<double> mesh_size, mean_srtt_ms, mean_etx;
  double tree_depth = 0;
  double peer_count = 0;
  double loss_rate = 0;
  double active_sessions = 0;
  std::uint64_t parent_switches = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0, packets_in = 0, packets_out = 0;
  std::uint64_t link_bytes_in = 0, link_bytes_out = 0;
  std::uint64_t forwarded_bytes = 0, forwarded_packets = 0;
  std::uint64_t kernel_drops = 0;
  Duration cpu_control{}, cpu_workers{};  // used so far
  std::array<std::uint64_t, kDropCount> drops{};
};
/// One connected peer at one tick; totals may begin anew with a new link.
struct PeerSample {
  NodeAddr peer;
  std::optional<double> srtt_ms, loss_rate, etx, cost;
  std::uint64_t bytes_in = 0, bytes_out = 0, packets_in = 0, packets_out = 0, ecn_ce = 0;
};

struct Series {
  std::string metric;
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

  /// Once a second; each peer at most once in `peers`. A second call within one second of this clock does nothing.
  void tick(Instant now, const NodeSample& node, std::span<const PeerSample> peers);
  /// When the next tick is due; Instant{} before the first.
  Instant next_tick() const;

  /// Always window / granularity values, clipped to an hour of seconds or a day of minutes.
  Series query(const NodeSeries& s, std::chrono::seconds window, Granularity g) const;
  /// Error: the peer is not tracked.
  std::optional<Series> query(const NodeAddr& peer, PeerMetric m, std::chrono::seconds window,
                              Granularity g) const;
  /// The newest n seconds, oldest first; fewer while there are fewer.
  std::vector<double> recent(const NodeSeries& s, std::size_t n) const;
  /// When the newest value's second or minute was over; Instant{} before the first tick.
  Instant newest(Granularity g) const;
  /// In the order of addresses.
  std::vector<TrackedPeer> peers() const;
  bool tracks(const NodeAddr& peer) const { return peers_.contains(peer); }
  /// Everything included.
  std::size_t memory_bytes() const;

 private:
  /// Rises of totals.
  struct Total {
    std::uint64_t last = 0;
    bool known = false;
    /// What it rose by since the last call; `first` before that, `fallen` when it fell.
    double rise(std::uint64_t total, double first, double fallen);
  };
  struct Peer {
    Peer(HistoryStore::Phase phase);
    HistoryStore store;
    std::array<Total, kPeerMetrics> totals;
    std::array<double, kPeerMetrics> values;  // of the tick under way
    Instant first_seen;
    Instant last_contact;
    bool active = false;
  };
  using Peers = std::map<NodeAddr, Peer>;

  void read_node(const NodeSample& s, std::uint64_t elapsed);
  void read_peers(Instant now, std::span<const PeerSample> samples, std::uint64_t elapsed);
  Peer* admit(const NodeAddr& peer, Instant now);
  void fill(std::uint64_t slot);
  void push(bool is_now);
  void forget_absent(Instant now);
  void keep_within_cap();
  bool free_blocks(std::size_t& used, std::size_t target, std::size_t newest, std::size_t oldest,
                   bool absent_only,
                   const std::function<std::size_t(HistoryStore&, std::size_t ago)>& release);

  std::size_t memory_cap_;
  HistoryStore node_;
  std::vector<Total> node_totals_;
  std::vector<double> node_values_;  // of the tick under way
  Peers peers_;
  Instant origin_{};
  std::optional<std::uint64_t> last_slot_;  // seconds since origin_
};

}  // namespace weft
