#include "sim/topology.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <set>

namespace weft::sim {
namespace {

/// Which nodes hang together so far.
class Parts {
 public:
  explicit Parts(std::uint32_t n) : of_(n) { std::iota(of_.begin(), of_.end(), 0U); }
  std::uint32_t find(std::uint32_t x) {
    while (of_[x] != x) x = of_[x] = of_[of_[x]];
    return x;
  }
  bool join(std::uint32_t a, std::uint32_t b) {
    a = find(a), b = find(b);
    if (a == b) return false;
    of_[b] = a;
    return true;
  }

 private:
  std::vector<std::uint32_t> of_;
};

double unit(Rng& rng) { return static_cast<double>(rng.u64() >> 11) * 0x1.0p-53; }
std::uint32_t draw(Rng& rng, std::uint32_t n) { return static_cast<std::uint32_t>(rng.below(n)); }

}  // namespace

std::vector<std::vector<std::uint32_t>> Topology::neighbours() const {
  std::vector<std::vector<std::uint32_t>> out(nodes);
  for (const Edge& e : edges) {
    out[e.a].push_back(e.b);
    out[e.b].push_back(e.a);
  }
  return out;
}

std::vector<std::uint32_t> Topology::hops_from(std::uint32_t from) const {
  const auto near = neighbours();
  std::vector<std::uint32_t> hops(nodes, UINT32_MAX);
  std::deque<std::uint32_t> todo{from};
  hops[from] = 0;
  while (!todo.empty()) {
    const auto x = todo.front();
    todo.pop_front();
    for (const auto y : near[x])
      if (hops[y] == UINT32_MAX) hops[y] = hops[x] + 1, todo.push_back(y);
  }
  return hops;
}

double Topology::mean_degree() const {
  return nodes == 0 ? 0 : 2.0 * static_cast<double>(edges.size()) / static_cast<double>(nodes);
}

Topology line(std::uint32_t n) {
  Topology t{n, {}};
  for (std::uint32_t i = 1; i < n; ++i) t.edges.push_back({i - 1, i});
  return t;
}

Topology ring(std::uint32_t n) {
  Topology t = line(n);
  if (n > 2) t.edges.push_back({n - 1, 0});
  return t;
}

Topology star(std::uint32_t n) {
  Topology t{n, {}};
  for (std::uint32_t i = 1; i < n; ++i) t.edges.push_back({0, i});
  return t;
}

Topology tree(std::uint32_t n, std::uint32_t fanout) {
  Topology t{n, {}};
  for (std::uint32_t i = 1; i < n; ++i) t.edges.push_back({(i - 1) / fanout, i});
  return t;
}

Topology grid(std::uint32_t width, std::uint32_t height) {
  Topology t{width * height, {}};
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t i = y * width + x;
      if (x + 1 < width) t.edges.push_back({i, i + 1});
      if (y + 1 < height) t.edges.push_back({i, i + width});
    }
  return t;
}

Topology random_geometric(std::uint32_t n, double mean_degree, Rng& rng) {
  Topology t{n, {}};
  std::vector<std::pair<double, double>> at(n);
  for (auto& [x, y] : at) x = unit(rng), y = unit(rng);
  const auto far = [&](std::uint32_t a, std::uint32_t b) {
    return std::hypot(at[a].first - at[b].first, at[a].second - at[b].second);
  };
  const double reach =
      std::sqrt(mean_degree / (3.14159265358979 * std::max(1.0, static_cast<double>(n) - 1)));
  Parts parts(n);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = a + 1; b < n; ++b)
      if (far(a, b) < reach) t.edges.push_back({a, b}), parts.join(a, b);
  for (;;) {  // join the part of node 0 with its closest outsider
    std::optional<Edge> best;
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b)
        if (parts.find(a) == parts.find(0) && parts.find(b) != parts.find(0) &&
            (!best || far(a, b) < far(best->a, best->b)))
          best = Edge{a, b};
    if (!best) return t;
    t.edges.push_back(*best);
    parts.join(best->a, best->b);
  }
}

Topology random_degree(std::uint32_t n, double mean_degree, Rng& rng) {
  Topology t{n, {}};
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::uint32_t i = 1; i < n; ++i) {
    const std::uint32_t other = draw(rng, i);
    t.edges.push_back({other, i});
    seen.emplace(other, i);
  }
  const std::size_t most = std::size_t{n} * (n > 0 ? n - 1 : 0) / 2;
  const auto wanted = std::min(most, static_cast<std::size_t>(mean_degree * static_cast<double>(n) / 2));
  while (t.edges.size() < wanted) {
    std::uint32_t a = draw(rng, n), b = draw(rng, n);
    if (a == b) continue;
    if (a > b) std::swap(a, b);
    if (seen.emplace(a, b).second) t.edges.push_back({a, b});
  }
  return t;
}

Topology five_nodes() { return {5, {{0, 3}, {0, 4}, {1, 2}, {2, 3}, {2, 4}, {3, 4}}}; }

std::optional<Topology> make_topology(std::string_view name, std::uint32_t n, double mean_degree, Rng& rng) {
  if (name == "line") return line(n);
  if (name == "ring") return ring(n);
  if (name == "star") return star(n);
  if (name == "tree") return tree(n);
  if (name == "grid") {
    const auto width = static_cast<std::uint32_t>(std::max(1.0, std::sqrt(static_cast<double>(n))));
    return grid(width, n / width);
  }
  if (name == "geometric") return random_geometric(n, mean_degree, rng);
  if (name == "random") return random_degree(n, mean_degree, rng);
  if (name == "five") return five_nodes();
  return std::nullopt;
}

void draw_dialers(Topology& t, Rng& rng) {
  for (Edge& e : t.edges) {
    const auto how = rng.below(3);
    e.a_dials = how != 1;
    e.b_dials = how != 2;
  }
}

}  // namespace weft::sim
