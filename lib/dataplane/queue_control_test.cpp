#include "dataplane/queue_control.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kNear = microseconds(400);
constexpr Duration kFar = milliseconds(50);
constexpr std::size_t kBurst = 100'000;
constexpr Duration kTurn = microseconds(250);  // 400 bytes per microsecond

struct Reader {
  QueueControl queue;
  Instant now = Instant{} + std::chrono::hours(1);
  unsigned signals = 0;

  /// Reads bursts for that long, with that much left behind each; a segment of a flow follows each burst.
  void read(Duration how_long, std::size_t left, Duration rtt) {
    for (const Instant end = now + how_long; now < end; now += kTurn) {
      queue.on_burst(now, kBurst, left);
      if (queue.signal(now, rtt)) ++signals;
    }
  }
};

TEST(QueueControl, SaysNothingWhileNothingWaits) {
  Reader r;
  r.read(milliseconds(500), 0, kNear);
  EXPECT_EQ(r.signals, 0U);
}

TEST(QueueControl, TellsOneSenderPerIntervalThatAQueueStands) {
  Reader r;
  r.read(milliseconds(170), 200'000, kNear);  // half a millisecond
  EXPECT_EQ(r.signals, 3U);
}

TEST(QueueControl, TellsMoreOfThemWhileThatDoesNotHelp) {
  Reader r;
  r.read(milliseconds(1000), 200'000, kNear);
  const unsigned first = r.signals;
  r.read(milliseconds(1000), 200'000, kNear);
  EXPECT_GT(r.signals - first, first);
  EXPECT_LE(r.signals - first, 8U * 20);
}

TEST(QueueControl, LeavesSignalsApartSoThatOneWindowIsNotHitTwice) {
  Reader r;
  r.read(milliseconds(2000), 200'000, kNear);
  const unsigned before = r.signals;
  for (int i = 0; i < 100; ++i)
    if (r.queue.signal(r.now, kNear)) ++r.signals;
  EXPECT_LE(r.signals - before, 1U);
}

TEST(QueueControl, HoldsAQueueAgainstNearSendersOnly) {
  Reader r;
  r.read(milliseconds(500), 200'000, kFar);  // half a millisecond is nothing to it
  EXPECT_EQ(r.signals, 0U);
  r.read(milliseconds(500), 4'000'000, kFar);  // ten milliseconds are
  EXPECT_GT(r.signals, 0U);
}

TEST(QueueControl, LeavesAFlowAloneWhoseRoundTripIsUnknown) {
  Reader r;
  r.read(milliseconds(500), 200'000, Duration::zero());
  EXPECT_EQ(r.signals, 0U);
}

TEST(QueueControl, LetsOneLateTurnPass) {
  Reader r;
  for (int i = 0; i < 10; ++i) {
    r.read(milliseconds(1), 20'000'000 / 1000,
           kNear);  // a little over the least target, for a fiftieth of the time
    r.read(milliseconds(49), 0, kNear);
  }
  EXPECT_EQ(r.signals, 0U);
}

TEST(QueueControl, ForgetsAQueueThatWasLongAgo) {
  Reader r;
  r.read(milliseconds(90), 200'000, kNear);
  ASSERT_EQ(r.signals, 1U);
  r.now += std::chrono::seconds(5);
  r.read(milliseconds(40), 0, kNear);
  EXPECT_EQ(r.signals, 1U);
  EXPECT_FALSE(r.queue.owes());
}

}  // namespace
}  // namespace weft
