// What a packet's way costs to look up in a worker's own tables: the cached next hop.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "dataplane/tables.h"

namespace weft {
namespace {

constexpr std::size_t kLinks = 128;
constexpr std::size_t kDests = 4096;

struct World {
  Tables tables;
  std::vector<NodeAddr> dests{kDests};
  World() {
    SeededRng rng{7};
    for (std::uint64_t i = 0; i < kLinks; ++i) {
      SetLink l;
      l.send.link = LinkId{i + 1};
      tables.apply(Command{l});
    }
    for (NodeAddr& d : dests) {
      rng.fill(d.bytes);
      SetRoute r;
      r.dest = d;
      r.link = LinkId{rng.below(kLinks) + 1};
      tables.apply(Command{r});
    }
  }
};

/// A burst: each packet goes where the one before it went.
void cached_next_hop_same_destination(benchmark::State& state) {
  World w;
  for (auto _ : state) benchmark::DoNotOptimize(w.tables.route(w.dests[0]));
}
BENCHMARK(cached_next_hop_same_destination);

/// Transit at its worst: no two packets in a row have the same destination.
void cached_next_hop_any_of_4096(benchmark::State& state) {
  World w;
  std::size_t i = 0;
  for (auto _ : state) {
    RouteEntry* const r = w.tables.route(w.dests[i]);
    if (r == nullptr) return state.SkipWithError("no route");
    benchmark::DoNotOptimize(r->link);
    i = (i + 1231) % kDests;
  }
}
BENCHMARK(cached_next_hop_any_of_4096);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
