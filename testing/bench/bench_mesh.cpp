/// What one routing decision and one filter exchange cost at 128 peers, the default peer limit.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "bloom/exchange.h"
#include "route/coord_cache.h"
#include "route/next_hop.h"
#include "tree/choose.h"
#include "wire/filter_announce.h"

namespace weft {
namespace {

constexpr std::size_t kPeers = 128;

NodeAddr random_addr(Rng& rng) {
  NodeAddr a;
  rng.fill(a.bytes);
  return a;
}

/// A random tree of 4,000 nodes; we are its busiest-looking node, and 128 random others are our peers.
struct World {
  SeededRng rng{11};
  std::vector<Path> paths;
  std::vector<HopCandidate> peers;
  std::vector<Filter> filters{kPeers};
  World() {
    paths.push_back({NodeAddr{}});
    while (paths.size() < 4000) {
      Path p{random_addr(rng)};
      const auto& above = paths[rng.below(paths.size())];
      p.insert(p.end(), above.begin(), above.end());
      paths.push_back(std::move(p));
    }
    for (std::size_t i = 0; i < kPeers; ++i) {
      const auto& p = paths[rng.below(paths.size())];
      peers.push_back({p.front(), true, false, 1.0 + static_cast<double>(rng.below(100)) / 50, &p});
      for (int n = 0; n < 60; ++n) filters[i].insert(FilterKey::of(paths[rng.below(paths.size())].front()));
    }
  }
};

void next_hop(benchmark::State& state) {
  World w;
  const auto& own = w.paths[2000];
  std::size_t i = 0;
  for (auto _ : state) {
    const auto& dest = w.paths[i = (i + 97) % w.paths.size()];
    benchmark::DoNotOptimize(find_next_hop(own.front(), own, dest.front(), &dest, w.peers));
  }
}
BENCHMARK(next_hop);

void next_hop_with_filters_and_key(benchmark::State& state) {
  World w;
  const auto& own = w.paths[2000];
  std::size_t i = 0;
  for (auto _ : state) {
    const auto& dest = w.paths[i = (i + 97) % w.paths.size()];
    const auto key = FilterKey::of(dest.front());
    for (std::size_t p = 0; p < kPeers; ++p) w.peers[p].filter_hit = w.filters[p].holds(key);
    benchmark::DoNotOptimize(find_next_hop(own.front(), own, dest.front(), &dest, w.peers));
  }
}
BENCHMARK(next_hop_with_filters_and_key);

struct Exchange {
  World w;
  BloomExchange x{NodeAddr{{9}}, Now{}};
  std::vector<Buffer> messages{kPeers};
  std::uint64_t sequence = 0;
  Exchange() {
    for (const auto& p : w.peers) x.add_peer(p.addr, Instant{});
    x.set_tree_peers([](const NodeAddr&) { return true; }, Instant{});
    for (std::size_t i = 0; i < kPeers; ++i) hear(i);
    (void)x.take_due(Instant{} + 10s, [](const NodeAddr&) { return false; });
  }
  void hear(std::size_t i) {
    const auto bits = w.filters[i].bytes();
    messages[i].clear();
    wire::encode_filter_announce(messages[i], {++sequence, bits});
    (void)x.on_filter(w.peers[i].addr, messages[i], Instant{} + 10s);
  }
};

void bloom_outgoing_one(benchmark::State& state) {
  Exchange e;
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(e.x.outgoing(e.w.peers[i = (i + 1) % kPeers].addr));
}
BENCHMARK(bloom_outgoing_one);

void bloom_accept_changed_filter(benchmark::State& state) {
  Exchange e;
  for (auto _ : state) {
    const auto i = e.w.rng.below(kPeers);
    e.w.filters[i].insert(FilterKey::of(random_addr(e.w.rng)));
    if (e.w.filters[i].ones() > 4000) e.w.filters[i] = Filter{};
    e.hear(i);
    benchmark::DoNotOptimize(e.x.deadline());
  }
}
BENCHMARK(bloom_accept_changed_filter);

void bloom_send_all(benchmark::State& state) {
  Exchange e;
  Instant now = Instant{} + 20s;
  for (auto _ : state) {
    e.x.mark_all(now);
    benchmark::DoNotOptimize(e.x.take_due(now, [](const NodeAddr&) { return false; }));
    now += 1s;
  }
}
BENCHMARK(bloom_send_all)->Unit(benchmark::kMicrosecond);

void filter_key(benchmark::State& state) {
  SeededRng rng(5);
  auto a = random_addr(rng);
  for (auto _ : state) {
    benchmark::DoNotOptimize(FilterKey::of(a));
    ++a.bytes[3];
  }
}
BENCHMARK(filter_key);

void coord_cache_lookup(benchmark::State& state) {
  World w;
  CoordCache c;
  std::vector<NodeAddr> known;
  for (int i = 0; i < 50'000; ++i) {
    auto p = w.paths[w.rng.below(w.paths.size())];
    p[0] = random_addr(w.rng);
    known.push_back(p[0]);
    (void)c.insert(known.back(), p, CoordSource::hearsay, Instant{});
  }
  std::size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(c.routing_lookup(known[i = (i + 7919) % known.size()], Instant{} + 1s));
}
BENCHMARK(coord_cache_lookup);

void parent_choice(benchmark::State& state) {
  World w;
  TreeState s(NodeAddr{{0xff}}, Now{});
  for (const auto& p : w.peers) {
    wire::TreeAnnounce m;
    m.sequence = 1;
    m.parent = p.path->size() > 1 ? (*p.path)[1] : p.addr;
    for (const auto& a : *p.path) m.ancestry.push_back({a, 1, 0});
    s.store(p.addr, m);
  }
  for (auto _ : state) benchmark::DoNotOptimize(choose_parent(s, {}, 0.2));
}
BENCHMARK(parent_choice);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
