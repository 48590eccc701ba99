// History: places tell ages, gaps are unknown, memory is bounded, words are the operator's.
#include "metrics/history.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

Instant at(std::int64_t seconds) { return Instant{} + std::chrono::hours(1) + std::chrono::seconds(seconds); }
NodeAddr node(unsigned v) {
  NodeAddr a;
  a.bytes[0] = static_cast<std::uint8_t>(v >> 8);
  a.bytes[1] = static_cast<std::uint8_t>(v);
  return a;
}
// NaN as -1, so that whole series can be compared.
std::vector<double> shown(const Series& s) {
  auto v = s.values;
  for (auto& x : v)
    if (std::isnan(x)) x = -1;
  return v;
}
using V = std::vector<double>;
NodeSample sample(std::uint64_t t) {
  NodeSample s;
  s.mesh_size = static_cast<double>(t);
  s.bytes_in = 100 * t;
  s.parent_switches = t;
  s.loss_rate = 0.05;
  return s;
}
PeerSample peer(unsigned v, std::uint64_t bytes) {
  PeerSample p;
  p.peer = node(v);
  p.srtt_ms = 20;
  p.bytes_in = bytes;
  return p;
}

TEST(History, GaugesAreSampledAndCountersBecomeRates) {
  History h;
  for (std::uint64_t t = 1; t <= 3; ++t) h.tick(at(static_cast<std::int64_t>(t)), sample(t), {});
  EXPECT_EQ(shown(h.query(NodeMetric::mesh_size, 3s, Granularity::second)), (V{1, 2, 3}));
  EXPECT_EQ(shown(h.query(NodeMetric::bytes_in, 3s, Granularity::second)), (V{0, 100, 100}));
  EXPECT_EQ(shown(h.query(NodeMetric::loss_rate, 1s, Granularity::second)), (V{0.05}))
      << "shown without float noise";
  EXPECT_EQ(h.recent(NodeMetric::mesh_size, 30), (V{1, 2, 3}));
  EXPECT_EQ(h.recent(NodeMetric::mesh_size, 2), (V{2, 3}));
}

TEST(History, SeriesIsAlwaysAsLongAsAskedAndPaddedInFront) {
  History h;
  EXPECT_EQ(shown(h.query(NodeMetric::mesh_size, 2s, Granularity::second)), (V{-1, -1}));
  h.tick(at(0), sample(7), {});
  EXPECT_EQ(shown(h.query(NodeMetric::mesh_size, 3s, Granularity::second)), (V{-1, -1, 7}));
  EXPECT_TRUE(h.query(NodeMetric::mesh_size, 0s, Granularity::second).values.empty());
  EXPECT_EQ(h.query(NodeMetric::mesh_size, 100h, Granularity::second).values.size(), 3600u);
  EXPECT_EQ(h.query(NodeMetric::mesh_size, 100h, Granularity::minute).values.size(), 1440u);
  EXPECT_EQ(h.query(NodeMetric::mesh_size, 119s, Granularity::minute).values.size(), 1u);
  EXPECT_EQ(h.query(NodeMetric::mesh_size, 1s, Granularity::minute).granularity_seconds, 60u);
}

TEST(History, MinuteTakesLastOfGaugesMeanOfRatesSumOfEvents) {
  History h;
  for (std::uint64_t t = 0; t < 60; ++t) h.tick(at(static_cast<std::int64_t>(t)), sample(t), {});
  EXPECT_EQ(shown(h.query(NodeMetric::mesh_size, 1min, Granularity::minute)), (V{59}));
  EXPECT_EQ(shown(h.query(NodeMetric::parent_switches, 1min, Granularity::minute)), (V{59}));
  EXPECT_NEAR(h.query(NodeMetric::bytes_in, 1min, Granularity::minute).values[0], 5900.0 / 60, 1e-4);
  EXPECT_NEAR(h.query(NodeMetric::loss_rate, 1min, Granularity::minute).values[0], 0.05, 1e-6);
}

TEST(History, RingsKeepTheNewestHourAndDay) {
  History h;
  for (std::int64_t t = 0; t < 3700; ++t) h.tick(at(t), sample(static_cast<std::uint64_t>(t)), {});
  const auto s = h.query(NodeMetric::mesh_size, 1h, Granularity::second).values;
  EXPECT_EQ(s.front(), 100);
  EXPECT_EQ(s.back(), 3699);
  EXPECT_EQ(shown(h.query(NodeMetric::mesh_size, 2min, Granularity::minute)), (V{3599, 3659}));
}

TEST(History, RingWrapsMoreThanOnce) {
  History h;
  for (std::int64_t t = 0; t < 7'205; ++t) h.tick(at(t), sample(static_cast<std::uint64_t>(t)), {});
  const auto s = h.query(NodeMetric::mesh_size, 1h, Granularity::second).values;
  for (std::size_t i = 0; i < s.size(); ++i) ASSERT_EQ(s[i], static_cast<double>(3'605 + i));
}

TEST(History, LateTickSpreadsCountersAndLeavesGaugesUnknown) {
  History h;
  h.tick(at(0), sample(0), {});
  h.tick(at(4), sample(4), {});
  EXPECT_EQ(shown(h.query(NodeMetric::bytes_in, 5s, Granularity::second)), (V{0, 100, 100, 100, 100}));
  EXPECT_EQ(shown(h.query(NodeMetric::mesh_size, 5s, Granularity::second)), (V{0, -1, -1, -1, 4}));
}

TEST(History, SleepOfHoursIsAGapNotASpike) {
  History h;
  for (std::int64_t t = 0; t < 60; ++t) h.tick(at(t), sample(static_cast<std::uint64_t>(t)), {});
  h.tick(at(8 * 3600 + 59), sample(1'000'000), {});
  EXPECT_EQ(shown(h.query(NodeMetric::bytes_in, 2s, Granularity::second)), (V{-1, -1}));
  EXPECT_EQ(shown(h.query(NodeMetric::mesh_size, 2s, Granularity::second)), (V{-1, 1'000'000}));
  const auto minutes = shown(h.query(NodeMetric::mesh_size, 482min, Granularity::minute));
  EXPECT_EQ(minutes[0], -1);
  EXPECT_EQ(minutes[1], 59) << "the minute before the sleep keeps its place";
  EXPECT_EQ(minutes[2], -1);
  EXPECT_EQ(minutes.back(), 1'000'000);
  h.tick(at(3 * 86400), sample(1), {});
  EXPECT_EQ(h.query(NodeMetric::bytes_in, 24h, Granularity::minute).values.size(), 1440u);
}

TEST(History, SecondCallWithinASecondDoesNothing) {
  History h;
  EXPECT_EQ(h.next_tick(), Instant{});
  h.tick(at(0), sample(1), {});
  h.tick(at(0) + 900ms, sample(2), {});
  EXPECT_EQ(h.recent(NodeMetric::mesh_size, 9), (V{1}));
  EXPECT_EQ(h.next_tick(), at(1));
}

TEST(History, PeersShareTheTimeAxisAndAbsenceIsUnknown) {
  History h;
  const std::vector<PeerSample> none;
  h.tick(at(0), sample(0), none);
  h.tick(at(1), sample(1), std::vector{peer(1, 1000)});
  h.tick(at(2), sample(2), std::vector{peer(1, 1500)});
  h.tick(at(3), sample(3), none);
  h.tick(at(4), sample(4), std::vector{peer(1, 9999)});
  h.tick(at(5), sample(5), std::vector{peer(1, 50)});
  h.tick(at(6), sample(6), std::vector{peer(1, 60)});
  EXPECT_EQ(shown(*h.query(node(1), PeerMetric::bytes_in, 7s, Granularity::second)),
            (V{-1, -1, 500, -1, -1, -1, 10}))
      << "no rate at first sight, over an absence, or when a new link's total is lower";
  EXPECT_EQ(shown(*h.query(node(1), PeerMetric::srtt_ms, 7s, Granularity::second)),
            (V{-1, 20, 20, -1, 20, 20, 20}));
  EXPECT_FALSE(h.query(node(2), PeerMetric::srtt_ms, 7s, Granularity::second));
}

TEST(History, TrackedPeersTellWhoIsConnectedAndAbsentOnesGoAfterADay) {
  History h;
  h.tick(at(0), sample(0), std::vector{peer(2, 0), peer(1, 0)});
  h.tick(at(1), sample(0), std::vector{peer(2, 0)});
  const auto peers = h.peers();
  ASSERT_EQ(peers.size(), 2u);
  EXPECT_EQ(peers[0].peer, node(1));
  EXPECT_FALSE(peers[0].active);
  EXPECT_EQ(peers[0].last_contact, at(0));
  EXPECT_TRUE(peers[1].active);
  EXPECT_EQ(peers[1].first_seen, at(0));
  h.tick(at(86'399), sample(0), {});
  EXPECT_TRUE(h.tracks(node(1)));
  h.tick(at(86'400), sample(0), {});
  EXPECT_FALSE(h.tracks(node(1)));
  EXPECT_TRUE(h.tracks(node(2)));
}

TEST(History, FullPeerTakesLessThan150KBytes) {
  History h;
  for (std::int64_t t = 0; t < 86'400; ++t) {
    std::vector<PeerSample> peers{peer(1, static_cast<std::uint64_t>(t))};
    peers[0].loss_rate = 0;
    h.tick(at(t), sample(0), peers);
  }
  const auto with = h.memory_bytes();
  History alone;
  for (std::int64_t t = 0; t < 86'400; ++t) alone.tick(at(t), sample(0), {});
  EXPECT_LE(with - alone.memory_bytes(), 150'000u);
}

TEST(History, OverTheCapAbsentPeersLoseTheirSecondsThenGoAndConnectedOnesKeepMinutes) {
  const std::size_t cap = 1'000'000;
  History h(cap);
  std::vector<PeerSample> peers;
  for (unsigned i = 0; i < 6; ++i) peers.push_back(peer(i, 0));
  const auto run = [&](std::int64_t from, std::int64_t to) {
    for (auto t = from; t < to; ++t) {
      for (auto& p : peers) {
        p.loss_rate = 0;
        p.bytes_in += 10;
      }
      h.tick(at(t), sample(0), peers);
      ASSERT_LE(h.memory_bytes(), cap);
    }
  };
  run(0, 3600);
  peers.erase(peers.begin(), peers.begin() + 3);  // 0, 1, 2 are absent
  for (unsigned i = 6; i < 9; ++i) peers.push_back(peer(i, 0));
  run(3600, 7200);
  const auto seconds = [&](unsigned i) {
    return shown(*h.query(node(i), PeerMetric::srtt_ms, 1h, Granularity::second));
  };
  for (unsigned i = 3; i < 9; ++i) {
    ASSERT_TRUE(h.tracks(node(i)));
    EXPECT_EQ(seconds(i).back(), 20) << "connected peer " << i;
  }
  for (unsigned i = 9; i < 80; ++i) peers.push_back(peer(i, 0));
  run(7200, 12'000);
  for (unsigned i = 0; i < 3; ++i) EXPECT_FALSE(h.tracks(node(i)));
  for (unsigned i = 3; i < 9; ++i) {
    ASSERT_TRUE(h.tracks(node(i)));
    EXPECT_EQ(shown(*h.query(node(i), PeerMetric::srtt_ms, 1min, Granularity::minute)), (V{20}));
  }
  EXPECT_EQ(seconds(3).back(), -1) << "the longest known connected peer gave up its seconds";
  EXPECT_LT(h.peers().size(), 77u) << "what does not fit even by minutes is not tracked";
}

TEST(History, PeerThatLostItsSecondsGetsThemAgainWhenItComesBack) {
  const auto run = [](History& h) {  // an hour with peers 1, 2, 3, of which 1 left after ten minutes
    for (std::int64_t t = 0; t < 3'600; ++t) {
      std::vector<PeerSample> peers{peer(2, 0), peer(3, 0)};
      if (t < 600) peers.push_back(peer(1, 0));
      h.tick(at(t), sample(0), peers);
    }
  };
  History unbounded;
  run(unbounded);
  History h(unbounded.memory_bytes() + 5'000);
  run(h);
  const auto of_1 = [&h] { return shown(*h.query(node(1), PeerMetric::srtt_ms, 1h, Granularity::second)); };
  ASSERT_EQ(of_1()[100], 20);
  std::vector<PeerSample> peers{peer(2, 0), peer(3, 0), peer(4, 0)};
  h.tick(at(3'600), sample(0), peers);
  h.tick(at(3'601), sample(0), peers);
  ASSERT_TRUE(h.tracks(node(1)));
  ASSERT_EQ(of_1()[100], -1) << "room for peer 4";
  peers.push_back(peer(1, 0));
  h.tick(at(3'602), sample(0), peers);
  EXPECT_EQ(of_1().back(), 20);
}

TEST(History, WordsOfAQueryAndTheirComplaints) {
  EXPECT_EQ(parse_node_metric("tree_depth"), NodeMetric::tree_depth);
  EXPECT_EQ(parse_node_metric("srtt_ms").error(), "unknown metric: srtt_ms")
      << "a peer's metric needs a peer";
  EXPECT_EQ(parse_peer_metric("ecn_ce"), PeerMetric::ecn_ce);
  EXPECT_EQ(parse_peer_metric("mesh_size").error(), "unknown peer metric: mesh_size");
  EXPECT_EQ(parse_granularity("1m"), Granularity::minute);
  EXPECT_EQ(parse_granularity("5s").error(), "unknown granularity: 5s (expected 1s or 1m)");
  EXPECT_EQ(parse_window("90s"), 90s);
  EXPECT_EQ(parse_window("10m"), 600s);
  EXPECT_EQ(parse_window("2h"), 7200s);
  EXPECT_EQ(parse_window("0s"), 0s);
  EXPECT_EQ(parse_window("").error(), "empty duration");
  EXPECT_EQ(parse_window("s").error(), "invalid duration: s");
  EXPECT_EQ(parse_window("-5m").error(), "invalid duration: -5m");
  EXPECT_EQ(parse_window("1.5h").error(), "invalid duration: 1.5h");
  EXPECT_EQ(parse_window("10").error(), "unknown duration unit: 0 (expected s, m, h)");
  EXPECT_EQ(parse_window("10d").error(), "unknown duration unit: d (expected s, m, h)");
  EXPECT_EQ(parse_window("99999999999h").error(), "invalid duration: 99999999999h");
  EXPECT_EQ(parse_window("99999999999999999999s").error(), "invalid duration: 99999999999999999999s");
  EXPECT_EQ(parse_window("5\xC3\xA9").error(), "unknown duration unit: \xC3\xA9 (expected s, m, h)");
  EXPECT_EQ(parse_window("\xC3\xA9").error(), "invalid duration: \xC3\xA9");
}

TEST(History, MetricsAreThoseOfTheControlProtocol) {
  EXPECT_EQ(node_metrics()[static_cast<std::size_t>(NodeMetric::active_sessions)].unit, "sessions");
  EXPECT_EQ(node_metrics()[static_cast<std::size_t>(NodeMetric::loss_rate)].unit, "fraction");
  EXPECT_EQ(peer_metrics()[static_cast<std::size_t>(PeerMetric::srtt_ms)].unit, "ms");
  EXPECT_EQ(peer_metrics()[static_cast<std::size_t>(PeerMetric::ecn_ce)].name, "ecn_ce");
}

}  // namespace
}  // namespace weft
