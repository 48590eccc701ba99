/// Whole meshes of Tree rooms alone: whatever the order, loss and costs, one root and no loop.
#include <gtest/gtest.h>

#include <queue>
#include <set>

#include "base/rng.h"
#include "tree/tree.h"

namespace weft {
namespace {

constexpr std::size_t kNodes = 50;

class Mesh {
 public:
  Mesh(std::uint64_t seed, unsigned loss_percent, bool costs) : rng_(seed), loss_(loss_percent) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      NodeAddr a;
      rng_.fill(a.bytes);
      trees_.emplace(a, Tree(a, now()));
      order_.push_back(a);
    }
    for (std::size_t i = 1; i < kNodes; ++i) link(i, rng_.below(i), costs);
    for (std::size_t i = 0; i < kNodes; ++i) link(rng_.below(kNodes), rng_.below(kNodes), costs);
  }

  void run(Duration d) {
    const Instant end = now_ + d;
    for (;;) {
      flush();
      Instant next = queue_.empty() ? kNever : queue_.top().at;
      for (const auto& [a, t] : trees_)
        if (const auto at = t.deadline()) next = std::min(next, *at);
      if (next > end) break;
      now_ = next;
      while (!queue_.empty() && queue_.top().at <= now_) {
        const auto m = queue_.top();
        queue_.pop();
        deliver(m);
      }
      for (auto& [a, t] : trees_) t.on_deadline(costs_[a], now());
    }
    now_ = end;
  }

  void kill(const NodeAddr& dead) {
    trees_.erase(dead);
    for (const auto& other : links_[dead]) {
      links_[other].erase(dead);
      costs_[other].erase(dead);
      if (const auto it = trees_.find(other); it != trees_.end())
        it->second.remove_peer(dead, costs_[other], now());
    }
    links_.erase(dead);
  }
  void set_loss(unsigned percent) { loss_ = percent; }

  void expect_one_tree() const {
    for (const auto& component : components()) {
      const auto root = *component.begin();
      for (const auto& a : component) {
        const auto& t = trees_.at(a);
        EXPECT_EQ(t.root(), root);
        const std::set<NodeAddr> distinct(t.path().begin(), t.path().end());
        EXPECT_EQ(distinct.size(), t.path().size());
        if (t.state().is_root()) continue;
        Path expected{a};
        const auto& above = trees_.at(t.state().parent()).path();
        expected.insert(expected.end(), above.begin(), above.end());
        EXPECT_EQ(t.path(), expected);
        EXPECT_TRUE(trees_.at(t.state().parent()).is_child(a));
      }
    }
  }
  void expect_one_root() const {
    for (const auto& [a, t] : trees_) EXPECT_EQ(t.root(), smallest());
  }
  NodeAddr smallest() const { return trees_.begin()->first; }
  std::size_t sent() const { return sent_; }

 private:
  struct Message {
    Instant at;
    std::uint64_t number;
    NodeAddr from;
    NodeAddr to;
    Buffer bytes;
    bool operator<(const Message& o) const { return std::tie(at, number) > std::tie(o.at, o.number); }
  };

  Now now() const { return {now_, 1'700'000'000'000 + to_ms(now_ - Instant{})}; }

  void link(std::size_t i, std::size_t j, bool costs) {
    if (i == j || !links_[order_[i]].insert(order_[j]).second) return;
    links_[order_[j]].insert(order_[i]);
    if (costs) {
      const auto cost = 1.0 + static_cast<double>(rng_.below(400)) / 100;
      costs_[order_[i]][order_[j]] = costs_[order_[j]][order_[i]] = cost;
    }
    trees_.at(order_[i]).add_peer(order_[j], now_);
    trees_.at(order_[j]).add_peer(order_[i], now_);
  }
  void flush() {
    for (auto& [a, t] : trees_) {
      for (const auto& to : t.take_due(now_)) {
        ++sent_;
        const auto* bytes = t.announce([](const auto&) { return crypto::Signature{}; });
        if (rng_.below(100) < loss_) continue;
        queue_.push({now_ + std::chrono::milliseconds(1 + rng_.below(900)), ++number_, a, to, *bytes});
      }
    }
  }
  void deliver(const Message& m) {
    const auto to = trees_.find(m.to);
    if (to == trees_.end() || !trees_.contains(m.from)) return;
    const auto r = to->second.on_announce(
        m.from, m.bytes, [](const auto&, const auto&) { return true; }, costs_[m.to], now());
    if (!r) {
      EXPECT_TRUE(r.error() == Drop::stale || r.error() == Drop::announce_rate) << name_of(r.error());
    }
    EXPECT_EQ(to->second.root(), *std::ranges::min_element(to->second.path()));
  }
  std::vector<std::set<NodeAddr>> components() const {
    std::vector<std::set<NodeAddr>> out;
    std::set<NodeAddr> seen;
    for (const auto& [start, tree] : trees_) {
      if (seen.contains(start)) continue;
      std::set<NodeAddr> component;
      std::vector<NodeAddr> todo{start};
      while (!todo.empty()) {
        const auto a = todo.back();
        todo.pop_back();
        if (!component.insert(a).second) continue;
        if (const auto it = links_.find(a); it != links_.end())
          todo.insert(todo.end(), it->second.begin(), it->second.end());
      }
      seen.insert(component.begin(), component.end());
      out.push_back(component);
    }
    return out;
  }

  SeededRng rng_;
  unsigned loss_;
  Instant now_{};
  std::map<NodeAddr, Tree> trees_;
  std::vector<NodeAddr> order_;
  std::map<NodeAddr, std::set<NodeAddr>> links_;
  std::map<NodeAddr, LinkCosts> costs_;
  std::priority_queue<Message> queue_;
  std::uint64_t number_ = 0;
  std::size_t sent_ = 0;
};

class Converges : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Converges, ToOneRootWhateverTheOrder) {
  Mesh m(GetParam(), 0, false);
  m.run(30s);
  m.expect_one_root();
  m.run(140s);  // two periodic looks, the last at 120 s
  m.expect_one_tree();
  const auto sent = m.sent();
  m.run(60s);
  EXPECT_LE(m.sent() - sent, 2 * 2 * kNodes * 2) << "gossip does not come to rest";
}

TEST_P(Converges, WithMeasuredLinksAndLoss) {
  Mesh m(GetParam() + 1000, 20, true);
  m.run(600s);
  m.set_loss(0);
  m.run(240s);
  m.expect_one_tree();
}

TEST_P(Converges, AgainAfterItsRootDied) {
  Mesh m(GetParam() + 2000, 0, GetParam() % 2 == 0);
  m.run(50s);
  for (int i = 0; i < 3; ++i) {
    m.kill(m.smallest());
    m.run(120s);
    m.expect_one_tree();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Converges, ::testing::Range<std::uint64_t>(1, 8));

}  // namespace
}  // namespace weft
