/// One standard run, and its numbers: how fast a mesh comes together, what it costs, how good its routes are.
#pragma once

#include <string>
#include <tuple>

#include "base/result.h"
#include "sim/scenario.h"

namespace weft::sim {

struct RunOptions {
  std::uint32_t nodes = 100;
  std::string topology = "geometric";
  double degree = 4;
  LinkParams link{.delay = 10ms};
  Duration lasts = 60s;
  Duration stagger = 1s;
  std::size_t pairs = 200;
  std::uint32_t shards = 1;
  std::uint64_t seed = 1;
  int log_level = -1;
};

struct RunReport {
  std::size_t nodes = 0, links = 0;
  double mean_degree = 0;
  std::uint32_t diameter = 0;
  std::optional<Duration> one_root;   // from the first start
  std::optional<Duration> all_pairs;  // the same; pairs are tried as soon as there is one root
  std::size_t pairs = 0, missing = 0;
  Duration first_median{}, first_worst{};  // from a pair's first packet to its first arrival
  double depth_mean = 0;
  std::size_t depth_worst = 0;
  double stretch_mean = 0, stretch_worst = 0;  // hops of a real packet over hops of the shortest path
  std::size_t stretch_pairs = 0;
  double control_rate = 0, rest_rate = 0,
         rest_worst = 0;  // bytes on the wire, all but data, per node and second
  Duration rest_window{};
  std::vector<std::tuple<std::string, double, double>> by_kind;
  std::uint64_t events = 0, seals = 0, keys = 0, trace = 0;
  std::string complaint;  // empty: all is well
};

/// Errors: a sentence (no such topology).
Result<RunReport, std::string> run(const RunOptions& options);

}  // namespace weft::sim
