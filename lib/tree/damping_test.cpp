#include "tree/damping.h"

#include <gtest/gtest.h>

#include "testing/vectors/load.h"

namespace weft {
namespace {

Instant at_ms(std::int64_t ms) { return Instant{} + std::chrono::milliseconds(ms); }

void replay(const nlohmann::json& steps) {
  Damping d;
  for (const auto& v : steps) {
    SCOPED_TRACE(v.dump());
    const auto now = at_ms(v["t_ms"].get<std::int64_t>());
    EXPECT_EQ(d.on_parent_written(now, v["parent_changed"].get<bool>()), v["armed"].get<bool>());
    EXPECT_EQ(d.held_until(), at_ms(v["hold_down_until"].get<std::int64_t>()));
    if (v["dampened_until"].is_null()) EXPECT_FALSE(d.paused_until());
    else EXPECT_EQ(d.paused_until(), at_ms(v["dampened_until"].get<std::int64_t>()));
  }
}

TEST(Damping, FollowsTheKnownTimelines) {
  const auto flap = vectors::load("mesh.json")["flap"];
  replay(flap["timeline"]);
  replay(flap["window_reset"]);
}

TEST(Damping, HoldsBackExactlyUntilItsInstants) {
  Damping d;
  EXPECT_FALSE(d.suppresses(at_ms(0)));
  d.on_parent_written(at_ms(0), true);
  EXPECT_TRUE(d.suppresses(at_ms(29'999)));
  EXPECT_FALSE(d.suppresses(at_ms(30'000)));
  for (int i = 1; i <= 3; ++i) d.on_parent_written(at_ms(i), true);
  EXPECT_TRUE(d.suppresses(at_ms(120'002)));
  EXPECT_FALSE(d.suppresses(at_ms(120'003)));
}

TEST(Damping, WithoutHoldDownOnlyFlapsCount) {
  DampingLimits limits;
  limits.hold_down = Duration{};
  Damping d(limits);
  d.on_parent_written(at_ms(0), true);
  EXPECT_FALSE(d.suppresses(at_ms(1)));
}

TEST(Damping, PausesForAYearAtMost) {
  DampingLimits limits;
  limits.flap_pause = 24h * 365 * 100;
  limits.flap_threshold = 1;
  Damping d(limits);
  d.on_parent_written(Instant{}, true);
  EXPECT_EQ(*d.paused_until(), Instant{} + 24h * 365);
}

}  // namespace
}  // namespace weft
