#include "session/pending.h"

namespace weft::session {

bool Pending::put(Instant now, const NodeAddr& dest, Buffer packet) {
  auto it = queues_.find(dest);
  if (it == queues_.end()) {
    if (queues_.size() >= dests_ || per_dest_ == 0) return false;
    it = queues_.try_emplace(dest).first;
  }
  auto& q = it->second;
  const bool room = q.size() < per_dest_;
  if (!room) {
    q.pop_front();
    --packets_;
  }
  q.push_back({now, std::move(packet)});
  ++packets_;
  due_.set(dest, q.front().since + kPendingAge);
  return room;
}

std::vector<Buffer> Pending::take(const NodeAddr& dest) {
  std::vector<Buffer> out;
  const auto it = queues_.find(dest);
  if (it == queues_.end()) return out;
  for (auto& w : it->second) out.push_back(std::move(w.packet));
  packets_ -= out.size();
  queues_.erase(it);
  due_.clear(dest);
  return out;
}

std::optional<std::pair<NodeAddr, std::vector<Buffer>>> Pending::take_expired(Instant now) {
  const auto dest = due_.pop_due(now);
  if (!dest) return std::nullopt;
  const auto it = queues_.find(*dest);
  auto& q = it->second;
  std::vector<Buffer> old;
  while (!q.empty() && q.front().since + kPendingAge <= now) {
    old.push_back(std::move(q.front().packet));
    q.pop_front();
  }
  packets_ -= old.size();
  if (q.empty()) queues_.erase(it);
  else due_.set(*dest, q.front().since + kPendingAge);
  return std::pair{*dest, std::move(old)};
}

}  // namespace weft::session
