// The long tier: WEFT_LONG=1, a release build, minutes of CPU time.
#include <ctime>

#include "sim/churn.h"
#include "sim/report.h"
#include "sim/sim_test.h"

namespace weft::sim {
namespace {

class Long : public testing::Test {
 protected:
  void SetUp() override {
    const char* on = std::getenv("WEFT_LONG");
    if (on == nullptr || std::string_view(on) != "1") GTEST_SKIP() << "set WEFT_LONG=1 to run the long tier";
  }
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

RunReport must(const RunOptions& o) {
  const auto r = run(o);
  EXPECT_TRUE(r);
  EXPECT_EQ(r->complaint, "");
  return *r;
}

TEST_F(Long, AThousandNodesForAMinuteInAMinute) {
  for (const char* shape : {"random", "geometric"}) {
    [[maybe_unused]] const double begin = cpu_seconds();
    RunOptions o{
        .nodes = 1000, .topology = shape, .degree = shape[0] == 'g' ? 8.0 : 4.0, .lasts = 60s, .pairs = 200};
    const auto r = must(o);
    ASSERT_TRUE(r.one_root);
    EXPECT_LT(*r.one_root, 15s) << shape;
    EXPECT_EQ(r.stretch_pairs, r.pairs) << "packets of established sessions were lost";
#ifdef __OPTIMIZE__
    EXPECT_LT(cpu_seconds() - begin, 60) << shape;
#endif
  }
}

// Ten times the nodes cost each of them no more at rest, and while the mesh comes together as much more as the tree is
// deeper.
TEST_F(Long, DepthAndControlTrafficGrowAsTheTreeDoes) {
  RunOptions o{.topology = "random", .degree = 4, .lasts = 60s, .pairs = 0};
  o.nodes = 100;
  const auto small = must(o);
  o.nodes = 1000;
  const auto large = must(o);
  EXPECT_LT(large.depth_worst, small.depth_worst + 8);
  EXPECT_LT(large.rest_rate, small.rest_rate * 1.3);
  EXPECT_LT(large.control_rate, small.control_rate * 1.5 * large.depth_mean / small.depth_mean);
}

TEST_F(Long, AnHourOfEverythingGoingWrong) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SeededRng rng(seed);
    Topology t = random_degree(40, 3.5, rng);
    draw_dialers(t, rng);
    World w(t, world(60 + seed));
    w.start();
    expect_converges(w, 20s);
    churn(w, seed, 20min, 4s);
    expect_converges(w, 7min);
    expect_reach(w, w.some_pairs(100), 60s);
    expect_well(w);
  }
}

}  // namespace
}  // namespace weft::sim
