#include "lookup/transit.h"

namespace weft {

void LookupTransit::sweep(Instant now) {
  while (!order_.empty() && now - order_.front().first > limits_.expiry) {
    const auto it = table_.find(order_.front().second);
    const auto share = per_peer_.find(it->second.from);
    if (--share->second == 0) per_peer_.erase(share);
    table_.erase(it);
    order_.pop_front();
  }
}

Result<void, Drop> LookupTransit::record(std::uint64_t id, const NodeAddr& from, const NodeAddr& target,
                                         Instant now) {
  sweep(now);
  if (table_.contains(id)) return bad(Drop::duplicate_request);
  if (table_.size() >= limits_.max) return bad(Drop::request_table_full);
  const auto share = per_peer_.find(from);
  if (share != per_peer_.end() && share->second >= limits_.max_per_peer) return bad(Drop::request_table_full);
  table_.emplace(id, Entry{from, target, false});
  order_.emplace_back(now, id);
  ++per_peer_[from];
  return {};
}

bool LookupTransit::may_forward(const LookupQuestion& question, Instant now) {
  const auto* last = forwards_.peek(question);
  if (last != nullptr && now - *last < limits_.forward_interval) return false;
  forwards_.put(question, now);
  return true;
}

Result<NodeAddr, Drop> LookupTransit::take_back(std::uint64_t id, const NodeAddr& target) {
  const auto it = table_.find(id);
  if (it == table_.end()) return bad(Drop::unknown_request);
  if (it->second.target != target) return bad(Drop::target_mismatch);
  if (it->second.answered) return bad(Drop::response_repeated);
  it->second.answered = true;
  return it->second.from;
}

}  // namespace weft
