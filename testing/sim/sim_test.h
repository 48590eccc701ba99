/// What the scenarios share.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/scenario.h"

namespace weft::sim {

/// WEFT_SIM_LOG=0..4 makes the nodes talk; WEFT_SIM_SEED=N plays every scenario with other luck,
/// WEFT_SIM_SHARDS=N on more workers.
inline WorldParams world(std::uint64_t seed = 1, Duration delay = 5ms) {
  WorldParams p;
  p.seed = seed;
  if (const char* other = std::getenv("WEFT_SIM_SEED")) p.seed += 1000 * std::strtoull(other, nullptr, 10);
  p.link.delay = delay;
  if (const char* level = std::getenv("WEFT_SIM_LOG")) p.node.log_level = std::atoi(level);
  if (const char* shards = std::getenv("WEFT_SIM_SHARDS")) {
    p.node.shards = static_cast<std::uint32_t>(std::strtoul(shards, nullptr, 10));
    p.node.missteer = 0.1;
  }
  return p;
}

inline std::string all_drops(World& w) {
  std::string out;
  for (NodeId i = 0; i < w.size(); ++i)
    if (w[i].running()) out += "\n  node " + std::to_string(i) + ": " + w[i].drops_text();
  return out;
}

inline void expect_converges(World& w, Duration within) {
  EXPECT_TRUE(w.run_until([&] { return w.converged(); }, within))
      << w.tree_complaint().value_or("") << w.link_complaint().value_or("") << all_drops(w);
}

inline void expect_reach(World& w, const std::vector<Pair>& pairs, Duration within) {
  const auto r = w.reach(pairs, within);
  for (const auto& [a, b] : r.missing) ADD_FAILURE() << a << " does not reach " << b;
  if (!r.missing.empty()) ADD_FAILURE() << all_drops(w);
}

/// No oracle complains.
inline void expect_well(World& w) { EXPECT_EQ(w.complaint(), std::nullopt); }

/// Everything both ways between two nodes, for a while.
struct Talk {
  Talk(World& w, NodeId a, NodeId b, Duration every, Duration lasts, std::size_t size = 200)
      : world(w), there(w.flow(a, b, every, lasts, size)), back(w.flow(b, a, every, lasts, size)) {}
  std::size_t lost() const { return there.lost(world.probes()) + back.lost(world.probes()); }
  Duration outage() const {
    return std::max(there.longest_outage(world.probes()), back.longest_outage(world.probes()));
  }

  World& world;
  Flow& there;
  Flow& back;
};

}  // namespace weft::sim
