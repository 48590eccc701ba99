#include "crypto/replay.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "testing/vectors/load.h"

namespace weft::crypto {
namespace {

TEST(ReplayWindow, GivesTheKnownAnswersAtTheReferencesWidth) {
  const auto v = vectors::load("noise.json")["replay_window"];
  ASSERT_EQ(v["window"], 2048);
  ReplayWindowOf<2048> w;
  for (const auto& step : v["sequence"]) {
    const auto c = std::stoull(step["counter"].get<std::string>());
    const auto verdict = w.check(c);
    EXPECT_EQ(!verdict, step["accept"].get<bool>()) << c;
    EXPECT_EQ(w.accept(c), verdict) << "accept repeats check's answer";
    EXPECT_EQ(w.highest(), std::stoull(step["highest_after"].get<std::string>()));
  }
}

TEST(ReplayWindow, TellsOldFromSeen) {
  ReplayWindow w;
  EXPECT_FALSE(w.accept(0)) << "counter 0 is good on a fresh window";
  EXPECT_EQ(w.check(0), Drop::replayed);
  EXPECT_FALSE(w.accept(16384));
  EXPECT_EQ(w.check(0), Drop::too_old);
  EXPECT_EQ(w.check(1), std::nullopt) << "16383 behind is the last one inside";
}

TEST(ReplayWindow, CheckAloneChangesNothing) {
  ReplayWindow w;
  EXPECT_FALSE(w.check(9000));
  EXPECT_EQ(w.highest(), 0u);
  EXPECT_FALSE(w.check(9000));
}

template <std::size_t Width>
void compare_with_a_set_of_all_counters(std::uint64_t seed) {
  SeededRng rng{seed};
  ReplayWindowOf<Width> w;
  std::set<std::uint64_t> seen;
  std::uint64_t highest = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t reach = rng.below(20) == 0 ? 5 * Width : 40;  // mostly in order, sometimes far ahead
    const std::uint64_t ahead = highest + rng.below(reach);
    const std::uint64_t back = rng.below(2) == 0 ? 0 : rng.below(Width + Width / 4);
    const std::uint64_t c = ahead > back ? ahead - back : 0;
    const bool inside = c > highest || highest - c < Width;
    ASSERT_EQ(!w.accept(c), inside && !seen.contains(c)) << "counter " << c << ", highest " << highest;
    seen.insert(c);
    highest = std::max(highest, c);
  }
}

TEST(ReplayWindow, AgreesWithAModelThatForgetsNothing) {
  compare_with_a_set_of_all_counters<64>(1);
  compare_with_a_set_of_all_counters<2048>(2);
  compare_with_a_set_of_all_counters<16384>(3);
}

}  // namespace
}  // namespace weft::crypto
