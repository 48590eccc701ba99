// What a local program may count on.
#include "sim/sim_test.h"

namespace weft::sim {
namespace {

/// Four in a line; the middle link takes frames of 1280 bytes, the outer ones of 1472.
WorldParams narrow_middle() {
  auto p = world(30);
  p.node.mtu = 1472;
  p.adjust = [](NodeId i, NodeParams& n) {
    if (i == 1 || i == 2) n.mtu = 1280;
  };
  p.configure = [](NodeId, config::Config& c) { c.weft.dataplane.mtu_discovery = false; };  // probes would be swallowed
  return p;
}

TEST(Packets, AnMtuStepInThePathIsCrossedInFragmentsAndReportedForMore) {
  World w(line(4), narrow_middle());
  w.start();
  w.underlay().set_both(1, 2, [](LinkParams& p) { p.mtu = 1280; });
  expect_converges(w, 10s);
  expect_reach(w, {{0, 3}, {3, 0}}, 10s);
  Flow& full = w.flow(0, 3, 50ms, 20s, 1280);
  w.run_for(21s);
  EXPECT_LT(full.longest_outage(w.probes()), 2s) << all_drops(w);  // until the first MtuExceeded is back
  EXPECT_GT(w.probes().fragments(), 0u);
  EXPECT_GT(w[0].fragmented(), 0u);
  const std::size_t larger = w.probes().send(w[0], w[3], 1360);
  w.run_for(1s);
  EXPECT_FALSE(w.probes().arrived(larger));
  EXPECT_EQ(w.probes().too_big_at(0), 1280u);
  const auto counts = w.underlay().totals();
  EXPECT_EQ(counts.too_big, 0u);  // nothing was sent that the network below would swallow
  expect_well(w);
}

TEST(Packets, EverySizeThatFitsArrivesWhole) {
  auto p = world(31);
  p.node.mtu = 1472;
  World w(line(3), p);
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, {{0, 2}}, 10s);
  std::vector<std::size_t> sent;
  for (std::size_t size = Probes::kSmallest; size <= 1280; size += 19)
    sent.push_back(w.probes().send(w[0], w[2], size));
  w.run_for(2s);
  for (const auto n : sent) EXPECT_TRUE(w.probes().arrived(n));
  expect_well(w);
}

TEST(Packets, ANodeThatDoesNotExistIsAnsweredUnreachable) {
  World w(line(3), world(32));
  w.start();
  expect_converges(w, 10s);
  SeededRng rng(99);
  const auto nobody = crypto::Identity::generate(rng);
  w[0].prime(nobody.key());
  Buffer packet(48);
  packet[0] = 0x60;
  packet[5] = 8;
  packet[6] = 17;
  packet[7] = 64;
  std::memcpy(packet.data() + 8, w[0].identity().mesh_addr().bytes.data(), 16);
  std::memcpy(packet.data() + 24, nobody.mesh_addr().bytes.data(), 16);
  w[0].send_packet(packet);
  w.run_for(40s);
  EXPECT_EQ(w.probes().unreachables(), 1u);
  EXPECT_EQ(sizes_of(w[0].node()).pending, 0u);
  expect_well(w);
}

TEST(Packets, AnIdleSessionEndsAndABusyOneStays) {
  World w(line(3), world(33));
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, {{0, 2}, {0, 1}}, 10s);
  Talk busy(w, 0, 2, 1s, 150s);
  w.run_for(151s);
  EXPECT_EQ(busy.lost(), 0u) << all_drops(w);
  EXPECT_TRUE(w[0].node().sessions().established(w[2].addr()));
  EXPECT_FALSE(w[0].node().sessions().established(w[1].addr()));
  expect_reach(w, {{0, 1}, {1, 0}}, 3s);
  expect_well(w);
}

}  // namespace
}  // namespace weft::sim
