// What links carry is found out, and followed, without anybody noticing but by larger packets.
#include "sim/sim_test.h"

namespace weft::sim {
namespace {

const link::Peer& peer(World& w, NodeId a, NodeId b) { return *w[a].node().links().find(w[b].addr()); }
std::uint16_t mtu(World& w, NodeId a, NodeId b) { return peer(w, a, b).mtu; }
void both_carry(World& w, NodeId a, NodeId b, std::size_t whole) {
  w.underlay().set_both(a, b, [&](LinkParams& p) { p.whole = whole; });
}
void network_changes(World& w, std::initializer_list<NodeId> at) {
  for (const NodeId i : at) w[i].act([](Node& n, Now now, Outbox& out) { n.on_network_change(now, out); });
}
/// Both have found out that the line between them carries jumbo frames.
void settle_on_jumbo(World& w) {
  w.underlay().set_defaults([](LinkParams& p) { p.whole = 8972; });
  w.start();
  expect_converges(w, 5s);
  expect_reach(w, {{0, 1}, {1, 0}}, 5s);
  w.run_for(10s);
  ASSERT_EQ(mtu(w, 0, 1), 8972);
}
/// Neither end thinks that the link loses anything.
void expect_spotless(World& w, NodeId a, NodeId b) {
  for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    const LinkQuality* q = w[x].node().reports().quality(peer(w, x, y).link);
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q->loss(), 0) << x << " to " << y;
    EXPECT_EQ(q->reverse(), 1) << x << " from " << y;
    EXPECT_EQ(q->etx(), 1);
    EXPECT_EQ(q->smoothed_loss().value_or(0), 0) << "nor has it ever";
  }
}

TEST(Mtu, IsFoundSoonAndProbesAreNoLoss) {
  for (const std::size_t whole : {1280u, 1300u, 1452u, 1472u, 8972u, 65507u}) {
    World w(line(2), world(50));
    w.underlay().set_defaults([&](LinkParams& p) { p.whole = whole; });
    w.start();
    expect_converges(w, 5s);
    expect_reach(w, {{0, 1}, {1, 0}}, 5s);
    w.run_for(10s);
    for (const auto& [a, b] : {Pair{0, 1}, Pair{1, 0}}) {
      EXPECT_LE(mtu(w, a, b), whole);
      EXPECT_GE(mtu(w, a, b) + whole / 256 + 1, whole);
    }
    w.run_for(20s);
    expect_spotless(w, 0, 1);
    EXPECT_EQ(w[0].drops(Drop::unknown_probe) + w[0].drops(Drop::probe_mismatch), 0u);
    const std::size_t full = mtu(w, 0, 1) - 77u;
    const auto n = w.probes().send(w[0], w[1], full);
    const auto before = w[0].fragmented();
    w.run_for(1s);
    EXPECT_TRUE(w.probes().arrived(n)) << full;
    EXPECT_EQ(w[0].fragmented(), before);
    (void)w.probes().send(w[0], w[1], full + 1);
    w.run_for(1s);
    if (full >= 1280) {
      EXPECT_EQ(w.probes().too_big_at(0), full);
    }
    expect_well(w);
  }
}

TEST(Mtu, ANodeThatKnowsNoneOfThisIsLeftAlone) {
  auto p = world(51);
  p.adjust = [](NodeId i, NodeParams& n) { n.plain = i == 1; };
  World w(line(3), p);
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, w.all_pairs(), 10s);
  w.run_for(300s);
  EXPECT_EQ(mtu(w, 0, 1), 1280);
  EXPECT_EQ(mtu(w, 2, 1), 1280);
  EXPECT_LE(w[1].own_messages(), 8u) << "four questions from each side, and nothing else, over rekeys";
  EXPECT_EQ(w[0].own_messages() + w[2].own_messages(), 0u);
  expect_well(w);
}

TEST(Mtu, AThirdOfAllDatagramsMayBeLost) {
  World w(line(2), world(52));
  w.start();
  expect_converges(w, 5s);
  w.underlay().set_both(0, 1, [](LinkParams& p) { p.whole = 8972; });
  w.run_for(1s);
  w.underlay().set_both(0, 1, [](LinkParams& p) { p.loss = 0.3; });
  network_changes(w, {0, 1});
  w.run_for(120s);
  EXPECT_EQ(mtu(w, 0, 1), 8972);
  EXPECT_EQ(mtu(w, 1, 0), 8972);
}

TEST(Mtu, APathThatGrowsIsUsedWhenTheNetworkSaysSoOrAfterTenMinutes) {
  World w(line(2), world(53));
  w.start();
  expect_converges(w, 5s);
  w.run_for(5s);
  EXPECT_EQ(mtu(w, 0, 1), 1472);
  both_carry(w, 0, 1, 8972);
  w.run_for(30s);
  EXPECT_EQ(mtu(w, 0, 1), 1472) << "nobody can know";
  network_changes(w, {0});
  w.run_for(10s);
  EXPECT_EQ(mtu(w, 0, 1), 8972);
  EXPECT_EQ(mtu(w, 1, 0), 1472) << "the other end was told nothing";
  w.run_for(610s);
  EXPECT_EQ(mtu(w, 1, 0), 8972);
  expect_spotless(w, 0, 1);
  const auto n = w.probes().send(w[1], w[0], 8000);
  expect_reach(w, {{0, 1}}, 5s);
  w.run_for(1s);
  const auto again = w.probes().send(w[1], w[0], 8000);
  w.run_for(1s);
  EXPECT_TRUE(w.probes().arrived(n) || w.probes().arrived(again));
}

TEST(Mtu, APathThatShrinksGoesOnInFragmentsAndIsNoticedWithinSeconds) {
  World w(line(2), world(54));
  ASSERT_NO_FATAL_FAILURE(settle_on_jumbo(w));
  Flow& flow = w.flow(0, 1, 20ms, 20s, 1395);
  w.run_for(5s);
  both_carry(w, 0, 1, 1472);
  w.run_for(6s);
  EXPECT_EQ(mtu(w, 0, 1), 1472);
  w.run_for(10s);
  EXPECT_EQ(flow.lost(w.probes()), 0u) << "1395 bytes fit before and after";
  expect_spotless(w, 0, 1);
  expect_well(w);
}

TEST(Mtu, ABlackHoleSwallowsFullFramesForSecondsOnly) {
  World w(line(2), world(55));
  ASSERT_NO_FATAL_FAILURE(settle_on_jumbo(w));
  // Fragments do not pass either: 8000 bytes are gone until the sender hears packet-too-big and sends 1395.
  w.underlay().set_both(0, 1, [](LinkParams& p) { p.mtu = p.whole = 1472; });
  const Instant begin = w.net().now();
  w.flow(0, 1, 20ms, 15s, 8000);
  EXPECT_TRUE(w.run_until([&] { return w.probes().too_big_at(0).has_value(); }, 10s));
  EXPECT_LT(w.net().now() - begin, 5s);
  w.run_for(5s);
  EXPECT_EQ(mtu(w, 0, 1), 1472);
  EXPECT_EQ(w[0].node().mtus().search(peer(w, 0, 1).link)->black_holes(), 1u);
  Flow& fits = w.flow(0, 1, 20ms, 3s, 1395);
  w.run_for(4s);
  EXPECT_EQ(fits.lost(w.probes()), 0u);
  expect_well(w);
}

TEST(Mtu, ANarrowMiddleIsWhatTheEndsSeeAndWhatTheyForgetWhenItGrows) {
  World w(line(4), world(56));
  w.underlay().set_defaults([](LinkParams& p) { p.whole = 8972; });
  both_carry(w, 1, 2, 1452);
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, {{0, 3}, {3, 0}}, 10s);
  w.run_for(20s);
  EXPECT_EQ(mtu(w, 0, 1), 8972);
  EXPECT_EQ(mtu(w, 1, 2), 1452);
  const auto limit = [&] { return w[0].node().reports().session(w[3].addr())->limit.current(); };
  Flow& flow = w.flow(0, 3, 100ms, 84s, 1375);
  w.run_for(5s);
  EXPECT_EQ(limit(), 1452);
  both_carry(w, 1, 2, 8972);
  network_changes(w, {1, 2});
  w.run_for(60s);
  EXPECT_EQ(limit(), 8972);
  w.underlay().set_both(1, 2, [](LinkParams& p) { p.whole = 1452; });
  w.run_for(20s);
  EXPECT_EQ(mtu(w, 1, 2), 1452);
  EXPECT_EQ(limit(), 1452);
  EXPECT_EQ(flow.lost(w.probes()), 0u);
  expect_well(w);
}

TEST(Mtu, AReferenceNodeInTheMiddleKeepsThePathAtItsSize) {
  auto p = world(57);
  p.adjust = [](NodeId i, NodeParams& n) { n.plain = i == 2; };
  World w(line(5), p);  // weft, weft, plain, weft, weft; jumbo outside
  w.underlay().set_defaults([](LinkParams& q) { q.whole = 8972; });
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, {{0, 4}, {4, 0}}, 15s);
  w.run_for(10s);
  EXPECT_EQ(mtu(w, 0, 1), 8972);
  EXPECT_EQ(mtu(w, 1, 2), 1280);
  Flow& flow = w.flow(0, 4, 100ms, 20s, 1280);  // 1280 bytes need fragments on the way
  w.run_for(21s);
  EXPECT_LE(flow.lost(w.probes()), 2u);
  EXPECT_EQ(w[0].node().reports().session(w[4].addr())->limit.current(), 1280);
  expect_well(w);
}

TEST(Mtu, ALossyLinkIsJudgedByItsLossesAloneAndNoParentFlaps) {
  // A triangle: both ways to the root cost the same but for what probes would add.
  World w(ring(3), world(58));
  w.start();
  expect_converges(w, 5s);
  w.run_for(30s);
  const auto parent_switches = [&] {
    std::uint64_t n = 0;
    for (NodeId i = 0; i < 3; ++i) n += w[i].node().parent_switches();
    return n;
  };
  const auto switches = parent_switches();
  for (int round = 0; round < 20; ++round) {
    network_changes(w, {0, 1, 2});
    w.run_for(5s);
  }
  EXPECT_EQ(parent_switches(), switches);
  for (const auto& [a, b] : {Pair{0, 1}, Pair{1, 2}, Pair{0, 2}}) expect_spotless(w, a, b);
}

TEST(Mtu, AMovedPeerIsMeasuredAnew) {
  World w(line(2), world(59));
  w.underlay().set_defaults([](LinkParams& p) { p.whole = 8972; });
  w.start();
  expect_converges(w, 5s);
  w.run_for(10s);
  ASSERT_EQ(mtu(w, 0, 1), 8972);
  both_carry(w, 0, 1, 1472);
  w[1].move_to(World::endpoint_of(1, 1));
  w.run_for(10s);
  EXPECT_EQ(mtu(w, 0, 1), 1472);
  EXPECT_EQ(mtu(w, 1, 0), 1472);
}

TEST(Mtu, SwitchedOffOnOneSideNeitherIsMeasured) {
  auto p = world(60);
  p.configure = [](NodeId i, config::Config& c) { c.weft.dataplane.mtu_discovery = i != 0; };
  World w(line(2), p);
  w.start();
  expect_converges(w, 5s);
  w.run_for(10s);
  EXPECT_EQ(mtu(w, 0, 1), 1280);
  EXPECT_EQ(mtu(w, 1, 0), 1280) << "the other did not say that it answers";
}

}  // namespace
}  // namespace weft::sim
