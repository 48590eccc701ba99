#include "names/identity_cache.h"

#include "crypto/identity.h"

namespace weft::names {

const IdentityCache::Entry& IdentityCache::put(const PublicKey& key, Instant now) {
  const NodeAddr addr = crypto::node_addr_of(key);
  const MeshAddr mesh = mesh_addr_of(addr);
  entries_.put(mesh, Entry{key, addr, now});
  return *entries_.get(mesh);
}

const IdentityCache::Entry* IdentityCache::find(const NodeAddr& addr) {
  const Entry* e = entries_.get(mesh_addr_of(addr));
  return e != nullptr && e->addr == addr ? e : nullptr;
}

const IdentityCache::Entry* IdentityCache::peek(const NodeAddr& addr) const {
  const Entry* e = entries_.peek(mesh_addr_of(addr));
  return e != nullptr && e->addr == addr ? e : nullptr;
}

void IdentityCache::touch(const NodeAddr& addr, Instant now) {
  Entry* e = entries_.get(mesh_addr_of(addr));
  if (e != nullptr && e->addr == addr && e->last_seen < now) e->last_seen = now;
}

}  // namespace weft::names
