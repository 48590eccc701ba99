#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace weft::sim {
namespace {

WorldParams params(std::uint64_t seed = 1) {
  WorldParams p;
  p.seed = seed;
  p.node.log_level = getenv("WEFT_SIM_LOG") ? atoi(getenv("WEFT_SIM_LOG")) : -1;
  return p;
}

TEST(Basic, TwoNodesLink) {
  World w(line(2), params());
  w.start();
  EXPECT_TRUE(w.run_until([&] { return w.converged(); }, 5s)) << w.tree_complaint().value_or("no link");
  const auto r = w.reach(w.all_pairs(), 5s);
  EXPECT_TRUE(r.missing.empty()) << w[0].drops_text() << " / " << w[1].drops_text();
  EXPECT_EQ(w.complaint(), std::nullopt);
}

TEST(Basic, ChainOfThree) {
  World w(line(3), params());
  w.start();
  EXPECT_TRUE(w.run_until([&] { return w.converged(); }, 5s)) << w.tree_complaint().value_or("no link");
  const auto r = w.reach(w.all_pairs(), 5s);
  for (const auto& [a, b] : r.missing) ADD_FAILURE() << a << "->" << b;
  for (NodeId i = 0; i < 3; ++i) printf("%u: %s\n", i, w[i].drops_text().c_str());
  printf("took %ld ms\n", to_ms(r.took));
  EXPECT_EQ(w.complaint(), std::nullopt);
}

}  // namespace
}  // namespace weft::sim
