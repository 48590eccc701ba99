#include "route/coord_cache.h"

#include <algorithm>
#include <vector>

namespace weft {
namespace {

/// Room for 16 addresses an entry: deeper trees make fewer entries, never more memory.
constexpr std::size_t kAddressesPerEntry = 16;
constexpr std::size_t kLeastAddresses = 4096;

std::optional<std::uint16_t> actionable(std::optional<std::uint16_t> mtu) {
  return mtu && *mtu >= wire::kMtuFloor ? mtu : std::nullopt;
}

}  // namespace

Result<void, Drop> CoordCache::insert(const NodeAddr& node, Path path, CoordSource source, Instant now,
                                      std::optional<std::uint16_t> path_mtu) {
  if (path.empty() || path.front() != node) return bad(Drop::warm_mismatch);
  if (path.size() > wire::kMaxCoords) return bad(Drop::path_too_long);
  CoordEntry fresh;
  fresh.path_mtu = actionable(path_mtu);
  if (source == CoordSource::proven) fresh.proven = now;
  if (const auto* old = entries_.peek(node)) {
    if (source == CoordSource::hearsay) {
      const bool agrees = old->path == path;
      const bool protects = old->proven && now - *old->proven < limits_.proof_protects;
      if (protects && !agrees) return bad(Drop::hearsay_refused);
      if (agrees) fresh.proven = old->proven;
    }
    if (!fresh.path_mtu) fresh.path_mtu = old->path_mtu;
    addresses_ -= old->path.size();
  }
  addresses_ += path.size();
  fresh.path = std::move(path);
  fresh.inserted = fresh.last_used = now;
  fresh.expires = now + limits_.ttl;
  // Use and expiry are renewed together, so whoever was used longest ago is also who expires first.
  if (const auto out = entries_.put(node, std::move(fresh))) addresses_ -= out->second.path.size();
  trim();
  return {};
}

void CoordCache::trim() {
  const auto most = std::max(limits_.max_entries * kAddressesPerEntry, kLeastAddresses);
  while (addresses_ > most) erase(NodeAddr(std::prev(entries_.end())->first));
}

const Path* CoordCache::routing_lookup(const NodeAddr& node, Instant now) {
  auto* entry = entries_.get(node);
  if (entry == nullptr) return nullptr;
  if (now > entry->expires) {
    erase(node);
    return nullptr;
  }
  entry->last_used = now;
  entry->expires = now + limits_.ttl;
  return &entry->path;
}

const CoordEntry* CoordCache::peek(const NodeAddr& node, Instant now) const {
  const auto* entry = entries_.peek(node);
  return entry == nullptr || now > entry->expires ? nullptr : entry;
}

void CoordCache::set_path_mtu(const NodeAddr& node, std::optional<std::uint16_t> path_mtu) {
  if (auto* entry = entries_.peek(node)) entry->path_mtu = actionable(path_mtu);
}

bool CoordCache::erase(const NodeAddr& node) {
  const auto* entry = entries_.peek(node);
  if (entry == nullptr) return false;
  addresses_ -= entry->path.size();
  return entries_.erase(node);
}

template <class Pred>
std::size_t CoordCache::drop_if(Pred pred) {
  std::vector<NodeAddr> gone;
  for (const auto& [node, entry] : entries_)
    if (pred(entry)) gone.push_back(node);
  for (const auto& node : gone) erase(node);
  return gone.size();
}

std::size_t CoordCache::drop_through(const NodeAddr& node) {
  return drop_if([&](const CoordEntry& e) { return std::ranges::find(e.path, node) != e.path.end(); });
}

std::size_t CoordCache::drop_foreign_roots(const NodeAddr& root) {
  return drop_if([&](const CoordEntry& e) { return e.path.back() != root; });
}

std::size_t CoordCache::drop_expired(Instant now) {
  return drop_if([&](const CoordEntry& e) { return now > e.expires; });
}

}  // namespace weft
