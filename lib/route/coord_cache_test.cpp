#include "route/coord_cache.h"

#include <gtest/gtest.h>

#include "testing/vectors/load.h"

namespace weft {
namespace {

using vectors::node;

Instant at_s(std::int64_t s) { return Instant{} + std::chrono::seconds(s); }
Path path(std::initializer_list<unsigned> ids) {
  Path p;
  for (const auto i : ids) p.push_back(node(i));
  return p;
}
constexpr auto kProven = CoordSource::proven;
constexpr auto kHearsay = CoordSource::hearsay;

TEST(CoordCache, OnlyARoutingLookupRenews) {
  CoordCache c;
  ASSERT_TRUE(c.insert(node(1), path({1, 0}), kHearsay, at_s(0)));
  ASSERT_TRUE(c.insert(node(2), path({2, 0}), kHearsay, at_s(0)));
  EXPECT_NE(c.routing_lookup(node(1), at_s(300)), nullptr);
  EXPECT_NE(c.peek(node(2), at_s(300)), nullptr);
  EXPECT_EQ(c.peek(node(2), at_s(301)), nullptr);
  EXPECT_EQ(c.routing_lookup(node(2), at_s(301)), nullptr);
  EXPECT_NE(c.peek(node(1), at_s(600)), nullptr);
  EXPECT_EQ(c.size(), 1u);
}

TEST(CoordCache, ADeadEntryIsNeverServed) {
  CoordCache c;
  ASSERT_TRUE(c.insert(node(1), path({1, 0}), kProven, at_s(0)));
  EXPECT_EQ(c.routing_lookup(node(1), at_s(301)), nullptr);
  EXPECT_EQ(c.routing_lookup(node(1), at_s(0)), nullptr);
}

TEST(CoordCache, RefusesPathsThatAreNotTheNodesOwn) {
  CoordCache c;
  EXPECT_EQ(c.insert(node(1), path({2, 0}), kProven, at_s(0)).error(), Drop::warm_mismatch);
  EXPECT_EQ(c.insert(node(1), {}, kProven, at_s(0)).error(), Drop::warm_mismatch);
  Path longest(256, node(0));
  longest[0] = node(1);
  EXPECT_EQ(c.insert(node(1), longest, kProven, at_s(0)).error(), Drop::path_too_long);
  EXPECT_EQ(c.size(), 0u);
  EXPECT_EQ(c.addresses(), 0u);
}

TEST(CoordCache, KeepsAProvenPathAgainstHearsayForAWhile) {
  CoordCache c;
  ASSERT_TRUE(c.insert(node(1), path({1, 0}), kProven, at_s(0)));
  EXPECT_EQ(c.insert(node(1), path({1, 6, 0}), kHearsay, at_s(59)).error(), Drop::hearsay_refused);
  EXPECT_EQ(*c.routing_lookup(node(1), at_s(59)), path({1, 0}));
  EXPECT_TRUE(c.insert(node(1), path({1, 0}), kHearsay, at_s(59)));
  EXPECT_FALSE(
      c.insert(node(1), path({1, 6, 0}), kHearsay, at_s(59)));  // agreeing hearsay took no protection away
  EXPECT_TRUE(c.insert(node(1), path({1, 6, 0}), kHearsay, at_s(60)));
  EXPECT_TRUE(c.insert(node(1), path({1, 7, 0}), kHearsay, at_s(60)));
  EXPECT_TRUE(c.insert(node(1), path({1, 0}), kProven, at_s(60)));
  EXPECT_EQ(*c.routing_lookup(node(1), at_s(60)), path({1, 0}));
}

TEST(CoordCache, AnErasedProofProtectsNothing) {
  CoordCache c;
  ASSERT_TRUE(c.insert(node(1), path({1, 0}), kProven, at_s(0)));
  EXPECT_TRUE(c.erase(node(1)));
  EXPECT_TRUE(c.insert(node(1), path({1, 6, 0}), kHearsay, at_s(1)));
}

TEST(CoordCache, KeepsThePathMtuOverANewPathAndIgnoresTinyOnes) {
  CoordCache c;
  ASSERT_TRUE(c.insert(node(1), path({1, 0}), kProven, at_s(0), 1280));
  ASSERT_TRUE(c.insert(node(1), path({1, 6, 0}), kProven, at_s(1)));
  EXPECT_EQ(c.peek(node(1), at_s(1))->path_mtu, 1280);
  ASSERT_TRUE(c.insert(node(1), path({1, 6, 0}), kProven, at_s(1), 255));
  EXPECT_EQ(c.peek(node(1), at_s(1))->path_mtu, 1280);
  c.set_path_mtu(node(1), 1200);
  EXPECT_EQ(c.peek(node(1), at_s(1))->path_mtu, 1200);
  c.set_path_mtu(node(1), std::nullopt);
  EXPECT_FALSE(c.peek(node(1), at_s(1))->path_mtu);
}

TEST(CoordCache, FullItForgetsWhatWasUsedLongestAgo) {
  CoordCacheLimits limits;
  limits.max_entries = 2;
  CoordCache c(limits);
  ASSERT_TRUE(c.insert(node(1), path({1, 0}), kHearsay, at_s(0)));
  ASSERT_TRUE(c.insert(node(2), path({2, 0}), kHearsay, at_s(1)));
  c.routing_lookup(node(1), at_s(2));
  c.peek(node(2), at_s(3));
  ASSERT_TRUE(c.insert(node(3), path({3, 0}), kHearsay, at_s(4)));
  EXPECT_EQ(c.peek(node(2), at_s(4)), nullptr);
  EXPECT_NE(c.peek(node(1), at_s(4)), nullptr);
  EXPECT_EQ(c.addresses(), 4u);
}

TEST(CoordCache, LongPathsCannotBuyMoreMemory) {
  CoordCacheLimits limits;
  limits.max_entries = 1000;
  CoordCache c(limits);
  for (unsigned i = 0; i < 1000; ++i) {
    Path p(255, node(1));
    p[0] = NodeAddr{{static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8), 9}};
    ASSERT_TRUE(c.insert(p[0], p, kHearsay, at_s(0)));
    ASSERT_LE(c.addresses(), 16'000u);
  }
  EXPECT_EQ(c.size(), 16'000u / 255);
}

TEST(CoordCache, ThinsByTheTwoRulesOfAMove) {
  CoordCache c;
  ASSERT_TRUE(c.insert(node(1), path({1, 5, 0}), kProven, at_s(0)));
  ASSERT_TRUE(c.insert(node(2), path({2, 6, 0}), kProven, at_s(0)));
  ASSERT_TRUE(c.insert(node(3), path({3, 4}), kProven, at_s(0)));
  EXPECT_EQ(c.drop_through(node(5)), 1u);
  EXPECT_EQ(c.peek(node(1), at_s(0)), nullptr);
  EXPECT_EQ(c.drop_foreign_roots(node(0)), 1u);
  EXPECT_NE(c.peek(node(2), at_s(0)), nullptr);
  EXPECT_EQ(c.addresses(), 3u);
  EXPECT_EQ(c.drop_expired(at_s(300)), 0u);
  EXPECT_EQ(c.drop_expired(at_s(301)), 1u);
  EXPECT_EQ(c.addresses(), 0u);
}

}  // namespace
}  // namespace weft
