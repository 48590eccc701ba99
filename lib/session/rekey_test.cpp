// New keys under traffic, and peers that restart or misbehave meanwhile.
#include "session/rig_test.h"

namespace weft::session {
namespace {

using rig::Datagram;
using rig::Net;
using rig::quick;
using rig::Side;
using rig::Traffic;
using rig::two;
using wire::SessionKind;

// ---- rekey ----

class Rekey : public ::testing::TestWithParam<int> {};

TEST_P(Rekey, TenTimesAndMoreLosesNoPacket) {
  Net net;
  auto [a, b] = two(net, quick());
  if (GetParam() == 1) b->sessions.reset(), b->settings.rekey = false, b->restart();
  if (GetParam() == 2) a->sessions.reset(), a->settings.rekey = false, a->restart();
  a->send_number(0, *b);
  net.run(1s);
  b->got.clear();
  Traffic t{net, *a, *b};
  t.run(240s);
  t.expect_all();
  EXPECT_EQ(a->undecryptable + b->undecryptable, 0U);
  EXPECT_GE(a->count<RekeyDone>(), 10U);
  EXPECT_EQ(a->count<RekeyDone>(), b->count<RekeyDone>());
  EXPECT_LE(a->halves[b->addr()].size(), 2U);
  EXPECT_EQ(a->sessions->view(b->addr())->current_k_bit, b->sessions->view(a->addr())->current_k_bit);
}

TEST_P(Rekey, LosesNoPacketWhileHalfOfItsMessagesAreLost) {
  Net net;
  auto [a, b] = two(net, quick());
  if (GetParam() == 1) b->sessions.reset(), b->settings.rekey = false, b->restart();
  if (GetParam() == 2) a->sessions.reset(), a->settings.rekey = false, a->restart();
  a->send_number(0, *b);
  net.run(1s);
  b->got.clear();
  SeededRng luck{5};
  net.tamper = [&](Datagram& d) {
    const bool data = d.kind() == SessionKind::sealed && d.payload.size() > 50;
    const bool probe = d.kind() == SessionKind::sealed && (d.payload[1] & 1) != 0;
    if (data && !probe) return 1;
    return static_cast<int>(luck.below(2) * (1 + luck.below(2)));  // lost, once, or twice
  };
  net.delay = [&](const Datagram&) { return Duration{1ms} * static_cast<int>(luck.below(30)); };
  Traffic t{net, *a, *b};
  t.run(300s);
  net.tamper = [](Datagram&) { return 1; };
  t.expect_all();
  EXPECT_GE(a->count<RekeyDone>(), 5U);
}

INSTANTIATE_TEST_SUITE_P(FromBothFromSmallerFromLarger, Rekey, ::testing::Values(0, 1, 2));

TEST(Sessions, CrossedRekeysEndInOneEpochAndLoseNothing) {
  Net net;
  auto [a, b] = two(net, quick());
  a->send_number(0, *b);
  net.run(1s);
  b->got.clear();
  // A wire so slow that both ask before either hears.
  net.delay = [&](const Datagram& d) {
    return d.kind() == SessionKind::setup ? Duration{600ms} : Duration{5ms};
  };
  int crossed = 0;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::setup && d.src == a->addr()) {  // b asks at the same moment
      Outbox out;
      ++crossed;
      b->sessions->on_deadline(net.now, out);
      b->apply(out);
    }
    return 1;
  };
  Traffic t{net, *a, *b};
  t.run(200s);
  t.expect_all();
  EXPECT_GE(a->count<RekeyDone>(), 8U);
  EXPECT_EQ(a->count<RekeyDone>(), b->count<RekeyDone>());
}

TEST(Sessions, ARekeySetupIsResentAndGivenUpAfterThirtySecondsAndTriedAgain) {
  Net net;
  auto [a, b] = two(net, quick());
  a->send_number(0, *b);
  net.run(1s);
  b->got.clear();
  std::vector<Instant> setups;
  net.tamper = [&](Datagram& d) {
    if (d.kind() != SessionKind::setup) return 1;
    if (d.src == a->addr()) setups.push_back(net.now);
    return 0;
  };
  Traffic t{net, *a, *b};
  t.run(120s);
  ASSERT_GE(setups.size(), 7U);
  EXPECT_EQ(setups[1] - setups[0], 1s);
  EXPECT_EQ(setups[4] - setups[0], 15s);
  EXPECT_GE(setups[5] - setups[0], 60s);
  net.tamper = [](Datagram&) { return 1; };
  t.run(80s);
  EXPECT_GE(a->count<RekeyDone>(), 1U);
  t.expect_all();
}

TEST(Sessions, AWorkedOutKeyIsReplacedButNotBeforeThirtySeconds) {
  Settings s;
  s.rekey_after_messages = 1000;
  Net net;
  auto [a, b] = two(net, s);
  a->send_number(0, *b);
  net.run(1s);
  b->got.clear();
  const Instant up = a->sessions->view(b->addr())->epoch_start;
  Traffic t{net, *a, *b};
  t.run(27s, 5ms);
  EXPECT_EQ(a->count<RekeyDone>(), 0U);
  t.run(14s, 5ms);
  ASSERT_EQ(a->count<RekeyDone>(), 1U);
  EXPECT_GE(a->last<RekeyDone>()->epoch_start - up, 30s);
  t.expect_all();
}

TEST(Sessions, TheResponderChangesOverOnlyOnAProvenFrameAndTheInitiatorOnlyWhenItHearsOne) {
  Net net;
  auto [a, b] = two(net, quick());
  b->sessions.reset(), b->settings.rekey = false, b->restart();
  a->send_number(0, *b);
  net.run(1s);
  b->got.clear();
  // The probe never arrives for two tries; nothing may move, and nothing may be lost.
  int probes = 0;
  net.tamper = [&](Datagram& d) {
    const bool probe = d.kind() == SessionKind::sealed && (d.payload[1] & 1) != 0;
    return probe && ++probes <= 2 ? 0 : 1;
  };
  Traffic t{net, *a, *b};
  while (probes < 2) t.run(100ms);
  EXPECT_EQ(a->count<RekeyDone>() + b->count<RekeyDone>(), 0U);
  t.run(3s);
  EXPECT_EQ(a->count<RekeyDone>(), 1U);
  EXPECT_EQ(b->count<RekeyDone>(), 1U);
  t.expect_all();
}

TEST(Sessions, AnUnprovenRekeyIsDroppedWhileThePeerStillSpeaksUnderTheOldKeys) {
  Net net;
  auto [a, b] = two(net, quick());
  b->sessions.reset(), b->settings.rekey = false, b->restart();
  a->send_number(0, *b);
  net.run(1s);
  b->got.clear();
  net.tamper = [&](Datagram& d) { return d.kind() == SessionKind::msg3 ? 0 : 1; };
  Traffic t{net, *a, *b};
  t.run(60s);
  EXPECT_EQ(a->count<RekeyDone>(), 0U);
  EXPECT_EQ(b->got.size(), a->got.size());
  net.tamper = [](Datagram&) { return 1; };
  t.run(60s);
  EXPECT_GE(a->count<RekeyDone>(), 1U);
  t.expect_all();
}

TEST(Sessions, TheOldEpochGoesTenSecondsAfterItsLastFrame) {
  Net net;
  auto [a, b] = two(net, quick());
  b->sessions.reset(), b->settings.rekey = false, b->restart();
  a->send_number(0, *b);
  while (a->count<RekeyDone>() == 0) net.run(10ms);
  EXPECT_TRUE(a->sessions->view(b->addr())->is_draining);
  EXPECT_EQ(a->halves[b->addr()].size(), 2U);
  net.run(5s);
  a->halves[b->addr()][0].recv.stats->older_epoch_recv.set(net.now);
  net.run(9900ms);
  EXPECT_EQ(a->halves[b->addr()].size(), 2U);
  net.run(200ms);
  EXPECT_EQ(a->halves[b->addr()].size(), 1U);
  EXPECT_FALSE(a->sessions->view(b->addr())->is_draining);
}

TEST(Sessions, ForgedSetupsCannotHoldARekeyUpForLong) {
  Net net;
  auto [a, b] = two(net, quick());
  b->sessions.reset(), b->settings.rekey = false, b->restart();
  Side& mallory = net.add(3);
  a->send_number(0, *b);
  net.run(1s);
  Traffic t{net, *a, *b};
  const Instant start = net.now;
  while (a->count<RekeyDone>() == 0 && net.now < start + 200s) {
    Datagram setup;
    net.tamper = [&](Datagram& d) {
      if (d.src == mallory.addr()) return setup = d, 0;
      return d.dst == mallory.addr() ? 0 : 1;
    };
    mallory.restart();
    mallory.send_number(0, *a);
    setup.src = b->addr();
    a->receive(setup);
    t.run(5s);
  }
  EXPECT_EQ(a->count<RekeyDone>(), 1U);
}

// ---- the other side misbehaves, restarts, or is the reference ----

TEST(Sessions, ARestartedPeerThatSpeaksFirstIsHeardAtOnce) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(40s);
  b->restart();
  b->send_number(7, *a);
  net.run(1s);
  EXPECT_EQ(a->got, std::vector<std::uint32_t>{7});
  a->send_number(8, *b);
  net.run(1s);
  EXPECT_EQ(b->got.back(), 8U);
  EXPECT_EQ(a->count<RekeyDone>(), 1U);
  // K bits differ now and must not matter.
  EXPECT_NE(a->sessions->view(b->addr())->current_k_bit, b->sessions->view(a->addr())->current_k_bit);
  Traffic t{net, *a, *b};
  a->got.clear(), b->got.clear();
  t.run(300s, 50ms);
  t.expect_all();
  EXPECT_GE(a->count<RekeyDone>(), 3U);
}

TEST(Sessions, ARestartedPeerThatOnlyListensIsFoundOutByItsSilence) {
  for (const bool rekey : {true, false}) {
    Settings s;
    s.rekey = rekey;
    Net net;
    auto [a, b] = two(net, s);
    Traffic t{net, *a, *b};
    t.run(5s);
    b->restart();
    b->got.clear();
    std::uint32_t n = 0;
    net.run(60s, 100ms, [&] { a->send_number(n++, *b); });
    net.run(1s);
    ASSERT_FALSE(b->got.empty());
    EXPECT_LE(b->got.front(), 450U);
    EXPECT_EQ(b->got.back(), n - 1);
  }
}

TEST(Sessions, APeerThatReplacesItsSessionOnARekeyIsSurvived) {
  Net net;
  auto [a, b] = two(net, quick());
  b->sessions.reset(), b->settings.rekey = false, b->restart();
  a->send_number(0, *b);
  net.run(1s);
  a->got.clear(), b->got.clear();
  net.tamper = [&](Datagram& d) {  // v0.4 without rekey: the old session is gone when the setup arrives
    if (d.kind() == SessionKind::setup && b->sessions->established(a->addr())) {
      Outbox out;
      b->sessions->remove(a->addr(), out);
      b->apply(out);
    }
    return 1;
  };
  std::uint32_t n = 0;
  net.run(100s, 50ms, [&] {
    a->send_number(n, *b);
    if (b->sending.contains(a->addr())) b->send_number(n, *a);
    ++n;
  });
  net.run(1s);
  EXPECT_GE(a->count<RekeyDone>(), 4U);
  EXPECT_GE(b->got.size(), n - 100);  // what the peer threw away under the old keys, no more
  EXPECT_EQ(b->got.back(), n - 1);
  EXPECT_EQ(a->got.back(), n - 1);
}

}  // namespace
}  // namespace weft::session
