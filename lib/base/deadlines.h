/// When is which key due next: at most one instant per key.
///
/// Cost    O(log n) set and clear, O(1) next.
/// Order   equal instants come out in the order of their keys, so that runs repeat.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/time.h"

namespace weft {

template <class K>
class Deadlines {
 public:
  void set(const K& key, Instant at) {
    clear(key);
    at_.emplace(key, at);
    order_.emplace(at, key);
  }
  /// Sets unless an earlier instant is already there.
  void set_earlier(const K& key, Instant at) {
    const auto it = at_.find(key);
    if (it == at_.end() || at < it->second) set(key, at);
  }
  void clear(const K& key) {
    const auto it = at_.find(key);
    if (it == at_.end()) return;
    order_.erase({it->second, key});
    at_.erase(it);
  }
  std::optional<Instant> next() const {
    if (order_.empty()) return std::nullopt;
    return order_.begin()->first;
  }
  std::optional<Instant> at(const K& key) const {
    const auto it = at_.find(key);
    if (it == at_.end()) return std::nullopt;
    return it->second;
  }
  /// Takes one key that is due at `now`, if any.
  std::optional<K> pop_due(Instant now) {
    if (order_.empty() || order_.begin()->first > now) return std::nullopt;
    K key = order_.begin()->second;
    at_.erase(key);
    order_.erase(order_.begin());
    return key;
  }
  std::size_t size() const { return at_.size(); }

 private:
  std::map<K, Instant> at_;
  std::set<std::pair<Instant, K>> order_;
};

/// Of two deadlines, each of which may be none.
inline std::optional<Instant> earlier(std::optional<Instant> a, std::optional<Instant> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace weft
