// The underlay fails in every way that it can, and nodes die.
#include "sim/churn.h"
#include "sim/sim_test.h"

namespace weft::sim {
namespace {

Topology small_mesh(std::uint64_t seed) {
  SeededRng rng(seed);
  Topology t = random_degree(12, 3, rng);
  draw_dialers(t, rng);
  return t;
}

TEST(Faults, AFifthOfAllDatagramsLost) {
  auto p = world(3);
  p.link.loss = 0.2;
  World w(small_mesh(3), p);
  w.start();
  expect_converges(w, 60s);
  expect_reach(w, w.some_pairs(30),
               4min);  // a look-up over five such hops and back arrives once in ten times
  expect_well(w);
}

TEST(Faults, ReorderedAndRepeatedDatagramsCostNothing) {
  auto p = world(4);
  p.link.jitter = 3ms;
  p.link.reorder = 0.2;
  p.link.duplicate = 0.2;
  World w(small_mesh(4), p);
  w.start();
  expect_converges(w, 10s);
  const auto pairs = w.some_pairs(20);
  expect_reach(w, pairs, 20s);
  std::vector<std::unique_ptr<Talk>> talks;
  for (std::size_t i = 0; i < 4; ++i)
    talks.push_back(std::make_unique<Talk>(w, pairs[i].first, pairs[i].second, 20ms, 20s));
  w.run_for(22s);
  for (const auto& t : talks) EXPECT_EQ(t->lost(), 0u) << all_drops(w);
  EXPECT_EQ(w.probes().repeated(), 0u);
  expect_well(w);
}

TEST(Faults, APartitionMakesTwoTreesAndHealsIntoOne) {
  // Two rings of five, joined by two bridges.
  Topology t{10, {}};
  for (std::uint32_t i = 0; i < 5; ++i)
    t.edges.push_back({i, (i + 1) % 5}), t.edges.push_back({5 + i, 5 + (i + 1) % 5});
  t.edges.push_back({0, 5});
  t.edges.push_back({2, 7});
  World w(t, world(5));
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, {{1, 6}, {8, 3}}, 10s);
  w.cut(0, 5);
  w.cut(2, 7);
  expect_converges(w, 60s);  // the far half finds a root of its own
  EXPECT_NE(w[1].node().tree().root(), w[6].node().tree().root());
  expect_reach(w, {{1, 3}, {6, 8}}, 15s);
  w.cut(0, 5, true);
  w.cut(2, 7, true);
  expect_converges(w, 60s);
  EXPECT_EQ(w[1].node().tree().root(), w[6].node().tree().root());
  expect_reach(w, w.some_pairs(20), 20s);
  expect_well(w);
}

TEST(Faults, ATransitNodeThatIsKilledIsRoutedAround) {
  World w(ring(6), world(6));
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, w.all_pairs(), 20s);
  Talk talk(w, 0, 2, 100ms, 100s);
  w.run_for(2s);
  w[1].kill();
  w.run_for(60s);
  EXPECT_LT(talk.outage(), 40s);  // 30 s until a silent link is dead
  const auto reached = w.reach({{0, 2}, {2, 0}, {5, 3}}, 10s);
  EXPECT_TRUE(reached.missing.empty()) << all_drops(w);
  w[1].start();
  expect_converges(w, 90s);
  expect_reach(w, w.all_pairs(), 30s);
  expect_well(w);
}

TEST(Faults, ATransitNodeThatComesBackAtOnceIsTakenBackAtOnce) {
  World w(line(4), world(7));
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, w.all_pairs(), 20s);
  Talk talk(w, 0, 3, 50ms, 30s);
  w.run_for(5s);
  w[1].kill();
  w.run_for(1s);
  w[1].start();  // the same key, another startup epoch, while both neighbours still hold its links
  w.run_for(30s);
  EXPECT_LT(talk.outage(), 5s) << all_drops(w);
  expect_converges(w, 1s);
  expect_well(w);
}

TEST(Faults, AnEndThatRestartsIsReachedAgainWithinMoments) {
  World w(line(3), world(8));
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, w.all_pairs(), 20s);
  w[2].prime(w[0].identity().key());
  Flow& to_it = w.flow(0, 2, 50ms, 40s);
  w.run_for(5s);
  w[2].kill();
  w.run_for(200ms);
  w[2].start();
  w.run_for(40s);
  EXPECT_LT(to_it.longest_outage(w.probes()), 8s) << all_drops(w);
  expect_well(w);
}

TEST(Faults, AGoodbyeIsHeardAtOnce) {
  World w(ring(4), world(9));
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, w.all_pairs(), 20s);
  Talk talk(w, 0, 2, 50ms, 10s);
  w.run_for(2s);
  w[1].stop();
  w.run_for(10s);
  EXPECT_LT(talk.outage(), 3s) << all_drops(w);
  expect_well(w);
}

TEST(Faults, CrossedDialsInTheSameInstantMakeOneLink) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto p = world(seed, Duration{1ms} * static_cast<int>(seed % 20));
    World w(line(2), p);
    w.start();
    ASSERT_TRUE(w.run_until([&] { return w.converged(); }, 2s)) << "seed " << seed << all_drops(w);
    Talk talk(w, 0, 1, 50ms, 2s);
    w.run_for(3s);
    ASSERT_LT(talk.outage(), 1s) << "seed " << seed << all_drops(w);
    w.run_for(35s);  // nothing of the crossing comes back later
    EXPECT_EQ(w[0].node().links().peers().begin()->second.up_since,
              w[0].node().links().find(w[1].addr())->up_since);
    for (NodeId i : {0u, 1u}) {
      EXPECT_EQ(w[i].node().links().peers().size(), 1u);
      EXPECT_EQ(w[i].node().links().dials().size(), 0u);
      EXPECT_LT(w.net().now() - w[i].node().links().peers().begin()->second.up_since, w.net().elapsed());
      EXPECT_GT(w.net().now() - w[i].node().links().peers().begin()->second.up_since, 36s) << "seed " << seed;
    }
    ASSERT_EQ(w.complaint(), std::nullopt);
  }
}

TEST(Faults, ALostFilterIsSaidAgain) {
  World w(line(4), world(11));
  bool lossy = true;
  w.underlay().set_filter([&](const Datagram& d) {
    return !lossy || d.kind != static_cast<std::uint8_t>(Traffic::filter) || d.from_node != 2;
  });
  w.start();
  w.run_for(5s);
  EXPECT_FALSE(w.reach({{0, 3}}, 5s).missing.empty());  // nobody tells node 1 what lies behind node 2
  lossy = false;
  expect_reach(w, {{0, 3}, {3, 0}}, 75s);
  expect_well(w);
}

TEST(Faults, ANodeThatChangesItsAddressIsBackWithinThreeSeconds) {
  for (const bool noticed : {true, false}) {
    World w(line(3), world(12));
    w.start();
    expect_converges(w, 10s);
    expect_reach(w, w.all_pairs(), 20s);
    Talk talk(w, 0, 2, 50ms, 20s);
    w.run_for(5s);
    w[1].move_to(World::endpoint_of(1, 1), noticed);
    w.run_for(17s);
    EXPECT_LT(talk.outage(), 3s) << "noticed: " << noticed << all_drops(w);
    w.run_for(60s);
    expect_converges(w, 1s);
    expect_well(w);
  }
}

TEST(Faults, FourMinutesOfEverythingGoingWrong) {
  SeededRng rng(50);
  Topology t = random_degree(20, 3, rng);
  draw_dialers(t, rng);
  World w(t, world(50));
  w.start();
  expect_converges(w, 10s);
  churn(w, 50, 4min, 3s);
  expect_converges(w, 7min);  // the longest pause between two dials to somebody who is not there
  expect_reach(w, w.some_pairs(60), 60s);
  expect_well(w);
}

}  // namespace
}  // namespace weft::sim
