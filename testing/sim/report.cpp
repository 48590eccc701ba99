#include "sim/report.h"

#include <algorithm>
#include <cmath>

namespace weft::sim {
namespace {

constexpr Duration kRest = 20s;  // at the end, or half of the run when that is shorter

double seconds(Duration d) { return static_cast<double>(d.count()) / 1e9; }

std::vector<TrafficCounts> traffic_of(World& w) {
  std::vector<TrafficCounts> out;
  for (NodeId i = 0; i < w.size(); ++i) out.push_back(w[i].traffic());
  return out;
}

void measure_tree(World& w, RunReport& r) {
  for (NodeId i = 0; i < w.size(); ++i) {
    const std::size_t depth = w[i].node().tree().state().depth();
    r.depth_mean += static_cast<double>(depth) / static_cast<double>(w.size());
    r.depth_worst = std::max(r.depth_worst, depth);
  }
}

/// A packet's hops are told by its time under way, since every link takes the same.
void measure_stretch(World& w, const RunOptions& o, const std::vector<Pair>& pairs, RunReport& r) {
  if (o.link.jitter > Duration{} || o.link.delay < 2ms) return;
  std::vector<std::size_t> sent;
  for (const auto& [a, b] : pairs) sent.push_back(w.probes().send(w[a], w[b]));
  w.run_for(o.link.delay * 200);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& p = w.probes()[sent[i]];
    if (!p.arrived) continue;
    const double hops = std::round(seconds(*p.arrived - p.sent) / seconds(o.link.delay));
    const double stretch = hops / w.topology().hops_from(pairs[i].first)[pairs[i].second];
    ++r.stretch_pairs;
    r.stretch_mean += stretch;
    r.stretch_worst = std::max(r.stretch_worst, stretch);
  }
  if (r.stretch_pairs > 0) r.stretch_mean /= static_cast<double>(r.stretch_pairs);
}

void measure_control(World& w, const std::vector<TrafficCounts>& before, RunReport& r) {
  const auto n = static_cast<double>(w.size());
  for (std::size_t k = 0; k < static_cast<std::size_t>(Traffic::data); ++k) {
    double all = 0, rest = 0;
    for (NodeId i = 0; i < w.size(); ++i) {
      all += static_cast<double>(w[i].traffic()[k].bytes);
      rest += static_cast<double>(w[i].traffic()[k].bytes - before[i][k].bytes);
    }
    all /= n * seconds(w.net().elapsed());
    rest /= n * seconds(r.rest_window);
    r.by_kind.emplace_back(name_of(static_cast<Traffic>(k)), all, rest);
    r.control_rate += all;
    r.rest_rate += rest;
  }
  for (NodeId i = 0; i < w.size(); ++i) {
    double mine = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(Traffic::data); ++k)
      mine += static_cast<double>(w[i].traffic()[k].bytes - before[i][k].bytes) / seconds(r.rest_window);
    r.rest_worst = std::max(r.rest_worst, mine);
  }
}

}  // namespace

Result<RunReport, std::string> run(const RunOptions& o) {
  SeededRng rng(detail::mix(o.seed) ^ 0x746f706f);
  auto topology = make_topology(o.topology, o.nodes, o.degree, rng);
  if (!topology) return bad("no topology is called " + o.topology);
  draw_dialers(*topology, rng);
  WorldParams params{.seed = o.seed, .link = o.link, .stagger = o.stagger};
  params.node.shards = o.shards;
  params.node.log_level = o.log_level;

  RunReport r;
  r.nodes = topology->nodes;
  r.links = topology->edges.size();
  r.mean_degree = topology->mean_degree();
  for (NodeId i = 0; i < r.nodes; ++i)
    for (const auto h : topology->hops_from(i)) r.diameter = std::max(r.diameter, h);

  World w(std::move(*topology), params);
  w.start();
  const auto left = [&] { return std::max(Duration{}, o.lasts - w.net().elapsed()); };
  if (w.run_until([&] { return w.converged(); }, left(), 100ms)) r.one_root = w.net().elapsed();
  const auto pairs = w.some_pairs(o.pairs);
  r.pairs = pairs.size();
  const auto reached = w.reach(pairs, left());
  r.missing = reached.missing.size();
  if (reached.missing.empty()) r.all_pairs = w.net().elapsed();
  auto first = reached.first;
  std::ranges::sort(first);
  if (!first.empty()) r.first_median = first[first.size() / 2], r.first_worst = first.back();

  measure_stretch(w, o, pairs, r);
  r.rest_window = std::min(kRest, left() / 2);
  w.run_for(left() - r.rest_window);
  const auto before = traffic_of(w);
  w.run_for(r.rest_window);
  if (r.rest_window == Duration{}) r.rest_window = 1s;
  measure_control(w, before, r);
  measure_tree(w, r);
  r.events = w.net().events();
  r.seals = w.nonces().seals();
  r.keys = w.nonces().keys();
  r.trace = w.trace().hash();
  if (const auto e = w.complaint()) r.complaint = *e;
  else if (const auto t = w.tree_complaint()) r.complaint = *t;
  else if (const auto l = w.link_complaint()) r.complaint = *l;
  else if (!r.one_root) r.complaint = "agreement on one root came late";
  else if (r.missing > 0) r.complaint = "pairs were not reached";
  return r;
}

}  // namespace weft::sim
