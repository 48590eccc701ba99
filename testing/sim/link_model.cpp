#include "sim/link_model.h"

#include <algorithm>
#include <utility>

namespace weft::sim {
namespace {

constexpr std::size_t kIpUdpHeaders = 28;

}  // namespace

bool LinkModel::chance(double p) {
  if (p <= 0) return false;
  return static_cast<double>(rng_.u64() >> 11) * 0x1.0p-53 < p;
}

std::vector<Instant> LinkModel::pass(Instant now, std::size_t size) {
  ++counts_.sent;
  counts_.bytes += size;
  if (!params.up || chance(params.loss)) return ++counts_.lost, std::vector<Instant>{};
  if (size > params.mtu) return ++counts_.too_big, std::vector<Instant>{};
  Instant leaves = now;
  if (params.bits_per_second > 0) {
    const auto ns_per_byte = 8e9 / static_cast<double>(params.bits_per_second);
    const auto waiting = free_at_ > now ? free_at_ - now : Duration{};
    if (static_cast<double>(waiting.count()) / ns_per_byte > static_cast<double>(params.queue_bytes))
      return ++counts_.queue_full, std::vector<Instant>{};
    const double bytes = static_cast<double>(size + kIpUdpHeaders);
    free_at_ = std::max(free_at_, now) + Duration{static_cast<Duration::rep>(bytes * ns_per_byte)};
    leaves = free_at_;
  }
  Instant arrives = leaves + params.delay;
  if (params.jitter > Duration{}) arrives += Duration{rng_.between(0, params.jitter.count())};
  std::vector<Instant> out;
  if (chance(params.reorder)) {
    out.push_back(arrives + params.reorder_by);
  } else {
    last_ = std::max(last_, arrives);
    out.push_back(last_);
  }
  if (chance(params.duplicate)) {
    ++counts_.duplicated;
    out.push_back(out[0] + Duration{rng_.between(0, params.reorder_by.count())});
  }
  return out;
}

void Underlay::bind(const Endpoint& at, NodeId node, Receive receive) {
  bound_[at] = {node, std::move(receive)};
}

LinkModel& Underlay::link(NodeId a, NodeId b) {
  const std::pair key{a, b};
  if (const auto it = links_.find(key); it != links_.end()) return it->second;
  const std::uint64_t seed = detail::mix(seed_ ^ detail::mix((std::uint64_t{a} << 32) | b));
  return links_.emplace(key, LinkModel(defaults_, seed)).first->second;
}

void Underlay::set_both(NodeId a, NodeId b, const std::function<void(LinkParams&)>& change) {
  change(link(a, b).params);
  change(link(b, a).params);
}

void Underlay::set_defaults(const std::function<void(LinkParams&)>& change) {
  change(defaults_);
  for (auto& [key, link] : links_) change(link.params);
}

LinkCounts Underlay::totals() const {
  LinkCounts t;
  for (const auto& [key, link] : links_) {
    const LinkCounts& c = link.counts();
    t.sent += c.sent, t.bytes += c.bytes, t.lost += c.lost;
    t.queue_full += c.queue_full, t.too_big += c.too_big, t.duplicated += c.duplicated;
  }
  return t;
}

void Underlay::send(NodeId from_node, const Endpoint& from, const Endpoint& to,
                    std::span<const Bytes> datagrams, std::uint8_t kind) {
  const auto it = bound_.find(to);
  if (it == bound_.end()) {
    unroutable_ += datagrams.size();
    return;
  }
  LinkModel& model = link(from_node, it->second.node);
  std::vector<Buffer> together;  // what arrives at one moment
  Instant when{};
  const auto flush = [&] {
    if (!together.empty()) deliver_at(when, from, to, std::exchange(together, {}));
  };
  for (const Bytes d : datagrams) {
    if (filter_ && !filter_({from_node, it->second.node, from, to, kind, d})) continue;
    for (const Instant arrives : model.pass(net_.now(), d.size())) {
      if (arrives != when) flush();
      when = arrives;
      together.emplace_back(d.begin(), d.end());
    }
  }
  flush();
}

void Underlay::send_whole(NodeId from_node, const Endpoint& from, const Endpoint& to, Bytes datagram,
                          std::uint8_t kind) {
  const auto it = bound_.find(to);
  if (it != bound_.end() && datagram.size() > link(from_node, it->second.node).params.whole) return;
  send(from_node, from, to, std::span(&datagram, 1), kind);
}

void Underlay::inject(const Endpoint& from, const Endpoint& to, Bytes datagram, Duration delay) {
  deliver_at(net_.now() + delay, from, to, {Buffer(datagram.begin(), datagram.end())});
}

void Underlay::deliver_at(Instant when, const Endpoint& from, const Endpoint& to,
                          std::vector<Buffer>&& datagrams) {
  net_.at(when, [this, from, to, d = std::move(datagrams)]() mutable {
    const auto it = bound_.find(to);
    if (it == bound_.end()) {
      unroutable_ += d.size();
      return;
    }
    for (const Buffer& b : d) trace_.note(net_.now(), 1, it->second.node, b);
    const Receive receive = it->second.receive;  // it may unbind itself
    receive(from, std::move(d));
  });
}

}  // namespace weft::sim
