// What waits, what ends, what the path says, and all of it at once.
#include "session/rig_test.h"

namespace weft::session {
namespace {

using rig::Datagram;
using rig::Net;
using rig::numbers;
using rig::quick;
using rig::Traffic;
using rig::two;

// ---- ends ----

TEST(Sessions, AnIdleSessionEndsNinetySecondsAfterItsLastDataPacket) {
  Settings s;
  s.rekey = false;
  Net net;
  auto [a, b] = two(net, s);
  a->send_number(0, *b);
  net.run(60s);
  b->send_number(1, *a);
  net.run(89'900ms);
  EXPECT_TRUE(a->sessions->established(b->addr()) && b->sessions->established(a->addr()));
  net.run(200ms);
  EXPECT_EQ(a->sessions->size() + b->sessions->size(), 0U);
  ASSERT_NE(a->last<SessionDown>(), nullptr);
  EXPECT_EQ(a->last<SessionDown>()->reason, SessionDown::Reason::idle);
  EXPECT_TRUE(a->halves[b->addr()].empty());
  EXPECT_FALSE(a->sending.contains(b->addr()));
  EXPECT_FALSE(a->sessions->deadline());
}

TEST(Sessions, IdleZeroMeansNever) {
  Settings s;
  s.idle_timeout = Duration{};
  Net net;
  auto [a, b] = two(net, s);
  a->send_number(0, *b);
  net.run(600s);
  EXPECT_TRUE(a->sessions->established(b->addr()));
}

TEST(Sessions, LosingTheLinkToANodeEndsItsSessionAndKeepsItsQueue) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(1s);
  a->routed = false;
  Outbox out;
  a->note(a->sessions->queue_packet(net.now, b->addr(), Buffer{1}, out));
  a->sessions->remove(b->addr(), out);
  a->apply(out);
  EXPECT_TRUE(a->halves[b->addr()].empty());
  EXPECT_FALSE(a->sending.contains(b->addr()));
  EXPECT_EQ(a->last<SessionDown>()->reason, SessionDown::Reason::peer_lost);
  EXPECT_EQ(a->sessions->pending().packets(), 1U);
  a->sessions->remove(b->addr(), out);
  EXPECT_TRUE(out.empty());
}

// ---- waiting packets ----

TEST(Sessions, TheWaitingRoomKeepsTheNewestSixteenAndTurnsAwayTheTwoHundredFiftySeventhDestination) {
  Net net;
  auto [a, b] = two(net);
  a->routed = false;
  for (std::uint32_t i = 0; i < 20; ++i) a->send_number(i, *b);
  EXPECT_EQ(a->drops(Drop::pending_overflow), 4U);
  a->routed = true;
  a->send_number(20, *b);
  net.run(1s);
  ASSERT_EQ(b->got.size(), 16U);
  EXPECT_EQ(b->got.front(), 5U);
  Outbox out;
  for (std::uint32_t i = 0; i < 300; ++i) {
    NodeAddr dest;
    store_le<std::uint32_t>(dest.bytes.data(), i + 1);
    a->note(a->sessions->queue_packet(net.now, dest, Buffer{1}, out));
  }
  EXPECT_EQ(a->sessions->pending().destinations(), 256U);
}

TEST(Sessions, PacketsThatWaitedTooLongAndThoseWithoutALookupComeBack) {
  Net net;
  auto [a, b] = two(net);
  a->routed = false;
  a->send_number(0, *b);
  net.run(20s);
  a->send_number(1, *b);
  net.run(10s);
  ASSERT_NE(a->last<Unreachable>(), nullptr);
  EXPECT_EQ(a->last<Unreachable>()->why, Unreachable::Why::waited_too_long);
  EXPECT_EQ(a->last<Unreachable>()->packets.size(), 1U);
  EXPECT_EQ(load_le<std::uint32_t>(a->last<Unreachable>()->packets[0].data()), 0U);
  a->sessions->lookup_failed(b->addr());
  Outbox out;
  a->apply(out);
  EXPECT_EQ(a->last<Unreachable>()->why, Unreachable::Why::lookup_failed);
  EXPECT_EQ(load_le<std::uint32_t>(a->last<Unreachable>()->packets[0].data()), 1U);
  EXPECT_EQ(a->sessions->pending().packets(), 0U);
}

TEST(Sessions, APacketForALiveSessionWithANextHopGoesStraightBackToTheWorkers) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(1s);
  Buffer packet;
  Writer{packet}.le<std::uint32_t>(1).raw(b->addr().view());
  Outbox out;
  a->routed = false;
  a->note(a->sessions->queue_packet(net.now, b->addr(), packet, out));
  EXPECT_TRUE(out.empty());
  a->routed = true;
  a->sessions->route_appeared(net.now, b->addr(), out);
  a->apply(out);
  net.run(1s);
  EXPECT_EQ(b->got, numbers(2));
}

// ---- coordinates and signals ----

Buffer signal(const wire::RouteError& e) {
  Buffer b;
  wire::encode_route_error(b, e);
  return b;
}

TEST(Sessions, SignalsForUnknownOrOwnDestinationsAreRefused) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(1s);
  NodeAddr reporter, stranger;
  reporter.bytes[0] = 9;
  stranger.bytes[0] = 8;
  const auto from = [&](const NodeAddr& src, const NodeAddr& dest) {
    a->receive({{}, 0, src, a->addr(), src, signal(wire::CoordsRequired{dest, reporter})});
  };
  from(reporter, stranger);
  EXPECT_EQ(a->drops(Drop::unbound_signal), 1U);
  from(reporter, a->addr());
  from(b->addr(), b->addr());
  EXPECT_EQ(a->drops(Drop::forged_signal), 2U);
  EXPECT_EQ(a->count<WantLookup>(), 0U);
  b->receive({{}, 0, reporter, b->addr(), reporter, Buffer{0x00, 0x04, 0x01, 0x00, 0x20}});
  EXPECT_EQ(b->drops(Drop::too_short), 1U);
}

TEST(Sessions, CoordsRequiredWarmsThePathAtMostEveryTwoSecondsAndAsksForALookup) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(1s);
  NodeAddr reporter;
  reporter.bytes[0] = 9;
  const Datagram d{{}, 0, reporter, a->addr(), reporter, signal(wire::CoordsRequired{b->addr(), reporter})};
  const auto before = a->warmups_sent;
  a->sending.at(b->addr()).stats->warmup.store(0);
  for (int i = 0; i < 100; ++i) a->receive(d);
  EXPECT_EQ(a->warmups_sent, before + 1);
  EXPECT_EQ(a->sessions->view(b->addr())->warmup_remaining, 5U);
  EXPECT_GE(a->count<WantLookup>(), 1U);
  EXPECT_EQ(a->count<DropCoords>(), 0U);
  net.run(2s);
  a->receive(d);
  EXPECT_EQ(a->warmups_sent, before + 2);
}

TEST(Sessions, PathBrokenDropsTheCoordinatesBeforeTheLookup) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(1s);
  a->events.clear();
  NodeAddr reporter;
  reporter.bytes[0] = 9;
  a->receive({{}, 0, reporter, a->addr(), reporter, signal(wire::PathBroken{b->addr(), reporter, {}})});
  ASSERT_EQ(a->events.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<DropCoords>(a->events[0]));
  EXPECT_TRUE(std::holds_alternative<WantLookup>(a->events[1]));
}

TEST(Sessions, MtuExceededIsPassedOnUnlessItIsBelowTheFloor) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(1s);
  NodeAddr reporter;
  reporter.bytes[0] = 9;
  a->receive({{}, 0, reporter, a->addr(), reporter, signal(wire::MtuExceeded{b->addr(), reporter, 255})});
  EXPECT_EQ(a->drops(Drop::mtu_below_floor), 1U);
  EXPECT_EQ(a->count<PathMtuReport>(), 0U);
  a->receive({{}, 0, reporter, a->addr(), reporter, signal(wire::MtuExceeded{b->addr(), reporter, 256})});
  ASSERT_EQ(a->count<PathMtuReport>(), 1U);
  EXPECT_EQ(a->last<PathMtuReport>()->mtu, 256);
  Outbox out;
  a->sessions->set_path_mtu(b->addr(), 1000, out);
  a->apply(out);
  EXPECT_EQ(a->sending.at(b->addr()).path_mtu, 1000);
  a->sessions->set_path_mtu(b->addr(), 1000, out);
  EXPECT_TRUE(out.empty());
}

TEST(Sessions, NewCoordinatesReachTheWorkersWhileTheyAreStillCarriedAndOnRequestLater) {
  Net net;
  auto [a, b] = two(net);
  a->coords[b->addr()] = {b->addr(), NodeAddr{}};
  a->send_number(0, *b);
  net.run(1s);
  EXPECT_EQ(*a->sending.at(b->addr()).dest_coords, a->coords[b->addr()]);
  NodeAddr root;
  root.bytes[0] = 1;
  a->path = {a->addr(), root};
  Outbox out;
  a->sessions->own_path_changed(out);
  a->apply(out);
  EXPECT_EQ(*a->sending.at(b->addr()).own_coords, a->path);
  a->sending.at(b->addr()).stats->warmup.store(0);
  a->coords[b->addr()] = {b->addr(), root};
  a->sessions->coords_changed(b->addr(), out);
  EXPECT_TRUE(out.empty());
  a->note(a->sessions->lookup_succeeded(net.now, b->addr(), b->id.key(), out));
  a->apply(out);
  EXPECT_EQ(*a->sending.at(b->addr()).dest_coords, a->coords[b->addr()]);
  EXPECT_EQ(a->sessions->view(b->addr())->warmup_remaining, 5U);
}

// ---- all at once ----

TEST(Sessions, AWireThatLosesRepeatsReordersAndSpoilsNeverEndsInSilence) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Net net;
    auto [a, b] = two(net, quick());
    SeededRng luck{seed};
    net.tamper = [&](Datagram& d) {
      if (luck.below(10) == 0)
        d.payload[luck.below(d.payload.size())] ^= static_cast<std::uint8_t>(1 + luck.below(255));
      if (luck.below(50) == 0) d.payload.resize(luck.below(d.payload.size()) + 1);
      return static_cast<int>(luck.below(3));
    };
    net.delay = [&](const Datagram&) { return Duration{1ms} * static_cast<int>(luck.below(400)); };
    Traffic t{net, *a, *b};
    for (int i = 0; i < 6; ++i) {
      t.run(30s, 100ms);
      if (luck.below(3) == 0) (luck.below(2) == 0 ? a : b)->restart();
    }
    net.tamper = [](Datagram&) { return 1; };
    t.run(80s, 100ms);
    const auto had_a = a->got.size(), had_b = b->got.size();
    const auto sent = t.n;
    t.run(5s, 100ms);
    net.run(1s);
    EXPECT_GE(a->got.size() - had_a, t.n - sent) << seed;
    EXPECT_GE(b->got.size() - had_b, t.n - sent) << seed;
    EXPECT_LE(a->halves[b->addr()].size(), 3U);
  }
}

TEST(Sessions, TheSameRunTwiceGivesTheSameBytes) {
  std::vector<Buffer> runs[2];
  for (auto& run : runs) {
    Net net;
    auto [a, b] = two(net, quick());
    net.tamper = [&](Datagram& d) { return run.push_back(d.payload), 1; };
    Traffic t{net, *a, *b};
    t.run(60s, 500ms);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace weft::session
