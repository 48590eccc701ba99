#include "session/rig_test.h"

namespace weft::session {
namespace {

using rig::Datagram;
using rig::Net;
using rig::numbers;
using rig::Side;
using rig::two;
using wire::SessionKind;

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

}  // namespace
}  // namespace weft::session
