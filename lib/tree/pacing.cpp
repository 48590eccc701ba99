#include "tree/pacing.h"

#include <algorithm>

namespace weft {
namespace {

constexpr Duration kSlowest = 60s;
constexpr int kSlower = 4;

}  // namespace

void AnnouncePacing::add(const NodeAddr& peer, Instant now) {
  peers_[peer] = Peer{std::nullopt, std::nullopt, true};
  due_.set(peer, now);
}

void AnnouncePacing::remove(const NodeAddr& peer) {
  peers_.erase(peer);
  due_.clear(peer);
}

bool AnnouncePacing::request(const NodeAddr& peer, Instant now) {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return false;
  auto& p = it->second;
  const Instant at = p.last ? std::max(now, *p.last + min_) : now;
  p.requested = true;
  due_.set(peer, at);
  return at > now;
}

bool AnnouncePacing::pending(const NodeAddr& peer) const {
  const auto it = peers_.find(peer);
  return it != peers_.end() && it->second.requested;
}

std::vector<NodeAddr> AnnouncePacing::take(Instant now, std::uint64_t sequence) {
  std::vector<NodeAddr> out;
  while (const auto peer = due_.pop_due(now)) {
    auto& p = peers_.at(*peer);
    const bool is_news = p.last_sequence != sequence;
    const Duration pause = is_news ? repeat_ : std::min(kSlower * p.pause, std::max(kSlowest, repeat_));
    p = Peer{now, sequence, false, pause};
    if (repeat_ > Duration{}) due_.set(*peer, now + pause);
    out.push_back(*peer);
  }
  return out;
}

}  // namespace weft
