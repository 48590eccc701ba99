#include "session/rig_test.h"

namespace weft::session {
namespace {

using rig::Datagram;
using rig::Net;
using rig::Side;
using wire::SessionKind;

/// The smaller address first: the one that stays initiator when both ask.
std::pair<Side*, Side*> two(Net& net, const Settings& s = {}) {
  Side* a = &net.add(1, s);
  Side* b = &net.add(2, s);
  if (b->addr() < a->addr()) std::swap(a, b);
  return {a, b};
}

std::vector<std::uint32_t> numbers(std::uint32_t n) {
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

TEST(Sessions, PacketsThatWaitedArriveInOrderOnceBothSidesHaveKeys) {
  Net net;
  auto [a, b] = two(net);
  for (std::uint32_t i = 0; i < 5; ++i) a->send_number(i, *b);
  net.run(1s);
  EXPECT_EQ(b->got, numbers(5));
  EXPECT_TRUE(a->sessions->established(b->addr()) && b->sessions->established(a->addr()));
  EXPECT_EQ(a->sessions->pending().packets(), 0U);
  EXPECT_EQ(a->count<SessionUp>() + b->count<SessionUp>(), 2U);
  ASSERT_NE(b->last<KeyLearned>(), nullptr);
  EXPECT_EQ(b->last<KeyLearned>()->key, a->id.key());
  EXPECT_EQ(a->undecryptable + b->undecryptable, 0U);
  const auto va = a->sessions->view(b->addr()), vb = b->sessions->view(a->addr());
  EXPECT_TRUE(va->is_initiator);
  EXPECT_FALSE(vb->is_initiator);
  EXPECT_EQ(vb->key, a->id.key());
  EXPECT_EQ(va->warmup_remaining, 5U);
  EXPECT_EQ(va->state, State::established);
}

TEST(Sessions, DataFollowsTheThirdMessageAfterAMomentAndNotBefore) {
  Net net;
  auto [a, b] = two(net);
  Instant msg3, data;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::msg3) msg3 = net.now;
    if (d.kind() == SessionKind::sealed && d.src == a->addr()) data = net.now;
    return 1;
  };
  a->send_number(0, *b);
  net.run(1s);
  EXPECT_EQ(data - msg3, kSettle);
}

// ---- loss, phase by phase ----

struct LossCase {
  SessionKind kind;
  int copies;
};
class Loss : public ::testing::TestWithParam<LossCase> {};

TEST_P(Loss, OfAnyHandshakeMessageIsRepaired) {
  Net net;
  auto [a, b] = two(net);
  int left = GetParam().copies;
  net.tamper = [&](Datagram& d) { return d.kind() == GetParam().kind && left-- > 0 ? 0 : 1; };
  a->send_number(0, *b);
  net.run(29s);
  a->send_number(1, *b);
  net.run(500ms);
  ASSERT_FALSE(b->got.empty());
  EXPECT_EQ(b->got.back(), 1U);
  EXPECT_TRUE(b->sessions->established(a->addr()));
}

INSTANTIATE_TEST_SUITE_P(Phases, Loss,
                         ::testing::Values(LossCase{SessionKind::setup, 1}, LossCase{SessionKind::setup, 4},
                                           LossCase{SessionKind::ack, 1}, LossCase{SessionKind::ack, 4},
                                           LossCase{SessionKind::msg3, 1}, LossCase{SessionKind::msg3, 4}));

TEST(Sessions, SetupsGoAtOneThreeSevenFifteenSecondsAndTheQueueComesBackAtThirty) {
  Net net;
  auto [a, b] = two(net);
  std::vector<std::int64_t> sent;
  const Instant start = net.now;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::setup) sent.push_back(to_ms(net.now - start));
    return 0;
  };
  net.run(Duration{});
  a->send_number(0, *b);
  net.run(29'999ms);
  EXPECT_EQ(sent, (std::vector<std::int64_t>{0, 1000, 3000, 7000, 15000}));
  EXPECT_EQ(a->count<Unreachable>(), 0U);
  EXPECT_EQ(a->sessions->view(b->addr())->resend_count, 4U);
  net.run(1ms);
  ASSERT_EQ(a->count<Unreachable>(), 1U);
  EXPECT_EQ(a->last<Unreachable>()->why, Unreachable::Why::handshake_timeout);
  EXPECT_EQ(a->last<Unreachable>()->packets.size(), 1U);
  EXPECT_EQ(a->sessions->size(), 0U);
  EXPECT_FALSE(a->sessions->deadline());
}

TEST(Sessions, HalfOpenAnswersAreForgottenAfterThirtySeconds) {
  Net net;
  auto [a, b] = two(net);
  net.tamper = [&](Datagram& d) { return d.kind() == SessionKind::setup ? 1 : 0; };
  a->send_number(0, *b);
  net.run(1s);
  EXPECT_EQ(b->sessions->view(a->addr())->state, State::awaiting_msg3);
  EXPECT_EQ(b->sessions->half_open(), 1U);
  net.run(60s);
  EXPECT_EQ(b->sessions->size(), 0U);
  EXPECT_EQ(b->sessions->half_open(), 0U);
  EXPECT_FALSE(b->sessions->deadline());
}

TEST(Sessions, ARepeatedSetupGetsTheVerySameAnswer) {
  Net net;
  auto [a, b] = two(net);
  std::vector<Buffer> acks;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::ack) return acks.push_back(d.payload), 0;
    return d.kind() == SessionKind::setup ? 2 : 1;
  };
  a->send_number(0, *b);
  net.run(500ms);
  ASSERT_EQ(acks.size(), 2U);
  EXPECT_EQ(acks[0], acks[1]);
  EXPECT_EQ(b->sessions->half_open(), 1U);
}

TEST(Sessions, ALateCopyOfTheFirstSetupArmsNothing) {
  Net net;
  auto [a, b] = two(net);
  Datagram setup;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::setup) setup = d;
    return 1;
  };
  a->send_number(0, *b);
  net.run(1s);
  b->receive(setup);
  EXPECT_EQ(b->drops(Drop::duplicate_handshake), 1U);
  EXPECT_FALSE(b->sessions->view(a->addr())->rekey_in_progress);
}

TEST(Sessions, CrossedSetupsEndWithTheSmallerAddressAsInitiator) {
  for (const bool smaller_first : {true, false}) {
    Net net;
    auto [a, b] = two(net);
    if (smaller_first) a->send_number(1, *b);
    b->send_number(2, *a);
    if (!smaller_first) a->send_number(1, *b);
    net.run(1s);
    EXPECT_EQ(a->got, std::vector<std::uint32_t>{2});
    EXPECT_EQ(b->got, std::vector<std::uint32_t>{1});
    EXPECT_TRUE(a->sessions->view(b->addr())->is_initiator);
    EXPECT_FALSE(b->sessions->view(a->addr())->is_initiator);
    EXPECT_EQ(a->drops(Drop::rekey_tiebreak), 1U);
    net.run(40s);
    EXPECT_FALSE(a->sessions->view(b->addr())->rekey_in_progress);
    EXPECT_FALSE(b->sessions->view(a->addr())->rekey_in_progress);
  }
}

TEST(Sessions, AskingBackRightAfterBeingAskedDoesNotCross) {
  Net net;
  auto [a, b] = two(net);
  int setups = 0;
  net.tamper = [&, b = b](Datagram& d) {
    setups += d.kind() == SessionKind::setup ? 1 : 0;
    return 1;
  };
  a->send_number(1, *b);
  net.run(6ms);
  b->send_number(2, *a);
  net.run(1s);
  EXPECT_EQ(setups, 1);
  EXPECT_EQ(a->got, std::vector<std::uint32_t>{2});
}

TEST(Sessions, WithoutANextHopNothingIsKept) {
  Net net;
  auto [a, b] = two(net);
  a->routed = false;
  a->send_number(0, *b);
  EXPECT_EQ(a->drops(Drop::no_route), 1U);
  EXPECT_EQ(a->sessions->size(), 0U);
  EXPECT_EQ(a->sessions->pending().packets(), 1U);
  a->routed = true;
  Outbox out;
  a->note(a->sessions->lookup_succeeded(net.now, b->addr(), b->id.key(), out));
  a->apply(out);
  net.run(1s);
  EXPECT_EQ(b->got, numbers(1));
}

// ---- forgeries ----

TEST(Sessions, ForgedAnswersAndThirdMessagesLeaveTheHandshakeAlive) {
  Net net;
  auto [a, b] = two(net);
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::ack || d.kind() == SessionKind::msg3) {
      Datagram forged = d;
      forged.payload.back() ^= 1;
      (d.kind() == SessionKind::ack ? a : b)->receive(forged);
    }
    return 1;
  };
  a->send_number(0, *b);
  net.run(500ms);
  EXPECT_EQ(b->got, numbers(1));
  EXPECT_EQ(a->drops(Drop::ack_failed), 1U);
  EXPECT_EQ(b->drops(Drop::msg3_failed), 1U);
}

TEST(Sessions, AForgedSetupDoesNotStopTheHandshakeOfTheRealNode) {
  for (const bool victim_is_asking : {false, true}) {
    Net net;
    auto [a, b] = two(net);
    Side& mallory = net.add(3);
    // Mallory asks b under a's address, before and while a does.
    const auto forge = [&] {
      net.run(1ms);
      Datagram setup;
      const auto keep = net.tamper;
      net.tamper = [&](Datagram& d) { return setup = d, 0; };
      mallory.restart();
      mallory.send_number(0, *b);
      mallory.restart();
      net.tamper = keep;
      setup.src = a->addr();
      setup.via = mallory.addr();
      b->receive(setup);
    };
    if (victim_is_asking) b->send_number(9, *a);
    forge();
    a->send_number(0, *b);
    forge();
    net.run(3s);
    EXPECT_EQ(b->got, numbers(1));
    if (victim_is_asking) {
      EXPECT_EQ(a->got, std::vector<std::uint32_t>{9});
    }
  }
}

TEST(Sessions, AFloodOfForgedAnswersCostsABoundedNumberOfCurveOperations) {
  Net net;
  auto [a, b] = two(net);
  net.tamper = [&](Datagram& d) {
    if (d.kind() != SessionKind::ack) return 1;
    Datagram forged = d;
    forged.payload.back() ^= 1;
    for (int i = 0; i < 300; ++i) a->receive(forged);
    return 1;
  };
  a->send_number(0, *b);
  net.run(3s);
  EXPECT_EQ(a->drops(Drop::ack_failed), static_cast<std::size_t>(kAckBurst));
  EXPECT_EQ(a->drops(Drop::setup_rate), 44U);
  EXPECT_EQ(b->got, numbers(1));  // tokens come back faster than answers
}

TEST(Sessions, ARepeatedThirdMessageIsAnsweredUnderTheNewKeysAtTheirPace) {
  Net net;
  auto [a, b] = two(net);
  Datagram msg3;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::msg3) msg3 = d;
    return 1;
  };
  a->send_number(0, *b);
  net.run(1s);
  const auto before = b->warmups_sent;
  for (int i = 0; i < 10; ++i) b->receive(msg3);
  EXPECT_EQ(b->warmups_sent, before + 1);
  EXPECT_EQ(b->drops(Drop::duplicate_handshake), 9U);
}

TEST(Sessions, AThirdMessageMustCarryTheKeyOfItsAddress) {
  Net net;
  auto [a, b] = two(net);
  Side& mallory = net.add(3);
  net.tamper = [&](Datagram& d) {
    if (d.src == mallory.addr()) d.src = a->addr();
    if (d.src == b->addr() && d.kind() == SessionKind::ack) {  // mallory sits on the path to a
      d.dst = mallory.addr();
    }
    return 1;
  };
  mallory.send_number(0, *b);
  net.run(1s);
  EXPECT_EQ(b->drops(Drop::key_mismatch), 1U);
  EXPECT_FALSE(b->sessions->established(a->addr()));
  EXPECT_EQ(b->sessions->half_open(), 0U);
  EXPECT_EQ(b->count<KeyLearned>(), 0U);
}

TEST(Sessions, ARekeyWithAnotherKeyLeavesTheSessionAsItIs) {
  Net net;
  auto [a, b] = two(net);
  a->send_number(0, *b);
  net.run(1s);
  const auto keys = b->halves[a->addr()].size();
  Side& mallory = net.add(3);
  net.tamper = [&](Datagram& d) {
    if (d.src == mallory.addr()) d.src = a->addr();
    if (d.src == b->addr() && d.kind() == SessionKind::ack) d.dst = mallory.addr();
    return 1;
  };
  mallory.send_number(0, *b);
  net.run(1s);
  EXPECT_EQ(b->drops(Drop::key_mismatch), 1U);
  EXPECT_EQ(b->halves[a->addr()].size(), keys);
  net.tamper = [](Datagram&) { return 1; };
  a->send_number(1, *b);
  net.run(1s);
  EXPECT_EQ(b->got, numbers(2));
}

TEST(Sessions, MessagesWithoutMatchingStateAreRefusedByName) {
  Net net;
  auto [a, b] = two(net);
  std::vector<Datagram> seen;
  net.tamper = [&](Datagram& d) { return seen.push_back(d), 1; };
  a->send_number(0, *b);
  net.run(100ms);
  Side& c = net.add(4);
  for (const auto& d : seen)
    if (d.kind() == SessionKind::ack || d.kind() == SessionKind::msg3) c.receive(d);
  EXPECT_EQ(c.drops(Drop::unknown_session), 2U);
  EXPECT_EQ(c.sessions->size(), 0U);
  for (const auto& d : seen) {
    if (d.kind() == SessionKind::msg3) a->receive({d.at, 0, b->addr(), a->addr(), b->addr(), d.payload});
    if (d.kind() == SessionKind::ack) b->receive({d.at, 0, a->addr(), b->addr(), a->addr(), d.payload});
  }
  EXPECT_EQ(a->drops(Drop::bad_state), 1U);
  EXPECT_EQ(b->drops(Drop::bad_state), 1U);
  EXPECT_TRUE(a->sessions->established(b->addr()));
}

TEST(Sessions, ASetupUnderOurOwnAddressIsDropped) {
  Net net;
  auto [a, b] = two(net);
  net.tamper = [&](Datagram& d) {
    d.src = d.dst;
    return 1;
  };
  a->send_number(0, *b);
  net.run(10ms);
  EXPECT_EQ(b->drops(Drop::own_source), 1U);
  EXPECT_EQ(b->sessions->size(), 0U);
  Outbox out;
  EXPECT_EQ(b->sessions->open(net.now, b->addr(), b->id.key(), out).error(), Drop::own_source);
}

TEST(Sessions, ASetupFloodIsBoundedByLinkPeerAndByTable) {
  Net net;
  auto [a, b] = two(net);
  Datagram setup;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::setup && d.dst == b->addr()) setup = d;
    return 0;
  };
  a->send_number(0, *b);
  const auto flood = [&](std::uint8_t via, int n, std::uint32_t tag) {
    for (int i = 0; i < n; ++i) {
      setup.src.bytes[0] = via;
      store_le<std::uint32_t>(setup.src.bytes.data() + 4, tag + static_cast<std::uint32_t>(i));
      setup.via = NodeAddr{};
      setup.via.bytes[0] = via;
      b->receive(setup);
    }
  };
  flood(1, 1000, 0);
  EXPECT_EQ(b->sessions->half_open(), 64U);
  EXPECT_EQ(b->drops(Drop::setup_rate), 936U);
  for (std::uint32_t s = 1; s <= 20; ++s) {
    net.run(1s);
    for (std::uint8_t via = 1; via <= 8; ++via) flood(via, 100, s * 1000);
    EXPECT_LE(b->sessions->half_open(), kMaxHalfOpen);
    EXPECT_EQ(b->sessions->half_open(), b->sessions->size());
  }
  EXPECT_GE(b->sessions->half_open(), kMaxHalfOpen);
  // A stranger over a link without a flood: no place in the full table, but one frees up by time.
  net.run(31s);
  EXPECT_EQ(b->sessions->half_open(), 0U);
}

TEST(Sessions, OneLinkPeersFloodPushesOutItsOwnOldestOnly) {
  Settings s;
  s.stranger_burst = 2000;
  Net net;
  auto [a, b] = two(net, s);
  Datagram setup;
  net.tamper = [&](Datagram& d) {
    if (d.kind() == SessionKind::setup) setup = d;
    return 0;
  };
  a->send_number(0, *b);
  b->receive(setup);  // by way of a's own link
  Datagram forged = setup;
  forged.via = NodeAddr{};
  for (std::uint32_t i = 0; i < 1500; ++i) {
    store_le<std::uint32_t>(forged.src.bytes.data(), i);
    b->receive(forged);
  }
  EXPECT_LE(b->sessions->half_open(), kMaxHalfOpenPerVia + 1);
  EXPECT_TRUE(b->sessions->view(a->addr()));
}

// ---- rekey ----

/// Numbers flow both ways all the time; every one must arrive, whatever happens to the handshakes.
struct Traffic {
  Net& net;
  Side& a;
  Side& b;
  std::uint32_t n = 0;

  void run(Duration span, Duration every = 10ms) {
    net.run(span, every, [this] {
      a.send_number(n, b);
      b.send_number(n, a);
      ++n;
    });
  }
  void expect_all() {
    net.run(5s);
    EXPECT_EQ(a.got.size(), n);
    EXPECT_EQ(b.got.size(), n);
  }
};

Settings quick() {
  Settings s;
  s.rekey_after = 16s;
  return s;
}

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
