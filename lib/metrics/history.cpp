#include "metrics/history.h"

#include <algorithm>

namespace weft {
namespace {

// A counter's rise over this many seconds at most is spread over them; what lies further back is unknown.
constexpr std::uint64_t kMaxSpread = 10;
constexpr std::size_t kCoarsePeer = kPeerMetrics * kMinutesKept * sizeof(float);

// The value of a counter's slot: events per second. `first`, `fallen` as in HistoryRing::rise.
double rate(HistoryRing& ring, std::uint64_t total, double first, double fallen, std::uint64_t elapsed) {
  const double rise = ring.rise(total, first, fallen);
  return elapsed > kMaxSpread ? kNoValue : rise / static_cast<double>(elapsed);
}

Series series_of(const MetricInfo& info, const HistoryRing& ring, std::chrono::seconds window,
                 Granularity g) {
  const auto& source = g == Granularity::second ? ring.seconds() : ring.minutes();
  const auto want = std::max<std::int64_t>(0, window.count() / seconds_of(g));
  return {info.name, info.unit, seconds_of(g), source.newest(static_cast<std::size_t>(want))};
}

}  // namespace

History::Peer::Peer() {
  for (std::size_t i = 0; i < kPeerMetrics; ++i) rings[i] = HistoryRing(peer_metrics()[i].fold);
  values.fill(kNoValue);
}
std::size_t History::Peer::memory_bytes() const {
  std::size_t sum = sizeof(Peer);
  for (const auto& ring : rings) sum += ring.memory_bytes();
  return sum;
}
History::NodeRings::NodeRings() {
  for (std::size_t i = 0; i < kNodeMetrics; ++i) rings[i] = HistoryRing(node_metrics()[i].fold);
  values.fill(kNoValue);
}

History::History(std::size_t memory_cap) : memory_cap_(memory_cap) {}

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
  const auto set = [this](NodeMetric m, double v) { node_.values[static_cast<std::size_t>(m)] = v; };
  const auto count = [&](NodeMetric m, std::uint64_t total) {
    set(m, rate(node_.rings[static_cast<std::size_t>(m)], total, 0, 0, elapsed));
  };
  set(NodeMetric::mesh_size, s.mesh_size.value_or(kNoValue));
  set(NodeMetric::tree_depth, s.tree_depth);
  set(NodeMetric::peer_count, s.peer_count);
  set(NodeMetric::loss_rate, s.loss_rate);
  set(NodeMetric::active_sessions, s.active_sessions);
  count(NodeMetric::parent_switches, s.parent_switches);
  count(NodeMetric::bytes_in, s.bytes_in);
  count(NodeMetric::bytes_out, s.bytes_out);
  count(NodeMetric::packets_in, s.packets_in);
  count(NodeMetric::packets_out, s.packets_out);
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
    if (p->last_contact != now && last_slot_ &&
        p->last_contact < origin_ + std::chrono::seconds(*last_slot_)) {
      for (auto& ring : p->rings) ring.forget_total();
      p->coarse = false;
    }
    p->active = true;
    p->last_contact = now;
    const auto set = [p](PeerMetric m, double v) { p->values[static_cast<std::size_t>(m)] = v; };
    const auto count = [&](PeerMetric m, std::uint64_t total) {
      set(m, rate(p->rings[static_cast<std::size_t>(m)], total, kNoValue, kNoValue, elapsed));
    };
    set(PeerMetric::srtt_ms, s.srtt_ms.value_or(kNoValue));
    set(PeerMetric::loss_rate, s.loss_rate.value_or(kNoValue));
    count(PeerMetric::bytes_in, s.bytes_in);
    count(PeerMetric::bytes_out, s.bytes_out);
    count(PeerMetric::packets_in, s.packets_in);
    count(PeerMetric::packets_out, s.packets_out);
    count(PeerMetric::ecn_ce, s.ecn_ce);
  }
}

History::Peer* History::admit(const NodeAddr& peer, Instant now) {
  if (const auto it = peers_.find(peer); it != peers_.end()) return &it->second;
  // As many peers as fit by minutes alone, so that keep_within_cap never has to drop a connected one.
  const auto node = kNodeMetrics * (kSecondsKept + kMinutesKept) * sizeof(float);
  const auto room = memory_cap_ > node ? (memory_cap_ - node) / (kCoarsePeer + sizeof(Peer)) : 0;
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
  Peer& p = peers_[peer];
  p.first_seen = p.last_contact = now;
  return &p;
}

void History::fill(std::uint64_t slot) {
  const auto from = last_slot_ ? *last_slot_ + 1 : slot;
  if (slot - from >= kMaxSpread) {
    fill_gap(from, slot);
  } else {
    for (auto s = from; s < slot; ++s) {
      push_slot(false);
      if (s % 60 == 59) finish_minute(1);
    }
  }
  push_slot(true);
  if (slot % 60 == 59) finish_minute(1);
}

void History::fill_gap(std::uint64_t from, std::uint64_t to) {
  const auto n = to - from;
  for (auto& ring : node_.rings) ring.push_gap(n);
  for (auto& [addr, p] : peers_)
    for (auto& ring : p.rings) ring.push_gap(n, !p.coarse);
  if (const auto minutes = to / 60 - from / 60; minutes > 0) finish_minute(minutes);
}

// Seconds that no tick saw get the counters' mean rate and no gauges.
void History::push_slot(bool is_now) {
  for (std::size_t i = 0; i < kNodeMetrics; ++i)
    node_.rings[i].push(is_now || node_metrics()[i].counter ? node_.values[i] : kNoValue);
  for (auto& [addr, p] : peers_)
    for (std::size_t i = 0; i < kPeerMetrics; ++i)
      p.rings[i].push(is_now || peer_metrics()[i].counter ? p.values[i] : kNoValue, !p.coarse);
}

// `minutes` of them are over: the open one, and behind it such without any sample.
void History::finish_minute(std::uint64_t minutes) {
  const auto finish = [minutes](HistoryRing& ring) {
    ring.finish_minute();
    ring.push_minute_gap(minutes - 1);
  };
  for (auto& ring : node_.rings) finish(ring);
  for (auto& [addr, p] : peers_)
    for (auto& ring : p.rings) finish(ring);
}

void History::forget_absent(Instant now) {
  std::erase_if(peers_,
                [now](const auto& entry) { return now - entry.second.last_contact >= kPeerRetention; });
}

std::vector<std::map<NodeAddr, History::Peer>::iterator> History::by_age(bool active) {
  std::vector<std::map<NodeAddr, Peer>::iterator> out;
  for (auto it = peers_.begin(); it != peers_.end(); ++it)
    if (it->second.active == active) out.push_back(it);
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) {
    return std::pair(a->second.last_contact, a->second.first_seen) <
           std::pair(b->second.last_contact, b->second.first_seen);
  });
  return out;
}

void History::keep_within_cap() {
  auto used = memory_bytes();
  if (used <= memory_cap_) return;
  const auto coarsen = [&](bool active) {
    for (const auto it : by_age(active)) {
      if (used <= memory_cap_) return;
      if (it->second.coarse) continue;
      used -= it->second.memory_bytes();
      it->second.coarse = true;
      for (auto& ring : it->second.rings) ring.drop_seconds();
      used += it->second.memory_bytes();
    }
  };
  coarsen(false);
  for (const auto it : by_age(false)) {
    if (used <= memory_cap_) return;
    used -= it->second.memory_bytes();
    peers_.erase(it);
  }
  coarsen(true);
}

std::size_t History::memory_bytes() const {
  std::size_t sum = 0;
  for (const auto& ring : node_.rings) sum += ring.memory_bytes();
  for (const auto& [addr, p] : peers_) sum += p.memory_bytes();
  return sum;
}

Series History::query(NodeMetric m, std::chrono::seconds window, Granularity g) const {
  const auto i = static_cast<std::size_t>(m);
  return series_of(node_metrics()[i], node_.rings[i], window, g);
}

std::optional<Series> History::query(const NodeAddr& peer, PeerMetric m, std::chrono::seconds window,
                                     Granularity g) const {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(m);
  return series_of(peer_metrics()[i], it->second.rings[i], window, g);
}

std::vector<double> History::recent(NodeMetric m, std::size_t n) const {
  const auto ticks = last_slot_ ? static_cast<std::size_t>(*last_slot_) + 1 : 0;
  return node_.rings[static_cast<std::size_t>(m)].seconds().newest(std::min(n, ticks));
}

std::vector<TrackedPeer> History::peers() const {
  std::vector<TrackedPeer> out;
  out.reserve(peers_.size());
  for (const auto& [addr, p] : peers_) out.push_back({addr, p.active, p.first_seen, p.last_contact});
  return out;
}

}  // namespace weft
