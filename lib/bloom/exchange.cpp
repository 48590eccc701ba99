#include "bloom/exchange.h"

#include <algorithm>
#include <cmath>

#include "wire/filter_announce.h"

namespace weft {
namespace {

constexpr Duration kWaitStep = 50ms;

}  // namespace

BloomExchange::BloomExchange(const NodeAddr& own, Now now, const BloomLimits& limits)
    : own_(own),
      limits_(limits),
      sequence_(static_cast<std::uint64_t>(std::max<std::int64_t>(now.unix_ms, 0))) {
  base_.insert(FilterKey::of(own_));
}

void BloomExchange::add_peer(const NodeAddr& peer, Instant now) {
  remove_peer(peer, now);
  mark(peer, peers_[peer], now);
}

void BloomExchange::remove_peer(const NodeAddr& peer, Instant now) {
  if (peers_.erase(peer) == 0) return;
  due_.clear(peer);
  rebuild();
  mark_all(now);
}

void BloomExchange::peer_restarted(const NodeAddr& peer, Instant now) {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return;
  if (it->second.in) it->second.in->sequence = 0;
  it->second.sent.reset();
  it->second.last_sent.reset();
  mark(peer, it->second, now);
}

void BloomExchange::set_tree_peers(const Predicate& is_tree_peer, Instant now) {
  bool changed = false;
  for (auto& [addr, peer] : peers_) {
    const bool tree = is_tree_peer(addr);
    changed = changed || tree != peer.tree;
    peer.tree = tree;
  }
  if (!changed) return;
  rebuild();
  mark_changed(now);
}

void BloomExchange::mark_all(Instant now) {
  for (auto& [addr, peer] : peers_) mark(addr, peer, now);
}

void BloomExchange::mark_changed(Instant now) {
  for (auto& [addr, peer] : peers_)
    if (!peer.marked && (!peer.sent || outgoing(peer) != *peer.sent)) mark(addr, peer, now);
}

void BloomExchange::set_dependants(const std::vector<NodeAddr>& nodes, Instant now) {
  base_ = Filter{};
  base_.insert(FilterKey::of(own_));
  for (const auto& n : nodes) base_.insert(FilterKey::of(n));
  mark_changed(now);
}

void BloomExchange::mark(const NodeAddr& addr, Peer& peer, Instant now) {
  peer.marked = true;
  const Instant at = peer.last_sent ? std::max(now, *peer.last_sent + limits_.debounce) : now;
  if (at > now) ++counters_.debounce_suppressed;
  due_.set(addr, at);
}

void BloomExchange::rebuild() {
  inbound_ = OrExceptOne{};
  for (const auto& [addr, peer] : peers_)
    if (peer.tree && peer.in) inbound_.add(peer.in->filter);
}

Filter BloomExchange::outgoing(const Peer& peer) const {
  Filter out = peer.tree && peer.in ? inbound_.without(peer.in->filter) : inbound_.all();
  out |= base_;
  return out;
}

Filter BloomExchange::outgoing(const NodeAddr& peer) const {
  const auto it = peers_.find(peer);
  return outgoing(it == peers_.end() ? Peer{} : it->second);
}

Result<void, Drop> BloomExchange::on_filter(const NodeAddr& from, Bytes message, Instant now) {
  ++counters_.received;
  const auto m = wire::decode_filter_announce(message);
  if (!m) {
    const bool other_size = m.error() == Drop::bad_filter_size;
    const bool other_count = m.error() == Drop::bad_hash_count;
    ++(other_size ? counters_.non_v1 : other_count ? counters_.invalid : counters_.decode_error);
    return bad(m.error());
  }
  const auto it = peers_.find(from);
  if (it == peers_.end()) {
    ++counters_.unknown_peer;
    return bad(Drop::unknown_peer);
  }
  auto& peer = it->second;
  if (m->sequence <= (peer.in ? peer.in->sequence : 0)) {
    ++counters_.stale;
    return bad(Drop::stale);
  }
  const auto filter = Filter::from(m->bits);
  if (filter.fpr() > limits_.max_inbound_fpr) {
    ++counters_.fill_exceeded;
    return bad(Drop::filter_too_full);
  }
  ++counters_.accepted;
  const bool same = peer.in && peer.in->filter == filter;
  peer.in = Inbound{filter, m->sequence, now};
  if (same || !peer.tree) return {};
  rebuild();
  mark_changed(now);
  return {};
}

std::vector<BloomExchange::Send> BloomExchange::take_due(Instant now, const Predicate& must_wait) {
  std::vector<Send> out;
  while (const auto addr = due_.pop_due(now)) {
    auto& peer = peers_.at(*addr);
    if (must_wait(*addr)) {
      peer.marked = true;
      due_.set(*addr, now + kWaitStep);
      continue;
    }
    const auto filter = outgoing(peer);
    overfull_ = filter.fpr() > limits_.max_inbound_fpr;
    const auto bits = filter.bytes();
    Send send{*addr, {}};
    wire::encode_filter_announce(send.message, {++sequence_, bits});
    out.push_back(std::move(send));
    if (!peer.sent || filter != *peer.sent) peer.early = 0;
    peer.sent = filter;
    peer.last_sent = now;
    peer.marked = false;
    if (limits_.repeat <= Duration{}) continue;
    const bool soon = peer.early < limits_.early_repeats.size();
    due_.set(*addr, now + (soon ? limits_.early_repeats[peer.early++] : limits_.repeat));
  }
  counters_.sent += out.size();
  return out;
}

void BloomExchange::on_send_failed(const NodeAddr& peer, Instant now) {
  ++counters_.send_failed;
  if (const auto it = peers_.find(peer); it != peers_.end()) mark(peer, it->second, now);
}

const BloomExchange::Inbound* BloomExchange::inbound(const NodeAddr& peer) const {
  const auto it = peers_.find(peer);
  return it == peers_.end() || !it->second.in ? nullptr : &*it->second.in;
}

bool BloomExchange::any_reaches(const FilterKey& key) const {
  return std::ranges::any_of(peers_,
                             [&](const auto& p) { return p.second.in && p.second.in->filter.holds(key); });
}

std::optional<std::uint64_t> BloomExchange::mesh_size() const {
  Filter all;
  bool heard = false;
  for (const auto& [addr, peer] : peers_) {
    if (!peer.in) continue;
    all |= peer.in->filter;
    heard = true;
  }
  if (!heard) return std::nullopt;
  all.insert(FilterKey::of(own_));
  const auto n = all.estimate(limits_.max_inbound_fpr);
  if (!n) return std::nullopt;
  return static_cast<std::uint64_t>(std::floor(*n + 0.5));
}

}  // namespace weft
