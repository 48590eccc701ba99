/// Who is neighbour of whom, before anybody has spoken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace weft::sim {

struct Edge {
  std::uint32_t a = 0, b = 0;
  bool a_dials = true, b_dials = true;  // whose configuration names the other; at least one
};

struct Topology {
  std::uint32_t nodes = 0;
  std::vector<Edge> edges;

  std::vector<std::vector<std::uint32_t>> neighbours() const;
  /// Hops from `from` to everybody; UINT32_MAX: no way.
  std::vector<std::uint32_t> hops_from(std::uint32_t from) const;
  double mean_degree() const;
};

Topology line(std::uint32_t n);
Topology ring(std::uint32_t n);
Topology star(std::uint32_t n);
/// Every inner node has `fanout` children.
Topology tree(std::uint32_t n, std::uint32_t fanout = 3);
Topology grid(std::uint32_t width, std::uint32_t height);
/// Points in a square, neighbours where they are near; parts that stay apart are joined at their closest points.
Topology random_geometric(std::uint32_t n, double mean_degree, Rng& rng);
/// A random tree, and random edges on top until the mean degree is reached; always connected.
Topology random_degree(std::uint32_t n, double mean_degree, Rng& rng);
/// The reference's own test mesh: a-d, a-e, b-c, c-d, c-e, d-e.
Topology five_nodes();
/// By name: line, ring, star, tree, grid, geometric, random, five.
std::optional<Topology> make_topology(std::string_view name, std::uint32_t n, double mean_degree, Rng& rng);
/// Each edge is configured on one side or on both, by lot.
void draw_dialers(Topology& t, Rng& rng);

}  // namespace weft::sim
