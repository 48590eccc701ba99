#include "pmtu/search.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/rng.h"

namespace weft::pmtu {
namespace {

/// A path that carries `mtu` bytes whole, answers in `rtt` and loses frames by lot; notices and answers are small.
struct Rig {
  explicit Rig(std::uint16_t base = 1280, std::uint16_t most = kMost) : search(base, most) {}

  bool lost() { return loss > 0 && static_cast<double>(rng.u32() % 1'000'000) < loss * 1e6; }
  void run(Duration span, std::uint64_t bytes_per_second = 0) {
    const Instant end = now + span;
    for (;;) {
      Instant next = end;
      if (!answers.empty()) next = std::min(next, answers.front().at);
      if (const auto due = search.deadline()) next = std::min(next, std::max(*due, now));
      sent_bytes += static_cast<double>(bytes_per_second) * std::chrono::duration<double>(next - now).count();
      now = next;
      while (!answers.empty() && answers.front().at <= now) {
        const auto a = answers.front();
        answers.pop_front();
        note(search.on_ack(now, a.id, a.arrived));
      }
      if (now >= end) return;
      if (const auto round = search.on_deadline(now, static_cast<std::uint64_t>(sent_bytes))) {
        if (round->size > largest) largest = round->size;
        ++asked;
        const bool probe = round->size <= mtu && !lost();
        const bool notice = !mute && !lost() && !lost();
        if (notice) answers.push_back({now + rtt, round->id, probe ? round->size : std::uint16_t{0}});
      }
    }
  }
  void note(Search::Effect e) {
    raised += e == Search::Effect::raised;
    lowered += e == Search::Effect::lowered;
    unknown += e == Search::Effect::unknown;
  }

  struct Answer {
    Instant at;
    std::uint32_t id;
    std::uint16_t arrived;
  };
  Search search;
  SeededRng rng{7};
  Instant now = Instant{} + 1000s;
  std::deque<Answer> answers;
  std::uint16_t mtu = 1472;
  Duration rtt = 10ms;
  double loss = 0;
  bool mute = false;
  double sent_bytes = 0;
  std::uint16_t largest = 0;
  int asked = 0, raised = 0, lowered = 0, unknown = 0;
};

TEST(Search, SaysNothingBeforeTheFarSideAnswers) {
  Rig r;
  r.run(1000s);
  EXPECT_EQ(r.asked, 0);
  EXPECT_EQ(r.search.mtu(), 1280);
  EXPECT_EQ(r.search.state(), State::off);
  r.search.restart(r.now);
  EXPECT_FALSE(r.search.deadline());
}

TEST(Search, FindsWhatNetworksCarryExactlyAndSoon) {
  for (const int size : {1280, 1352, 1392, 1400, 1452, 1472, 1492, 8952, 8972, 9188, 16384, 65507}) {
    const auto mtu = static_cast<std::uint16_t>(size);
    Rig r;
    r.mtu = mtu;
    r.search.start(r.now);
    r.run(3s);
    EXPECT_EQ(r.search.mtu(), mtu);
    EXPECT_EQ(r.search.state(), State::settled) << mtu;
    EXPECT_LE(r.asked, 60) << mtu;
  }
}

TEST(Search, FindsOddSizesToWithinLessThanHalfAPercent) {
  for (std::uint16_t mtu = 1281; mtu < 30000; mtu = static_cast<std::uint16_t>(mtu + 97)) {
    Rig r;
    r.mtu = mtu;
    r.search.start(r.now);
    r.run(6s);
    EXPECT_LE(r.search.mtu(), mtu);
    EXPECT_GE(r.search.mtu() + r.search.mtu() / 256 + 1, mtu);
    EXPECT_EQ(r.search.state(), State::settled) << mtu;
  }
}

TEST(Search, NeverTriesMoreThanItMayNorLessThanItsBase) {
  Rig r(1400, 8000);
  r.mtu = 65507;
  r.search.start(r.now);
  r.run(5s);
  EXPECT_EQ(r.largest, 8000);
  EXPECT_EQ(r.search.mtu(), 8000);
  Rig narrow(1400);
  narrow.mtu = 1000;
  narrow.search.start(narrow.now);
  narrow.run(3s, 1'000'000);
  EXPECT_EQ(narrow.search.mtu(), 1400) << "fragments carry the base";
  Rig none(60000, 50000);
  none.search.start(none.now);
  none.run(5s);
  EXPECT_EQ(none.asked, 0) << "a base above the limit is the limit";
}

TEST(Search, AThirdOfAllFramesMayBeLost) {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rig r;
    r.rng = SeededRng{seed};
    r.loss = 0.3;
    r.search.start(r.now);
    r.run(120s);
    EXPECT_LE(r.search.mtu(), 1472);
    exact += r.search.mtu() == 1472;
  }
  EXPECT_GE(exact, 36);
}

TEST(Search, SettledItIsQuietWithoutTrafficAndLooksAgainAfterTenMinutes) {
  Rig r;
  r.search.start(r.now);
  r.run(10s);
  const int before = r.asked;
  r.mtu = 8972;
  r.run(580s);
  EXPECT_EQ(r.asked, before);
  EXPECT_EQ(r.search.mtu(), 1472);
  r.run(30s);
  EXPECT_EQ(r.search.mtu(), 8972);
}

TEST(Search, ABlackHoleIsFoundWithinSecondsWhileTrafficFlows) {
  Rig r;
  r.mtu = 8972;
  r.search.start(r.now);
  r.run(20s, 1'000'000);
  ASSERT_EQ(r.search.mtu(), 8972);
  r.mtu = 1472;
  r.run(4s, 1'000'000);
  EXPECT_EQ(r.lowered, 1);
  EXPECT_EQ(r.search.black_holes(), 1U);
  EXPECT_EQ(r.search.mtu(), 1472) << "in one step";
}

TEST(Search, TrafficThatBeginsAfterAPauseFindsTheBlackHoleToo) {
  Rig r;
  r.search.start(r.now);
  r.run(100s);
  r.mtu = 1300;
  r.run(11s, 5'000);
  EXPECT_EQ(r.lowered, 1);
  r.run(3s, 5'000);
  EXPECT_LE(r.search.mtu(), 1300);
  EXPECT_GE(r.search.mtu(), 1295) << "halves end at a grain of 5";
}

TEST(Search, LossAloneIsNoBlackHole) {
  int false_alarms = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rig r;
    r.search.start(r.now);
    r.run(5s);
    r.rng = SeededRng{seed};
    r.loss = 0.1;
    r.run(300s, 1'000'000);
    false_alarms += r.lowered;
  }
  EXPECT_LE(false_alarms, 4) << "in 100 minutes on a link that loses a tenth";
}

TEST(Search, SilenceIsNoBlackHole) {
  Rig r;
  r.search.start(r.now);
  r.run(5s);
  r.mute = true;
  const int before = r.asked;
  r.run(300s, 1'000'000);
  EXPECT_EQ(r.lowered, 0);
  EXPECT_EQ(r.search.mtu(), 1472);
  EXPECT_LT(r.asked - before, 150);
  r.mute = false;
  r.mtu = 1400;
  r.run(80s, 1'000'000);
  EXPECT_EQ(r.search.mtu(), 1400);
}

TEST(Search, AfterAMoveTheSizeInUseIsConfirmedAndMoreIsTriedAtOnce) {
  Rig r;
  r.search.start(r.now);
  r.run(20s);
  r.mtu = 8972;
  r.search.restart(r.now);
  EXPECT_EQ(r.search.mtu(), 1472);
  r.run(5s);
  EXPECT_EQ(r.search.mtu(), 8972);
  EXPECT_EQ(r.lowered, 0);
  r.mtu = 1400;
  r.search.restart(r.now);
  r.run(3s);
  EXPECT_EQ(r.lowered, 1);
  EXPECT_EQ(r.search.mtu(), 1400);
}

TEST(Search, LateForeignAndImpossibleAnswersAreTold) {
  Rig r;
  r.search.start(r.now);
  const auto round = r.search.on_deadline(r.now, 0);
  ASSERT_TRUE(round);
  EXPECT_EQ(r.search.on_ack(r.now, 0, 0), Search::Effect::unknown);
  EXPECT_EQ(r.search.on_ack(r.now, round->id + 8, round->size), Search::Effect::unknown);
  EXPECT_EQ(r.search.on_ack(r.now, round->id, 9000), Search::Effect::unknown) << "not what was sent";
  EXPECT_EQ(r.search.on_ack(r.now, round->id, 0), Search::Effect::none);
  EXPECT_EQ(r.search.on_ack(r.now, round->id, round->size), Search::Effect::raised)
      << "the probe came after its notice";
  EXPECT_EQ(r.search.on_ack(r.now, round->id, round->size), Search::Effect::none) << "twice";
}

}  // namespace
}  // namespace weft::pmtu
