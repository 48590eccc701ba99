/// Who is behind a mesh address. Filled by name queries, handshakes and lookups; the way from a packet's
/// destination to a key to shake hands with.
///
/// Key     the 15 bytes that a mesh address and its NodeAddr share.
/// Bound   `capacity` entries, the least recently used leaves first.
/// Thread  one owner.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/lru.h"
#include "base/time.h"

namespace weft::names {

class IdentityCache {
 public:
  struct Entry {
    PublicKey key;
    NodeAddr addr;
    Instant last_seen;
  };
  explicit IdentityCache(std::size_t capacity = 10000) : entries_(capacity > 0 ? capacity : 1) {}

  /// Inserts or refreshes. Works out the NodeAddr (one SHA-256).
  const Entry& put(const PublicKey& key, Instant now);
  /// Counts as use. Valid until the next put or erase.
  const Entry* find(const MeshAddr& addr) { return entries_.get(addr); }
  const Entry* find(const NodeAddr& addr);
  /// Does not count as use.
  const Entry* peek(const NodeAddr& addr) const;
  /// The node was heard of; unknown addresses are ignored.
  void touch(const NodeAddr& addr, Instant now);
  bool erase(const NodeAddr& addr) { return entries_.erase(mesh_addr_of(addr)); }

  std::size_t size() const { return entries_.size(); }
  std::size_t capacity() const { return entries_.capacity(); }
  /// Pairs of mesh address and Entry, most recently used first.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  Lru<MeshAddr, Entry> entries_;
};

}  // namespace weft::names
