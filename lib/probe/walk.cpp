#include "probe/walk.h"

#include <algorithm>

namespace weft::probe {

std::size_t shared_end(const Path& a, const Path& b) {
  std::size_t shared = 0;
  while (shared < a.size() && shared < b.size() && a[a.size() - 1 - shared] == b[b.size() - 1 - shared])
    ++shared;
  return shared;
}

Path tree_walk(const Path& a, const Path& b) {
  const std::size_t shared = shared_end(a, b);
  if (shared == 0) return {};
  Path out(a.begin(), a.end() - static_cast<std::ptrdiff_t>(shared) + 1);  // up to where the two meet
  for (std::size_t i = b.size() - shared; i-- > 0;) out.push_back(b[i]);
  return out;
}

Walk walk_of(const Report& r) {
  Walk w;
  if (const auto ttl = r.session.ttl; ttl && *ttl > 0 && *ttl <= wire::kInitialTtl)
    w.links_back = static_cast<unsigned>(wire::kInitialTtl - *ttl) + 1;
  const bool answered = r.session.established;
  if (r.next_hop && r.next_hop->peer == r.target) {
    w.steps = {{r.target, true}};
    w.complete = true;
    return w;
  }
  Path inferred;  // from the next hop, or from us
  if (r.coords) inferred = tree_walk(r.next_hop ? r.next_hop->path : r.own_path, r.coords->path);
  w.complete = !inferred.empty();
  if (r.next_hop) w.steps.push_back({r.next_hop->peer, true});
  for (std::size_t i = 1; i + 1 < inferred.size(); ++i) w.steps.push_back({inferred[i], false});
  if (r.next_hop || w.complete) w.steps.push_back({r.target, answered});
  return w;
}

}  // namespace weft::probe
