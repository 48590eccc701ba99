#include "io/offload_gate.h"

#include <gtest/gtest.h>

namespace weft::io {
namespace {

Instant at(Duration d) { return Instant{} + 100s + d; }

TEST(OffloadGate, IsOpenUntilSomethingIsRefused) {
  OffloadGate g;
  EXPECT_TRUE(g.open());
  EXPECT_TRUE(g.open_for(65507));
}

TEST(OffloadGate, AsksAgainAfterAWaitThatDoublesUpToAMinute) {
  OffloadGate g;
  Duration wait = 1s;
  Duration now{};
  g.refused(0, at(now));
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(g.open_for(1));
    EXPECT_FALSE(g.ask(at(now + wait - 1ms)));
    now += wait;
    EXPECT_TRUE(g.ask(at(now)));
    EXPECT_FALSE(g.ask(at(now))) << "one at a time";
    g.refused(0, at(now));
    wait = std::min<Duration>(wait * 2, 60s);
  }
}

TEST(OffloadGate, ASuccessOpensItAndTheNextRefusalWaitsASecondAgain) {
  OffloadGate g;
  g.refused(0, at(0s));
  g.refused(0, at(0s));
  g.worked();
  EXPECT_TRUE(g.open());
  g.refused(0, at(0s));
  EXPECT_TRUE(g.ask(at(1s)));
}

TEST(OffloadGate, ARefusalOfLargeSegmentsLeavesSmallerOnes) {
  OffloadGate g;
  g.refused(1400, at(0s));
  EXPECT_TRUE(g.open_for(1399));
  EXPECT_FALSE(g.open_for(1400));
  g.refused(1200, at(0s));
  EXPECT_FALSE(g.open_for(1200));
  g.refused(1300, at(0s));
  EXPECT_FALSE(g.open_for(1200));
}

TEST(OffloadGate, AChangeOfTheNetworkIsReasonToAskAtOnce) {
  OffloadGate g;
  g.refused(0, at(0s));
  EXPECT_FALSE(g.ask(at(1ms)));
  g.hope();
  EXPECT_TRUE(g.ask(at(1ms)));
}

}  // namespace
}  // namespace weft::io
