// The simulator's own parts: an oracle that cannot fail proves nothing.
#include "sim/sim_test.h"

namespace weft::sim {
namespace {

TEST(Net, RunsByTimeAndThenInTheOrderOfAsking) {
  Net net;
  std::string order;
  net.after(2ms, [&] { order += 'c'; });
  net.after(1ms, [&] {
    order += 'a';
    net.after(1ms, [&] { order += 'd'; });
    net.at(net.now() - 1s, [&] { order += 'b'; });
  });
  net.run_for(1500us);
  EXPECT_EQ(order, "ab");
  net.run_for(1s);
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(net.elapsed(), 1s + 1500us);
  EXPECT_EQ(net.clock().unix_ms % 1000, 1);
}

TEST(LinkModel, LosesRepeatsAndHoldsBackAsOftenAsAsked) {
  LinkModel m({.delay = 10ms, .loss = 0.2, .duplicate = 0.1, .reorder = 0.1, .reorder_by = 5ms}, 1);
  Instant now{};
  int lost = 0, twice = 0, late = 0;
  for (int i = 0; i < 10'000; ++i, now += 1s) {
    const auto arrivals = m.pass(now, 100);
    lost += arrivals.empty();
    twice += arrivals.size() == 2;
    late += !arrivals.empty() && arrivals[0] == now + 15ms;
  }
  EXPECT_NEAR(lost, 2000, 150);
  EXPECT_NEAR(twice, 800, 120);
  EXPECT_NEAR(late, 800, 120);
}

TEST(LinkModel, JitterKeepsTheOrderAndTheQueueIsBounded) {
  LinkModel jumpy({.delay = 1ms, .jitter = 20ms}, 2);
  Instant last{};
  for (int i = 0; i < 1000; ++i) {
    const auto at = jumpy.pass(Instant{} + 100us * i, 100).at(0);
    EXPECT_GE(at, last);
    last = at;
  }
  LinkModel slow({.delay = 0ms, .bits_per_second = 8'000'000, .queue_bytes = 10'000},
                 3);  // 1 byte per microsecond
  EXPECT_EQ(slow.pass(Instant{}, 972).at(0), Instant{} + 1ms);
  EXPECT_EQ(slow.pass(Instant{}, 972).at(0), Instant{} + 2ms);
  for (int i = 0; i < 20; ++i) slow.pass(Instant{}, 972);
  EXPECT_EQ(slow.counts().queue_full, 11u);
  LinkModel narrow({.mtu = 1000}, 4);
  EXPECT_EQ(narrow.pass(Instant{}, 1000).size(), 1u);
  EXPECT_TRUE(narrow.pass(Instant{}, 1001).empty());
}

TEST(NonceOracle, SeesACounterThatIsUsedTwiceInAnyOrder) {
  std::array<std::uint8_t, 32> bytes{1};
  const crypto::AeadKey a(bytes);
  bytes[0] = 2;
  const crypto::AeadKey b(bytes);
  NonceOracle o;
  for (const std::uint64_t c : {0U, 1U, 5U, 3U, 2U, 4U, 6U}) o.sealed(a, c);
  o.sealed(b, 3);
  EXPECT_EQ(o.reused(), 0u);
  o.sealed(a, 3);
  EXPECT_EQ(o.reused(), 1u);
  o.sealed(a.clone(), 6);
  EXPECT_EQ(o.reused(), 2u);
  EXPECT_EQ(o.keys(), 2u);
}

TEST(Topology, ShapesAreWhatTheirNamesSay) {
  SeededRng rng(1);
  EXPECT_EQ(line(5).hops_from(0)[4], 4u);
  EXPECT_EQ(ring(6).hops_from(0)[3], 3u);
  EXPECT_EQ(ring(6).hops_from(0)[5], 1u);
  EXPECT_EQ(star(7).hops_from(3)[6], 2u);
  EXPECT_EQ(tree(13, 3).hops_from(0)[12], 2u);
  EXPECT_EQ(grid(4, 3).hops_from(0)[11], 5u);
  EXPECT_EQ(five_nodes().hops_from(0)[1], 3u);
  for (const char* name : {"geometric", "random"}) {
    const auto t = *make_topology(name, 80, 5, rng);
    EXPECT_NEAR(t.mean_degree(), 5, 1.5) << name;
    for (const auto h : t.hops_from(0)) EXPECT_NE(h, UINT32_MAX) << name;
  }
  EXPECT_FALSE(make_topology("cube", 8, 3, rng));
}

TEST(World, NoticesWhatIsNotInOrder) {
  World w(line(3), world(70));
  w.start();
  EXPECT_FALSE(w.converged());  // nobody has started
  expect_converges(w, 5s);
  w[1].kill();
  EXPECT_NE(w.tree_complaint(), std::nullopt);  // its neighbours still believe in it
  EXPECT_EQ(w.reach({{0, 2}}, 1s).missing.size(), 1u);
}

}  // namespace
}  // namespace weft::sim
