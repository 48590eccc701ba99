// A mesh comes together, whatever its shape, and twice in the same way.
#include "sim/report.h"
#include "sim/sim_test.h"

namespace weft::sim {
namespace {

TEST(Converge, TwoNodesLinkAndTalkWithinASecond) {
  World w(line(2), world());
  w.start();
  expect_converges(w, 1s);
  expect_reach(w, w.all_pairs(), 1s);
  expect_well(w);
}

TEST(Converge, AChainOfThreeCarriesItsFirstPacketWithinThreeSeconds) {
  World w(line(3), world());
  w.start();
  w.run_for(10ms);
  expect_reach(w, {{0, 2}, {2, 0}}, 3s);
  EXPECT_GT(w[1].forwarded(), 0u);
  expect_well(w);
}

// The keys are the reference's own, so the tree must be the one that its documentation draws.
TEST(Converge, TheFiveNodeMeshBuildsTheKnownTreeAndReachesEveryPair) {
  for (const std::uint32_t shards : {1u, 2u}) {
    auto p = world();
    p.node.shards = shards;
    p.node.missteer = shards > 1 ? 0.2 : 0;
    p.secrets = {"0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
                 "b102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fb0",
                 "c102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fc0",
                 "d102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fd0",
                 "e102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fe0"};
    World w(five_nodes(), p);
    w.start();
    expect_converges(w, 5s);
    expect_reach(w, w.all_pairs(), 5s);
    const auto parent = [&](NodeId i) { return w[i].node().tree().state().parent(); };
    EXPECT_EQ(parent(0), w[0].addr());
    EXPECT_EQ(parent(1), w[2].addr());
    EXPECT_TRUE(parent(2) == w[3].addr() || parent(2) == w[4].addr());
    EXPECT_EQ(parent(3), w[0].addr());
    EXPECT_EQ(parent(4), w[0].addr());
    expect_well(w);
  }
}

TEST(Converge, EveryShape) {
  SeededRng rng(5);
  const Topology shapes[] = {line(8), ring(9), star(12), tree(13), grid(4, 3), random_degree(14, 3, rng)};
  std::uint64_t seed = 10;
  for (auto shape : shapes) {
    draw_dialers(shape, rng);
    auto p = world(++seed);
    p.stagger = 300ms;
    World w(shape, p);
    w.start();
    expect_converges(w, 10s);
    expect_reach(w, w.some_pairs(40), 15s);
    expect_well(w);
  }
}

TEST(Converge, AHundredNodesTwiceTheSame) {
  RunOptions o{.nodes = 100, .lasts = 25s, .pairs = 60, .seed = 7};
  const auto a = run(o);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->complaint, "");
  ASSERT_TRUE(a->one_root);
  EXPECT_LT(*a->one_root, 8s);
  EXPECT_LT(a->stretch_mean, 1.5);
  const auto b = run(o);
  ASSERT_TRUE(b);
  EXPECT_EQ(a->trace, b->trace);
  o.seed = 8;
  o.lasts = 2s;
  const auto c = run(o);
  ASSERT_TRUE(c);
  EXPECT_NE(a->trace, c->trace);
}

}  // namespace
}  // namespace weft::sim
