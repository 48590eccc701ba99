// History: places tell ages, gaps are unknown, memory is bounded, words are the operator's.
#include "metrics/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

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
  const auto last = shown(h.query(NodeMetric::mesh_size, 2s, Granularity::second));
  EXPECT_EQ(last[0], -1);
  EXPECT_NEAR(last[1], 1'000'000, 200) << "a packed value is rounded";
  const auto minutes = shown(h.query(NodeMetric::mesh_size, 482min, Granularity::minute));
  EXPECT_EQ(minutes[0], -1);
  EXPECT_EQ(minutes[1], 59) << "the minute before the sleep keeps its place";
  EXPECT_EQ(minutes[2], -1);
  EXPECT_NEAR(minutes.back(), 1'000'000, 200);
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

// Numbers that a packer can do nothing with.
class Noise {
 public:
  std::uint64_t below(std::uint64_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % n;
  }
  double real() { return static_cast<double>(below(1'000'000'000)) / 1e9; }

 private:
  std::uint64_t state_ = 1;
};
void make_busy(PeerSample& p, Noise& noise) {
  p.srtt_ms = 1000 * noise.real();
  p.loss_rate = noise.real();
  p.etx = 1 + noise.real();
  p.cost = 10 * noise.real();
  p.bytes_in += noise.below(1'000'000'000);
  p.bytes_out += noise.below(1'000'000);
  p.packets_in += noise.below(1'000'000);
  p.packets_out += noise.below(1'000);
  p.ecn_ce += noise.below(100);
}
std::size_t known(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::count_if(values, [](double v) { return !std::isnan(v); }));
}

TEST(History, APeerWithoutAnyRepetitionTakesLessThan150KBytes) {
  History h;
  Noise noise;
  std::vector<PeerSample> peers{peer(1, 0)};
  for (std::int64_t t = 0; t < 86'400; ++t) {
    if (t > 0 && t < 82'800 && t % 60 < 58) continue;  // the last hour whole; before it two seconds a minute
    make_busy(peers[0], noise);
    h.tick(at(t), sample(0), peers);
  }
  History alone;
  for (std::int64_t t = 0; t < 86'400; t += 60) alone.tick(at(t), sample(0), {});
  EXPECT_GT(h.memory_bytes() - alone.memory_bytes(), 50'000u) << "the test must be able to fail";
  EXPECT_LE(h.memory_bytes() - alone.memory_bytes(), 150'000u);
  EXPECT_EQ(known(h.query(node(1), PeerMetric::srtt_ms, 24h, Granularity::minute)->values), 1440u);
}

TEST(History, AQuietPeerTakesLittle) {
  History h;
  std::vector<PeerSample> peers{peer(1, 0)};
  for (std::int64_t t = 0; t < 2 * 3600; ++t) {
    peers[0].bytes_in += t % 10 == 0 ? 100 : 0;
    h.tick(at(t), sample(0), peers);
  }
  History alone;
  for (std::int64_t t = 0; t < 2 * 3600; ++t) alone.tick(at(t), sample(0), {});
  EXPECT_LT(h.memory_bytes() - alone.memory_bytes(), 15'000u);
}

// `seconds` of a node with `count` busy peers; the cap holds at every moment.
void run_busy(History& h, std::size_t cap, unsigned count, std::int64_t seconds) {
  Noise noise;
  std::vector<PeerSample> peers;
  for (unsigned i = 0; i < count; ++i) peers.push_back(peer(i, 0));
  for (std::int64_t t = 0; t < seconds; ++t) {
    for (auto& p : peers) {  // a load that varies by a quarter, as real ones do
      p.srtt_ms = 20 + 5 * noise.real();
      p.loss_rate = noise.below(10) == 0 ? 0.01 * noise.real() : 0;
      p.etx = 1 + *p.loss_rate;
      p.bytes_in += 1'000'000 + noise.below(250'000);
      p.bytes_out += 500'000 + noise.below(125'000);
      p.packets_in += 1'000 + noise.below(250);
      p.packets_out += 500 + noise.below(125);
    }
    h.tick(at(t), sample(static_cast<std::uint64_t>(t)), peers);
    ASSERT_LE(h.memory_bytes(), cap) << "after " << t << " s";
  }
}

TEST(History, ManyBusyPeersStayWithinTheCapAndAllOfThemKeepRecentSecondsAndEveryMinute) {
  const char* on = std::getenv("WEFT_LONG");
  const bool whole_day = on != nullptr && std::string_view(on) == "1";  // else the same crowd in less room and time
  const std::size_t cap = whole_day ? History::kDefaultMemoryCap : 1'900'000;
  const unsigned count = whole_day ? 520 : 60;
  const std::int64_t seconds = whole_day ? 86'400 : 3 * 3600;
  History h(cap);
  run_busy(h, cap, count, seconds);
  EXPECT_EQ(h.peers().size(), count);
  EXPECT_GT(h.memory_bytes(), cap / 10 * 9) << "the test must be able to fail";
  for (unsigned i = 0; i < count; ++i) {
    EXPECT_EQ(known(h.query(node(i), PeerMetric::bytes_in, 10min, Granularity::second)->values), 600u) << i;
    EXPECT_EQ(known(h.query(node(i), PeerMetric::bytes_in, 24h, Granularity::minute)->values),
              static_cast<std::size_t>(seconds / 60))
        << i;
  }
}

TEST(History, OldMinutesBecomeTensOfMinutesBeforeAnythingOfThemIsLost) {
  const std::size_t cap = 450'000;
  History h(cap);
  std::vector<PeerSample> peers;
  for (unsigned i = 0; i < 20; ++i) peers.push_back(peer(i, 0));
  Noise noise;
  for (std::int64_t t = 0; t < 20 * 3600; ++t) {
    if (t > 0 && t % 60 < 58) continue;
    for (auto& p : peers) make_busy(p, noise);
    h.tick(at(t), sample(0), peers);
    ASSERT_LE(h.memory_bytes(), cap);
  }
  const auto v = h.query(node(3), PeerMetric::srtt_ms, 20h, Granularity::minute)->values;
  EXPECT_EQ(known(v), v.size());
  EXPECT_EQ(v[0], v[9]);
  EXPECT_NE(v[9], v[10]);
  EXPECT_NE(v[v.size() - 1], v[v.size() - 2]) << "new ones stay as they are";
}

TEST(History, OverTheCapAbsentPeersGiveWayToConnectedOnes) {
  const std::size_t cap = 850'000;
  History h(cap);
  Noise noise;
  std::vector<PeerSample> peers;
  std::int64_t now = 0;
  const auto run = [&](std::int64_t span) {
    for (const auto end = now + span; now < end; ++now) {
      for (auto& p : peers) make_busy(p, noise);
      h.tick(at(now), sample(0), peers);
      ASSERT_LE(h.memory_bytes(), cap);
    }
  };
  const auto seconds = [&](unsigned i) {
    return known(h.query(node(i), PeerMetric::srtt_ms, 1h, Granularity::second)->values);
  };
  for (unsigned i = 0; i < 4; ++i) peers.push_back(peer(i, 0));
  run(1800);
  ASSERT_EQ(seconds(0), 1800u);
  peers.erase(peers.begin(), peers.begin() + 2);  // 0 and 1 are absent
  for (unsigned i = 4; i < 20; ++i) peers.push_back(peer(i, 0));
  run(1500);
  ASSERT_TRUE(h.tracks(node(0)));
  EXPECT_LT(seconds(0), 600u) << "absent peers lose their seconds";
  EXPECT_EQ(seconds(7), 1500u);
  for (unsigned i = 20; i < 200; ++i) peers.push_back(peer(i, 0));
  run(600);
  EXPECT_FALSE(h.tracks(node(0))) << "then they go";
  EXPECT_TRUE(h.tracks(node(7)));
  EXPECT_LT(h.peers().size(), 198u) << "what does not fit even with an open minute and hour is not tracked";
}

TEST(History, PackedValuesAreGoodToOnePartInEightThousand) {
  History h;
  std::vector<PeerSample> peers{peer(1, 0)};
  Noise noise;
  std::vector<double> wanted;
  for (std::int64_t t = 0; t < 300; ++t) {
    peers[0].srtt_ms = t % 7 == 3 ? std::nullopt : std::optional(noise.real() * std::pow(10.0, t % 9 - 3));
    wanted.push_back(peers[0].srtt_ms.value_or(-1));
    h.tick(at(t), sample(0), peers);
  }
  const auto got = shown(*h.query(node(1), PeerMetric::srtt_ms, 5min, Granularity::second));
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], std::abs(wanted[i]) * 1.8e-4 + 1e-6) << i;
}

TEST(History, EveryRefusalHasASeriesAndTheirSumToo) {
  History h;
  NodeSample s;
  for (std::int64_t t = 0; t < 61; ++t) {
    s.drops[static_cast<std::size_t>(Drop::bad_tag)] += 2;
    s.drops[static_cast<std::size_t>(Drop::no_route)] += 1;
    h.tick(at(t), s, {});
  }
  EXPECT_EQ(shown(h.query(Drop::bad_tag, 3s, Granularity::second)), (V{2, 2, 2}));
  EXPECT_EQ(shown(h.query(Drop::stale, 3s, Granularity::second)), (V{0, 0, 0}));
  EXPECT_EQ(shown(h.query(NodeMetric::drops, 1s, Granularity::second)), (V{3}));
  EXPECT_EQ(shown(h.query(Drop::no_route, 1min, Granularity::minute)), (V{59})) << "events of the minute";
  EXPECT_EQ(h.query(Drop::no_route, 1s, Granularity::second).metric, "drop_no_route");
}

TEST(History, ProcessorTimeIsShownInCores) {
  History h;
  NodeSample s;
  for (std::int64_t t = 0; t < 3; ++t) {
    s.cpu_workers += 1500ms;
    h.tick(at(t), s, {});
  }
  EXPECT_EQ(shown(h.query(NodeMetric::cpu_workers, 2s, Granularity::second)), (V{1.5, 1.5}));
}

TEST(History, APeerThatComesInTheMiddleOfAMinuteClosesItWithTheOthers) {
  History h;
  for (std::int64_t t = 0; t < 90; ++t) h.tick(at(t), sample(0), {});
  for (std::int64_t t = 90; t < 240; ++t) h.tick(at(t), sample(0), std::vector{peer(1, 0)});
  EXPECT_EQ(shown(*h.query(node(1), PeerMetric::srtt_ms, 4min, Granularity::minute)), (V{-1, 20, 20, 20}));
  EXPECT_EQ(known(h.query(node(1), PeerMetric::srtt_ms, 1h, Granularity::second)->values), 150u);
}

TEST(History, APeerThatLostItsSecondsCollectsThemAgain) {
  History h;
  std::vector<PeerSample> peers{peer(1, 0)};
  h.tick(at(0), sample(0), peers);
  h.tick(at(4'000), sample(0), {});
  EXPECT_EQ(known(h.query(node(1), PeerMetric::srtt_ms, 1h, Granularity::second)->values), 0u);
  h.tick(at(4'001), sample(0), peers);
  h.tick(at(4'002), sample(0), peers);
  EXPECT_EQ(known(h.query(node(1), PeerMetric::srtt_ms, 1h, Granularity::second)->values), 2u);
}

TEST(History, WordsOfAQueryAndTheirComplaints) {
  EXPECT_EQ(parse_node_series("tree_depth"), NodeSeries(NodeMetric::tree_depth));
  EXPECT_EQ(parse_node_series("drop_bad_tag"), NodeSeries(Drop::bad_tag));
  EXPECT_EQ(parse_node_series("drop_x").error(), "unknown metric: drop_x");
  EXPECT_EQ(parse_node_series("ecn_ce").error(), "unknown metric: ecn_ce") << "a peer's metric needs a peer";
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
