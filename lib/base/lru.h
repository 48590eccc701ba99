/// Bounded map that forgets what was used longest ago.
///
/// Cost    O(1) per operation; one node allocation per insert.
/// Thread  one owner.
#pragma once

#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace weft {

template <class K, class V>
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}

  /// The value, moved to the front; nullptr when absent. Valid until the next put or erase.
  V* get(const K& key) {
    const auto it = map_.find(key);
    if (it == map_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return &it->second->second;
  }
  /// The value without touching the order.
  const V* peek(const K& key) const {
    const auto it = map_.find(key);
    return it == map_.end() ? nullptr : &it->second->second;
  }
  V* peek(const K& key) {
    const auto it = map_.find(key);
    return it == map_.end() ? nullptr : &it->second->second;
  }
  /// Inserts or replaces; returns what was pushed out by the bound, if anything.
  std::optional<std::pair<K, V>> put(const K& key, V value) {
    if (auto* v = get(key)) {
      *v = std::move(value);
      return std::nullopt;
    }
    order_.emplace_front(key, std::move(value));
    map_[key] = order_.begin();
    if (map_.size() <= capacity_) return std::nullopt;
    auto out = std::move(order_.back());
    map_.erase(out.first);
    order_.pop_back();
    return out;
  }
  bool erase(const K& key) {
    const auto it = map_.find(key);
    if (it == map_.end()) return false;
    order_.erase(it->second);
    map_.erase(it);
    return true;
  }
  std::size_t size() const { return map_.size(); }
  std::size_t capacity() const { return capacity_; }
  /// Most recently used first.
  auto begin() const { return order_.begin(); }
  auto end() const { return order_.end(); }

 private:
  std::size_t capacity_;
  std::list<std::pair<K, V>> order_;
  std::unordered_map<K, typename std::list<std::pair<K, V>>::iterator> map_;
};

}  // namespace weft
