#include "metrics/history.h"

#include <algorithm>

namespace weft {
namespace {

// A counter's rise over this many seconds at most is spread over them; what lies further back is unknown.
constexpr std::uint64_t kMaxSpread = 10;
constexpr std::size_t kNodeColumns = kNodeMetrics + kDropCount;
constexpr std::size_t kMapNode = 64;           // what a map adds to an entry
constexpr std::size_t kSecondBlocksKept = 15;  // minutes
constexpr std::size_t kMinuteBlocksKept = 4;   // hours
constexpr std::size_t kSecondBlocks = kSecondsKept / kBlockRows;
constexpr std::size_t kMinuteBlocks = kMinutesKept / kBlockRows;
constexpr double kNsPerSecond = 1e9;

template <std::size_t N>
std::array<Fold, N> folds_of(std::span<const MetricInfo> infos) {
  std::array<Fold, N> out{};
  out.fill(Fold::sum);
  for (std::size_t i = 0; i < infos.size(); ++i) out[i] = infos[i].fold;
  return out;
}
std::span<const Fold> node_folds() {
  static const auto kFolds = folds_of<kNodeColumns>(node_metrics());
  return kFolds;
}
std::span<const Fold> peer_folds() {
  static const auto kFolds = folds_of<kPeerMetrics>(peer_metrics());
  return kFolds;
}

std::size_t slots(std::chrono::seconds window, Granularity g) {
  return static_cast<std::size_t>(std::max<std::int64_t>(0, window.count() / seconds_of(g)));
}
std::vector<double> read_newest(const HistoryStore& store, std::size_t column, std::chrono::seconds window,
                                Granularity g) {
  return g == Granularity::second ? store.seconds(column, slots(window, g))
                                  : store.minutes(column, slots(window, g));
}

}  // namespace

double History::Total::rise(std::uint64_t total, double first, double fallen) {
  const auto before = last;
  const bool had = known;
  last = total;
  known = true;
  if (!had) return first;
  return total < before ? fallen : static_cast<double>(total - before);
}

History::Peer::Peer(HistoryStore::Phase phase) : store(peer_folds(), phase) { values.fill(kNoValue); }

History::History(std::size_t memory_cap)
    : memory_cap_(memory_cap),
      node_(node_folds(), {}),
      node_totals_(kNodeColumns),
      node_values_(kNodeColumns, kNoValue) {}

void History::tick(Instant now, const NodeSample& node, std::span<const PeerSample> peers) {
  if (!last_slot_) origin_ = now;
  if (now < origin_) return;
  const auto slot = static_cast<std::uint64_t>((now - origin_) / std::chrono::seconds(1));
  if (last_slot_ && slot <= *last_slot_) return;
  const auto elapsed = last_slot_ ? slot - *last_slot_ : 1;
  read_node(node, elapsed);
  read_peers(now, peers, elapsed);
  fill(slot);
  last_slot_ = slot;
  forget_absent(now);
  keep_within_cap();
}

Instant History::next_tick() const {
  return last_slot_ ? origin_ + std::chrono::seconds(*last_slot_ + 1) : Instant{};
}

void History::read_node(const NodeSample& s, std::uint64_t elapsed) {
  const auto set = [this](NodeMetric m, double v) { node_values_[static_cast<std::size_t>(m)] = v; };
  const auto rate = [&](std::size_t column, std::uint64_t total) {
    const double rise = node_totals_[column].rise(total, 0, 0);
    return elapsed > kMaxSpread ? kNoValue : rise / static_cast<double>(elapsed);
  };
  const auto count = [&](NodeMetric m, std::uint64_t total) {
    set(m, rate(static_cast<std::size_t>(m), total));
  };
  const auto cpu = [&](NodeMetric m, Duration used) {
    set(m, rate(static_cast<std::size_t>(m), static_cast<std::uint64_t>(used.count())) / kNsPerSecond);
  };
  set(NodeMetric::mesh_size, s.mesh_size.value_or(kNoValue));
  set(NodeMetric::tree_depth, s.tree_depth);
  set(NodeMetric::peer_count, s.peer_count);
  set(NodeMetric::loss_rate, s.loss_rate);
  set(NodeMetric::active_sessions, s.active_sessions);
  set(NodeMetric::mean_srtt_ms, s.mean_srtt_ms.value_or(kNoValue));
  set(NodeMetric::mean_etx, s.mean_etx.value_or(kNoValue));
  count(NodeMetric::parent_switches, s.parent_switches);
  count(NodeMetric::bytes_in, s.bytes_in);
  count(NodeMetric::bytes_out, s.bytes_out);
  count(NodeMetric::packets_in, s.packets_in);
  count(NodeMetric::packets_out, s.packets_out);
  count(NodeMetric::link_bytes_in, s.link_bytes_in);
  count(NodeMetric::link_bytes_out, s.link_bytes_out);
  count(NodeMetric::forwarded_bytes, s.forwarded_bytes);
  count(NodeMetric::forwarded_packets, s.forwarded_packets);
  count(NodeMetric::kernel_drops, s.kernel_drops);
  cpu(NodeMetric::cpu_control, s.cpu_control);
  cpu(NodeMetric::cpu_workers, s.cpu_workers);
  std::uint64_t drops = 0;
  for (std::size_t i = 0; i < kDropCount; ++i) {
    node_values_[kNodeMetrics + i] = rate(kNodeMetrics + i, s.drops[i]);
    drops += s.drops[i];
  }
  count(NodeMetric::drops, drops);
}

void History::read_peers(Instant now, std::span<const PeerSample> samples, std::uint64_t elapsed) {
  for (auto& [addr, p] : peers_) {
    p.active = false;
    p.values.fill(kNoValue);
  }
  for (const auto& s : samples) {
    Peer* p = admit(s.peer, now);
    if (p == nullptr) continue;
    // Back after an absence: totals then and now tell nothing about one second.
    if (p->last_contact != now && last_slot_ && p->last_contact < origin_ + std::chrono::seconds(*last_slot_))
      p->totals.fill({});
    p->active = true;
    p->last_contact = now;
    const auto set = [p](PeerMetric m, double v) { p->values[static_cast<std::size_t>(m)] = v; };
    const auto count = [&](PeerMetric m, std::uint64_t total) {
      const double rise = p->totals[static_cast<std::size_t>(m)].rise(total, kNoValue, kNoValue);
      set(m, elapsed > kMaxSpread ? kNoValue : rise / static_cast<double>(elapsed));
    };
    set(PeerMetric::srtt_ms, s.srtt_ms.value_or(kNoValue));
    set(PeerMetric::loss_rate, s.loss_rate.value_or(kNoValue));
    set(PeerMetric::etx, s.etx.value_or(kNoValue));
    set(PeerMetric::cost, s.cost.value_or(kNoValue));
    count(PeerMetric::bytes_in, s.bytes_in);
    count(PeerMetric::bytes_out, s.bytes_out);
    count(PeerMetric::packets_in, s.packets_in);
    count(PeerMetric::packets_out, s.packets_out);
    count(PeerMetric::ecn_ce, s.ecn_ce);
  }
}

History::Peer* History::admit(const NodeAddr& peer, Instant now) {
  if (const auto it = peers_.find(peer); it != peers_.end()) return &it->second;
  // As many as fit with their open minute and hour, so that keep_within_cap never has to drop a connected one.
  const auto least = sizeof(Peers::value_type) + kMapNode + 2 * kBlockRows * kPeerMetrics * sizeof(float) +
                     (kSecondBlocks + kMinuteBlocks) * sizeof(HistoryBlock);
  const auto node = sizeof(History) + node_.heap_bytes();
  const auto room = memory_cap_ > node ? (memory_cap_ - node) / least : 0;
  if (peers_.size() >= room) {
    auto oldest = peers_.end();
    for (auto it = peers_.begin(); it != peers_.end(); ++it) {
      const bool absent = last_slot_ && it->second.last_contact < origin_ + std::chrono::seconds(*last_slot_);
      if (absent && (oldest == peers_.end() || it->second.last_contact < oldest->second.last_contact))
        oldest = it;
    }
    if (oldest == peers_.end()) return nullptr;
    peers_.erase(oldest);
  }
  Peer& p = peers_.try_emplace(peer, node_.phase()).first->second;
  p.first_seen = p.last_contact = now;
  return &p;
}

void History::fill(std::uint64_t slot) {
  const auto from = last_slot_ ? *last_slot_ + 1 : slot;
  const auto missed = slot - from;
  if (missed >= kMaxSpread) {
    node_.push_gap(missed);
    for (auto& [addr, p] : peers_) p.store.push_gap(missed);
  } else {
    for (auto s = from; s < slot; ++s) push(false);
  }
  push(true);
}

// Seconds that no tick saw get the counters' mean rate and no gauges.
void History::push(bool is_now) {
  if (is_now) {
    node_.push(node_values_);
    for (auto& [addr, p] : peers_) p.store.push(p.values);
    return;
  }
  auto row = node_values_;
  for (std::size_t i = 0; i < kNodeMetrics; ++i)
    if (!node_metrics()[i].counter) row[i] = kNoValue;
  node_.push(row);
  for (auto& [addr, p] : peers_) {
    auto values = p.values;
    for (std::size_t i = 0; i < kPeerMetrics; ++i)
      if (!peer_metrics()[i].counter) values[i] = kNoValue;
    p.store.push(values);
  }
}

void History::forget_absent(Instant now) {
  std::erase_if(peers_,
                [now](const auto& entry) { return now - entry.second.last_contact >= kPeerRetention; });
}

// The blocks `oldest`..`newest` ago of all peers, age by age. True when `used` came down to `target`.
bool History::free_blocks(std::size_t& used, std::size_t target, std::size_t newest, std::size_t oldest,
                          bool absent_only,
                          const std::function<std::size_t(HistoryStore&, std::size_t)>& release) {
  for (auto ago = oldest; ago >= newest; --ago)
    for (auto& [addr, p] : peers_) {
      if (absent_only && p.active) continue;
      used -= release(p.store, ago);
      if (used <= target) return true;
    }
  return false;
}

void History::keep_within_cap() {
  auto used = memory_bytes();
  if (used <= memory_cap_) return;
  // A little more than needed, so that this is not asked again at the next minute.
  const auto target = memory_cap_ - memory_cap_ / 32;
  const auto seconds = [](HistoryStore& s, std::size_t ago) { return s.drop_seconds(ago); };
  const auto minutes = [](HistoryStore& s, std::size_t ago) { return s.drop_minutes(ago); };
  const auto coarser = [](HistoryStore& s, std::size_t ago) { return s.coarsen_minutes(ago); };
  if (free_blocks(used, target, 1, kSecondBlocks, true, seconds)) return;
  if (free_blocks(used, target, kSecondBlocksKept + 1, kSecondBlocks, false, seconds)) return;
  if (free_blocks(used, target, kMinuteBlocksKept + 1, kMinuteBlocks, false, coarser)) return;
  std::vector<Peers::iterator> absent;
  for (auto it = peers_.begin(); it != peers_.end(); ++it)
    if (!it->second.active) absent.push_back(it);
  std::ranges::stable_sort(absent, {}, [](const auto& it) { return it->second.last_contact; });
  for (const auto it : absent) {
    peers_.erase(it);
    used = memory_bytes();
    if (used <= target) return;
  }
  if (free_blocks(used, target, 1, kSecondBlocks, false, seconds)) return;
  free_blocks(used, target, 1, kMinuteBlocks, false, minutes);
}

std::size_t History::memory_bytes() const {
  std::size_t sum = sizeof(History) + node_.heap_bytes() + node_totals_.size() * sizeof(Total) +
                    node_values_.size() * sizeof(double);
  for (const auto& [addr, p] : peers_) sum += sizeof(Peers::value_type) + kMapNode + p.store.heap_bytes();
  return sum;
}

Instant History::newest(Granularity g) const {
  if (!last_slot_) return {};
  const auto open = g == Granularity::second ? 0 : node_.phase().second;
  return origin_ + std::chrono::seconds(*last_slot_) - std::chrono::seconds(open);
}

Series History::query(const NodeSeries& s, std::chrono::seconds window, Granularity g) const {
  return {s.name(), s.unit(), seconds_of(g), read_newest(node_, s.column(), window, g)};
}

std::optional<Series> History::query(const NodeAddr& peer, PeerMetric m, std::chrono::seconds window,
                                     Granularity g) const {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(m);
  const auto& info = peer_metrics()[i];
  return Series{std::string(info.name), info.unit, seconds_of(g),
                read_newest(it->second.store, i, window, g)};
}

std::vector<double> History::recent(const NodeSeries& s, std::size_t n) const {
  const auto ticks = last_slot_ ? static_cast<std::size_t>(*last_slot_) + 1 : 0;
  return node_.seconds(s.column(), std::min(n, ticks));
}

std::vector<TrackedPeer> History::peers() const {
  std::vector<TrackedPeer> out;
  out.reserve(peers_.size());
  for (const auto& [addr, p] : peers_) out.push_back({addr, p.active, p.first_seen, p.last_contact});
  return out;
}

}  // namespace weft
