#include "weftd/lanes.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace weft::daemon {
namespace {

std::uint64_t number_of(const Command& c) { return std::get<DropLink>(c).link.value; }

TEST(Inbox, KeepsEveryCommandInOrderWhenTheWorkerIsSlow) {
  Waker waker;
  Inbox inbox(waker);
  constexpr std::uint64_t kCount = 1000;  // far more than the ring holds
  for (std::uint64_t i = 0; i < kCount; ++i) inbox.push(DropLink{LinkId{i}});
  EXPECT_TRUE(inbox.waiting());
  std::uint64_t next = 0;
  while (next < kCount) {
    while (auto c = inbox.pop()) ASSERT_EQ(number_of(*c), next++);
    inbox.flush();
  }
  EXPECT_FALSE(inbox.waiting());
  EXPECT_TRUE(inbox.empty());
}

TEST(Inbox, LaterCommandsDoNotOvertakeThoseThatWait) {
  Waker waker;
  Inbox inbox(waker);
  std::uint64_t pushed = 0;
  while (!inbox.waiting()) inbox.push(DropLink{LinkId{pushed++}});
  EXPECT_EQ(number_of(*inbox.pop()), 0U);  // there is room in the ring now
  inbox.push(DropLink{LinkId{pushed++}});
  std::uint64_t next = 1;
  do
    while (auto c = inbox.pop()) ASSERT_EQ(number_of(*c), next++);
  while (!inbox.flush() || !inbox.empty());
  EXPECT_EQ(next, pushed);
}

TEST(Waker, NeverLosesAWakeUpBetweenTheLastLookAndTheSleep) {
  Waker worker, control;
  Inbox inbox(worker);
  constexpr std::uint64_t kCount = 50000;
  std::thread sleeper([&] {
    for (std::uint64_t next = 0; next < kCount;) {
      while (auto c = inbox.pop()) ASSERT_EQ(number_of(*c), next++);
      pollfd p{worker.fd(), POLLIN, 0};
      worker.prepare();
      if (inbox.empty() && next < kCount) {
        ASSERT_EQ(::poll(&p, 1, 10000), 1) << "slept through command " << next;
      }
      worker.woke(p.revents != 0);
    }
  });
  for (std::uint64_t i = 0; i < kCount; ++i) {
    inbox.push(DropLink{LinkId{i}});
    while (inbox.waiting()) inbox.flush();
  }
  sleeper.join();
}

TEST(PuntLanes, AFullLaneRefusesAndLeavesTheOthersAlone) {
  Waker control;
  PuntLanes lanes(control);
  std::size_t taken = 0;
  while (lanes.punt(PuntRouteStale{})) ++taken;
  EXPECT_GE(taken, 256U);
  EXPECT_TRUE(lanes.punt(PuntHandshake{}));
  EXPECT_TRUE(lanes.punt(PuntLinkProven{}));
  EXPECT_TRUE(std::holds_alternative<PuntHandshake>(*lanes.pop(Lane::handshake)));
  EXPECT_TRUE(std::holds_alternative<PuntLinkProven>(*lanes.pop(Lane::control)));
}

TEST(StrayRings, EachPairOfWorkersHasItsOwn) {
  StrayRings rings(3);
  StrayBurst b;
  b.bytes = {7};
  EXPECT_TRUE(rings.push(2, 1, std::move(b)));
  EXPECT_TRUE(rings.empty(0));
  EXPECT_FALSE(rings.empty(1));
  EXPECT_FALSE(rings.pop(0, 1));
  EXPECT_EQ(rings.pop(2, 1)->bytes, Buffer{7});
  EXPECT_TRUE(rings.empty(1));
}

}  // namespace
}  // namespace weft::daemon
