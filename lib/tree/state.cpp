#include "tree/state.h"

#include <algorithm>
#include <cassert>

namespace weft {

Result<void, Drop> check_ancestry(const wire::TreeAnnounce& announce, const NodeAddr& from) {
  const auto& path = announce.ancestry;
  if (announce.sender() != from) return bad(Drop::addr_mismatch);
  const bool claims_root = announce.parent == from;
  if (claims_root != (path.size() == 1)) return bad(Drop::bad_ancestry);
  if (!claims_root && path[1].addr != announce.parent) return bad(Drop::bad_ancestry);
  for (const auto& entry : path)
    if (entry.addr < announce.root()) return bad(Drop::bad_ancestry);
  return {};
}

TreeState::TreeState(const NodeAddr& own, Now now)
    : own_(own),
      parent_(own),
      sequence_(static_cast<std::uint64_t>(std::max<std::int64_t>(now.unix_ms, 1))),
      timestamp_(now.unix_secs()),
      ancestry_{{own, sequence_, timestamp_}},
      path_{own} {}

const TreeClaim* TreeState::claim(const NodeAddr& peer) const {
  const auto it = claims_.find(peer);
  return it == claims_.end() ? nullptr : &it->second;
}

std::optional<NodeAddr> TreeState::smallest_root() const {
  std::optional<NodeAddr> least;
  for (const auto& [peer, claim] : claims_)
    if (!least || claim.root() < *least) least = claim.root();
  return least;
}

bool TreeState::is_fresh(const NodeAddr& peer, std::uint64_t sequence) const {
  const auto* old = claim(peer);
  return old == nullptr || old->any_sequence || sequence > old->sequence;
}

void TreeState::store(const NodeAddr& peer, const wire::TreeAnnounce& announce) {
  TreeClaim& c = claims_[peer];
  c = TreeClaim{announce.parent,   announce.sequence,    announce.timestamp, false,
                announce.ancestry, announce.path(),      c.clock_lead_secs,  c.heard + 1};
}

void TreeState::compare_clocks(const NodeAddr& peer, std::uint64_t unix_secs) {
  // Anybody's number: taken within a range where the difference cannot overflow.
  constexpr std::uint64_t kSane = std::uint64_t{1} << 40U;
  TreeClaim& c = claims_[peer];
  const auto said = static_cast<std::int64_t>(std::min(c.timestamp, kSane));
  c.clock_lead_secs = std::max(c.clock_lead_secs, said - static_cast<std::int64_t>(std::min(unix_secs, kSane)));
}

void TreeState::forget_sequence(const NodeAddr& peer) {
  if (const auto it = claims_.find(peer); it != claims_.end()) it->second.any_sequence = true;
}

bool TreeState::attach(const NodeAddr& parent, std::uint64_t unix_secs) {
  const auto* via = claim(parent);
  assert(via != nullptr && std::ranges::find(via->path, own_) == via->path.end());
  return declare(own_ < via->root() ? own_ : parent, unix_secs);
}

bool TreeState::become_root(std::uint64_t unix_secs) { return declare(own_, unix_secs); }

bool TreeState::declare(const NodeAddr& parent, std::uint64_t unix_secs) {
  parent_ = parent;
  ++sequence_;
  timestamp_ = unix_secs;
  ancestry_.assign(1, {own_, sequence_, timestamp_});
  if (parent != own_) {
    const auto& above = claim(parent)->ancestry;
    ancestry_.insert(ancestry_.end(), above.begin(), above.end());
  }
  Path path;
  path.reserve(ancestry_.size());
  for (const auto& entry : ancestry_) path.push_back(entry.addr);
  if (path == path_) return false;
  path_ = std::move(path);
  return true;
}

}  // namespace weft
