#include <gtest/gtest.h>

#include "link/link_harness.h"

namespace weft::link {
namespace {

bool is_phase(const World::Flight& f, std::uint8_t phase) { return !f.frame && !f.handshake.empty() && f.handshake[0] == phase; }

struct Pair : World {
  World::Side& a;
  World::Side& b;
  explicit Pair(Settings s = {}) : a(add("a", 1, s)), b(add("b", 2, s)) {}
  bool linked() const { return a.peer_of(b) && b.peer_of(a); }
  /// Each side sends and the other receives, over whatever keys are current.
  bool talks() {
    const auto before_a = a.frames_in, before_b = b.frames_in;
    send_data(a, b);
    send_data(b, a);
    run(50ms);
    return a.frames_in > before_a && b.frames_in > before_b;
  }
  Side& smaller() { return a.self.addr() < b.self.addr() ? a : b; }
  Side& larger() { return a.self.addr() < b.self.addr() ? b : a; }
  static int ups(const Side& s) { return s.count<LinkUp>(); }
};

TEST(Links, ADialBecomesALinkOnBothSides) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(100ms);
  ASSERT_TRUE(p.linked());
  EXPECT_TRUE(p.talks());
  EXPECT_TRUE(p.a.peer_of(p.b)->initiator);
  EXPECT_FALSE(p.b.peer_of(p.a)->initiator);
}

TEST(Links, AnIndexNamesTheWorkerThatHoldsItsReceivingHalf) {
  Settings two_workers;
  two_workers.decrypt_workers = 2;
  Pair p(two_workers);
  p.dial(p.a, p.b);
  p.run(100ms);
  ASSERT_TRUE(p.linked());
  for (const Peer* peer : {p.a.peer_of(p.b), p.b.peer_of(p.a)})
    EXPECT_EQ(peer->home.value, (peer->current.ours.value & 0xffU) % 2U) << "the kernel steers frames by the index";
}

TEST(Links, EitherHandshakeMessageMayBeLostSeveralTimes) {
  for (const std::uint8_t phase : {std::uint8_t{1}, std::uint8_t{2}}) {
    Pair p;
    int lost = 0;
    p.lose = [&](const World::Flight& f) { return is_phase(f, phase) && lost++ < 3; };
    p.dial(p.a, p.b);
    p.run(20s);
    EXPECT_TRUE(p.linked()) << int(phase);
    EXPECT_TRUE(p.talks());
    EXPECT_EQ(p.b.links->candidates(), 0U) << "a resent message 1 is the same question";
  }
}

TEST(Links, ResendsAreTheSameBytes) {
  Pair p;
  p.lose = [](const World::Flight& f) { return is_phase(f, 1); };
  p.dial(p.a, p.b);
  p.run(29s);
  std::vector<Buffer> sent;
  for (const auto& f : p.recorded) sent.push_back(f.handshake);
  ASSERT_EQ(sent.size(), 5U) << "at 0, 1, 3, 7 and 15 s";
  for (const auto& s : sent) EXPECT_EQ(s, sent.front());
}

TEST(Links, AnAnswerAloneProvesNothing) {
  Pair p;
  p.dial(p.a, p.b);
  p.lose = [](const World::Flight& f) { return f.frame.has_value(); };
  p.run(5s);
  EXPECT_FALSE(p.b.peer_of(p.a)) << "message 1 may be a replay";
  EXPECT_EQ(p.b.links->candidates(), 1U);
  p.run(60s);
  EXPECT_EQ(p.b.links->candidates(), 0U) << "and is forgotten";
  EXPECT_TRUE(p.b.halves.empty());
}

TEST(Links, CrossedDialsEndAsOneLinkWithTheSmallerSidesHandshake) {
  for (int lost = 0; lost < 4; ++lost) {
    Pair p;
    int n = 0;
    p.lose = [&](const World::Flight& f) { return !f.frame && lost != 0 && n++ == lost; };
    p.dial(p.a, p.b);
    p.dial(p.b, p.a);
    p.run(20s, 200ms, [&] { p.send_data(p.a, p.b), p.send_data(p.b, p.a); });
    ASSERT_TRUE(p.linked()) << lost;
    EXPECT_TRUE(p.talks()) << lost;
    EXPECT_EQ(p.a.peer_of(p.b)->current.theirs, p.b.peer_of(p.a)->current.ours) << lost;
    EXPECT_EQ(p.b.peer_of(p.a)->current.theirs, p.a.peer_of(p.b)->current.ours) << lost;
    p.run(60s, 1s, [&] { p.send_data(p.a, p.b), p.send_data(p.b, p.a); });
    EXPECT_TRUE(p.linked() && p.talks()) << "still after every drain: " << lost;
    EXPECT_EQ(Pair::ups(p.a), 1) << lost;
  }
}

TEST(Links, SilenceOfThirtySecondsEndsALink) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(1s);
  p.lose = [](const World::Flight&) { return true; };
  p.run(29s);
  EXPECT_TRUE(p.linked());
  p.run(4s);
  EXPECT_FALSE(p.a.peer_of(p.b) || p.b.peer_of(p.a));
  EXPECT_TRUE(p.a.halves.empty() && p.a.sends.empty()) << "workers are told";
}

TEST(Links, HeartbeatsKeepAnIdleLink) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(25s);
  EXPECT_TRUE(p.linked());
  EXPECT_GE(p.a.frames_in, 3U);
}

TEST(Links, ADisconnectIsBelievedAtOnce) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(1s);
  Outbox out;
  EXPECT_TRUE(p.a.links->disconnect(p.now, p.b.self.addr(), wire::DisconnectReason::shutdown, End::operator_asked, out));
  p.carry(p.a, out);
  p.run(50ms);
  EXPECT_FALSE(p.a.peer_of(p.b));
}

TEST(Links, ARestartedPeerReplacesItsOldSelfWhenItProvesItself) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(5s);
  p.boot(p.b);
  p.dial(p.b, p.a);
  p.run(1s);
  ASSERT_TRUE(p.linked());
  EXPECT_TRUE(p.talks());
  EXPECT_EQ(p.a.count<LinkDown>(), 1);
  EXPECT_EQ(std::get<LinkDown>(*std::ranges::find_if(p.a.events, [](auto& e) { return std::holds_alternative<LinkDown>(e); })).why,
            End::restarted);
}

TEST(Links, ARedialAfterAOneSidedLossWorksAtAnyAge) {
  for (const auto age : {2s, 40s}) {
    Pair p;
    p.dial(p.a, p.b);
    p.run(age);
    Outbox out;  // b forgets, and its goodbye is lost
    p.lose = [](const World::Flight& f) { return f.frame.has_value(); };
    p.b.links->disconnect(p.now, p.a.self.addr(), wire::DisconnectReason::timeout, End::silent, out);
    p.carry(p.b, out);
    p.lose = [](const World::Flight&) { return false; };
    p.dial(p.b, p.a);
    p.run(2s);
    ASSERT_TRUE(p.linked()) << age.count();
    EXPECT_TRUE(p.talks()) << age.count();
  }
}

TEST(Links, AReplayedMessageOneDisturbsNobody) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(1s);
  const auto old = *std::ranges::find_if(p.recorded, [](const auto& f) { return is_phase(f, 1); });
  auto& b = p.b;
  p.run(45s, 1s, [&] { p.send_data(p.a, p.b), p.send_data(p.b, p.a); });
  const auto index = b.peer_of(p.a)->current.ours;
  for (int i = 0; i < 10; ++i) {
    Outbox out;
    b.links->on_handshake(p.now, {TransportId{1}, Endpoint::v4({10, 9, 9, 9}, 1), old.handshake}, out);
    p.carry(b, out);
    p.run(10s, 1s, [&] { p.send_data(p.a, p.b), p.send_data(p.b, p.a); });
    ASSERT_TRUE(p.linked() && p.talks());
  }
  EXPECT_EQ(b.peer_of(p.a)->to, p.a.at) << "and moves nobody";
  (void)index;
}

TEST(Links, AReplayOfAnEarlierLifeDoesNotRemoveTheLivePeer) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(1s);
  const auto old = *std::ranges::find_if(p.recorded, [](const auto& f) { return is_phase(f, 1); });
  p.boot(p.a);
  p.boot(p.b);
  p.dial(p.a, p.b);
  p.run(5s);
  Outbox out;
  p.b.links->on_handshake(p.now, {TransportId{1}, Endpoint::v4({10, 9, 9, 9}, 1), old.handshake}, out);
  p.carry(p.b, out);
  p.run(5s);
  EXPECT_TRUE(p.linked() && p.talks());
  EXPECT_EQ(p.b.count<LinkDown>(), 0);
}

struct RekeyCase {
  const char* name;
  std::function<bool(const World::Flight&)> lose;
};

Settings rekeys_often() {
  Settings s;
  s.rekey_after = 16s;
  return s;
}

TEST(Rekey, TenInARowLoseNoFrame) {
  Pair p(rekeys_often());
  p.dial(p.a, p.b);
  p.run(1s);
  const auto lost_before = p.a.unknown + p.b.unknown;
  p.run(420s, 50ms, [&] { p.send_data(p.a, p.b), p.send_data(p.b, p.a); });
  EXPECT_GE(p.a.peer_of(p.b)->rekeys + p.b.peer_of(p.a)->rekeys, 20U) << "each counts both sides' cutovers";
  EXPECT_EQ(p.a.unknown + p.b.unknown, lost_before);
  EXPECT_EQ(Pair::ups(p.a), 1);
}

TEST(Rekey, EveryLostMessageIsRepairedWithoutAnOutage) {
  int n = 0;
  const RekeyCase cases[] = {
      {"every first message 1", [&](const World::Flight& f) { return is_phase(f, 1) && n++ % 2 == 0; }},
      {"every first message 2", [&](const World::Flight& f) { return is_phase(f, 2) && n++ % 2 == 0; }},
      {"four message 2 of five", [&](const World::Flight& f) { return is_phase(f, 2) && n++ % 5 != 4; }},
      {"all message 2", [&](const World::Flight& f) { return is_phase(f, 2); }},
      {"a third of all frames", [&](const World::Flight&) { return n++ % 3 == 0; }},
  };
  for (const auto& c : cases) {
    Pair p(rekeys_often());
    p.dial(p.a, p.b);
    p.run(1s);
    n = 0;
    p.lose = c.lose;
    Instant last_a = p.now.mono, last_b = p.now.mono;
    Duration gap{};
    auto in_a = p.a.frames_in, in_b = p.b.frames_in;
    p.run(300s, 50ms, [&] {
      p.send_data(p.a, p.b), p.send_data(p.b, p.a);
      if (p.a.frames_in != in_a) last_a = p.now.mono, in_a = p.a.frames_in;
      if (p.b.frames_in != in_b) last_b = p.now.mono, in_b = p.b.frames_in;
      gap = std::max({gap, p.now.mono - last_a, p.now.mono - last_b});
    });
    EXPECT_TRUE(p.linked()) << c.name;
    EXPECT_LT(to_ms(gap), 1000) << c.name;
    EXPECT_EQ(Pair::ups(p.a), 1) << c.name;
  }
}

TEST(Rekey, BothAtOnceLeaveOneSetOfKeys) {
  Pair p(rekeys_often());
  p.dial(p.a, p.b);
  p.run(35s);
  p.run(300s, 20ms, [&] { p.send_data(p.a, p.b), p.send_data(p.b, p.a); });
  EXPECT_TRUE(p.talks());
  EXPECT_EQ(p.a.peer_of(p.b)->current.theirs, p.b.peer_of(p.a)->current.ours);
}

TEST(Rekey, KIsTheOppositeOfWhatThePeerLastSent) {
  Pair p(rekeys_often());
  p.dial(p.a, p.b);
  p.run(1s);
  bool k = false;
  std::uint32_t seen = 0;
  p.run(200s, 100ms, [&] {
    p.send_data(p.a, p.b), p.send_data(p.b, p.a);
    const Peer* x = p.a.peer_of(p.b);
    if (x && x->rekeys > seen) {
      seen = x->rekeys;
      EXPECT_NE(x->k, k);
      k = x->k;
    }
  });
  EXPECT_GE(seen, 3U);
}

TEST(Roaming, TheLinkFollowsItsPeer) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(1s);
  p.a.at = Endpoint::v4({10, 7, 7, 7}, 999);
  p.send_data(p.a, p.b);
  p.run(100ms);
  EXPECT_EQ(p.b.peer_of(p.a)->to, p.a.at);
  EXPECT_TRUE(p.talks());
}

TEST(Roaming, ANetworkChangeAsksForLifeAndDialsAnewInSilence) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(5s);
  p.boot(p.b);  // forgot everything; a does not know
  Outbox out;
  p.a.links->on_network_change(p.now, out);
  p.carry(p.a, out);
  p.run(3s);
  EXPECT_TRUE(p.linked() && p.talks());
}

TEST(Admission, RefusalsAreNamedAndAnswerNothing) {
  Pair p;
  const auto refused = [&](Drop why) { return p.b.drops.get(why); };
  p.b.acl_rule = "peers.deny line 3 (ALL)";
  p.dial(p.a, p.b);
  p.run(1500ms);
  EXPECT_GE(refused(Drop::acl_denied), 1U);
  EXPECT_EQ(p.b.links->refusals().back().rule, "peers.deny line 3 (ALL)");
  EXPECT_EQ(*p.b.links->refusals().back().who, p.a.self.key());
  EXPECT_FALSE(p.linked());
  EXPECT_TRUE(std::ranges::none_of(p.recorded, [](const auto& f) { return is_phase(f, 2); }));
  p.b.acl_rule.reset();
  p.run(30s);
  EXPECT_TRUE(p.linked()) << "the same dial goes on";
}

TEST(Admission, MaxPeersHoldsButNotAgainstOwnDials) {
  Settings one;
  one.max_peers = 1;
  World w;
  auto& hub = w.add("hub", 1, one);
  auto& x = w.add("x", 2);
  auto& y = w.add("y", 3);
  w.dial(x, hub);
  w.run(1s);
  w.dial(y, hub);
  w.run(1s);
  EXPECT_EQ(hub.links->peers().size(), 1U);
  EXPECT_EQ(hub.drops.get(Drop::max_peers), 1U);
}

TEST(Admission, AFloodOfStrangersLeavesNothingBehind) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(1s);
  SeededRng rng(99);
  for (int i = 0; i < 20000; ++i) {
    Buffer junk(114);
    rng.fill(junk);
    junk[0] = 1, junk[1] = 0, junk[2] = 110, junk[3] = 0;
    Outbox out;
    p.b.links->on_handshake(p.now, {TransportId{1}, Endpoint::v4({10, 3, std::uint8_t(i >> 8), std::uint8_t(i)}, 5), junk}, out);
    ASSERT_TRUE(out.empty()) << "never an answer";
  }
  EXPECT_GE(p.b.drops.get(Drop::handshake_rate), 19000U);
  EXPECT_LE(p.b.links->candidates(), 1U);
  EXPECT_LE(p.b.links->refusals().size(), 64U);
  EXPECT_TRUE(p.linked() && p.talks());
}

TEST(Admission, HandshakesFromOurOwnKeyAreRefused) {
  Pair p;
  Buffer frame;
  const auto ik = crypto::IkInitiator::start(p.a.self, p.b.self.key(), StartupEpoch{}, p.a.rng);
  ASSERT_TRUE(ik);
  Outbox out;
  EXPECT_FALSE(p.a.links->dial(p.now, p.a.self.key(), TransportId{1}, p.a.at, out));
  EXPECT_TRUE(out.empty());
}

TEST(Handshake, AForgedAnswerDoesNotEndTheDial) {
  Pair p;
  p.lose = [](const World::Flight& f) { return is_phase(f, 2); };
  p.dial(p.a, p.b);
  p.run(500ms);
  const auto real = *std::ranges::find_if(p.recorded, [](const auto& f) { return is_phase(f, 2); });
  Buffer forged = real.handshake;
  forged.back() ^= 1;
  Outbox out;
  p.a.links->on_handshake(p.now, {TransportId{1}, p.b.at, forged}, out);
  EXPECT_EQ(p.a.drops.get(Drop::bad_handshake), 1U);
  EXPECT_FALSE(p.a.peer_of(p.b));
  p.a.links->on_handshake(p.now, {TransportId{1}, p.b.at, real.handshake}, out);
  p.carry(p.a, out);
  p.lose = [](const World::Flight&) { return false; };
  p.run(100ms);
  EXPECT_TRUE(p.linked());
}

TEST(Handshake, WrongSizesAndFlagsAreRefused) {
  Pair p;
  for (Buffer bad : {Buffer{}, Buffer{1}, Buffer(113, 1), Buffer(115, 1), Buffer(69, 2), Buffer(68, 2), Buffer(40, 0)}) {
    if (bad.size() >= 4) bad[1] = 0, bad[2] = static_cast<std::uint8_t>(bad.size() - 4), bad[3] = 0;
    Outbox out;
    p.b.links->on_handshake(p.now, {TransportId{1}, p.a.at, bad}, out);
    EXPECT_TRUE(out.empty());
  }
  EXPECT_EQ(p.b.links->candidates(), 0U);
}

TEST(Drain, SaysGoodbyeAndTakesNobody) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(1s);
  Outbox out;
  p.b.links->drain(p.now, out);
  p.carry(p.b, out);
  p.run(100ms);
  EXPECT_FALSE(p.a.peer_of(p.b) || p.b.peer_of(p.a));
  p.dial(p.a, p.b);
  p.run(1s);
  EXPECT_FALSE(p.linked());
  EXPECT_GE(p.b.drops.get(Drop::draining), 1U);
}

// ---- weft or not ------------------------------------------------------------------------------------------------------

int hellos(const World& w, const std::string& from) {
  return static_cast<int>(std::ranges::count_if(w.recorded, [&](const World::Flight& f) {
    return f.from == from && !f.message.empty() && f.message[0] == 0xe0;
  }));
}

TEST(Hello, TwoWeftNodesKnowEachOtherAfterOneQuestionAndOneAnswer) {
  Settings mine;
  mine.features = wire::kWideWindow;
  Pair p;
  p.boot(p.b, mine);
  p.dial(p.a, p.b);
  p.run(500ms);
  ASSERT_TRUE(p.linked());
  EXPECT_EQ(p.a.peer_of(p.b)->features, wire::kWideWindow);
  EXPECT_EQ(p.b.peer_of(p.a)->features, wire::kWideWindow | wire::kMtuProbes);
  EXPECT_TRUE(p.a.sends.at(p.a.peer_of(p.b)->link).same_kind);
  EXPECT_TRUE(p.b.sends.at(p.b.peer_of(p.a)->link).same_kind);
  EXPECT_EQ(p.a.count<LinkFeatures>(), 1);
  p.run(60s);
  EXPECT_EQ(hellos(p, "a"), 1);
  EXPECT_EQ(hellos(p, "b"), 1);
}

TEST(Hello, SurvivesTheLossOfQuestionsAndAnswers) {
  Pair p;
  int lost = 0;
  p.lose = [&](const World::Flight& f) { return !f.message.empty() && f.message[0] == 0xe0 && lost++ < 3; };
  p.dial(p.a, p.b);
  p.run(20s);
  EXPECT_TRUE(p.a.peer_of(p.b)->features);
  EXPECT_TRUE(p.b.peer_of(p.a)->features);
}

TEST(Hello, APeerThatDoesNotAnswerIsAskedAFewTimesAndNeverTakenForWeft) {
  Pair p;
  p.b.speaks_weft = false;
  p.dial(p.a, p.b);
  p.run(400s);  // over several rekeys
  ASSERT_TRUE(p.linked());
  EXPECT_GT(p.a.peer_of(p.b)->rekeys, 0U);
  EXPECT_EQ(hellos(p, "a"), 4);
  EXPECT_FALSE(p.a.peer_of(p.b)->features);
  EXPECT_FALSE(p.a.sends.at(p.a.peer_of(p.b)->link).same_kind);
}

TEST(Hello, FeaturesOutliveRekeysAndAreAskedForAnewAfterARestart) {
  Pair p;
  p.dial(p.a, p.b);
  p.run(300s);
  ASSERT_GT(p.a.peer_of(p.b)->rekeys, 0U);
  EXPECT_TRUE(p.a.sends.at(p.a.peer_of(p.b)->link).same_kind);
  p.boot(p.b);
  p.b.speaks_weft = false;  // another program has its key now
  p.dial(p.b, p.a);
  p.run(60s);
  ASSERT_TRUE(p.linked());
  EXPECT_EQ(p.a.count<LinkUp>(), 2);
  EXPECT_FALSE(p.a.sends.at(p.a.peer_of(p.b)->link).same_kind);
}

}  // namespace
}  // namespace weft::link
