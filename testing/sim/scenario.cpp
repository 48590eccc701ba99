#include "sim/scenario.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weft::sim {

std::size_t Flow::lost(const Probes& p) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(probes, [&](std::size_t n) { return !p.arrived(n); }));
}

Duration Flow::longest_outage(const Probes& p) const {
  Duration longest{};
  Duration now{};
  for (const std::size_t n : probes) {
    now = p.arrived(n) ? Duration{} : now + every;
    longest = std::max(longest, now);
  }
  return longest;
}

World::World(Topology topology, WorldParams params)
    : topology_(std::move(topology)),
      params_(std::move(params)),
      underlay_(net_, trace_, detail::mix(params_.seed + 77), params_.link),
      probes_(net_),
      rng_(detail::mix(params_.seed) + 3) {
  params_.node.seed = params_.seed;
  for (NodeId i = 0; i < topology_.nodes; ++i) {
    NodeParams p = params_.node;
    if (params_.adjust) params_.adjust(i, p);
    auto who = i < params_.secrets.size() ? *crypto::Identity::parse_secret(params_.secrets[i])
                                          : crypto::Identity::generate(rng_);
    nodes_.push_back(
        std::make_unique<SimNode>(i, p, std::move(who), endpoint_of(i), net_, underlay_, trace_, nonces_));
    nodes_.back()->set_factory([this](const SimNode& n) { return options_for(n.id()); });
    nodes_.back()->set_on_packet([this](SimNode& n, Bytes packet) { probes_.on_packet(n, packet); });
  }
}

Endpoint World::endpoint_of(NodeId i, std::uint8_t move) {
  return Endpoint::v4({static_cast<std::uint8_t>(10 + move), static_cast<std::uint8_t>(i >> 16),
                       static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)},
                      2121);
}

NodeOptions World::options_for(NodeId i) const {
  NodeOptions o;
  const auto peer = [&](NodeId j) {
    config::Peer p;
    p.npub = nodes_[j]->identity().npub();
    p.addresses.push_back({"udp", endpoint_of(j).text(), 100});  // a file knows of no move
    o.config.peers.push_back(std::move(p));
  };
  for (const Edge& e : topology_.edges) {
    if (e.a == i && e.a_dials) peer(e.b);
    if (e.b == i && e.b_dials) peer(e.a);
  }
  if (params_.configure) params_.configure(i, o.config);
  return o;
}

void World::start() {
  for (auto& n : nodes_) {
    ++to_start_;
    net_.after(Duration{rng_.between(0, params_.stagger.count())}, [this, &n = *n] {
      --to_start_;
      n.start();
    });
  }
}

bool World::run_until(const std::function<bool()>& holds, Duration limit, Duration step) {
  const Instant end = net_.now() + limit;
  while (!holds()) {
    if (net_.now() >= end) return false;
    net_.run_for(step);
  }
  return true;
}

void World::at(Duration since_start, std::function<void()> action) {
  net_.at(net_.now() - net_.elapsed() + since_start, std::move(action));
}

// ---- oracles --------------------------------------------------------------------------------------------------------

bool World::usable(const Edge& e) const {
  return nodes_[e.a]->running() && nodes_[e.b]->running() && underlay_.link(e.a, e.b).params.up &&
         underlay_.link(e.b, e.a).params.up;
}

std::optional<std::string> World::link_complaint() const {
  for (const Edge& e : topology_.edges)
    if (usable(e) && (nodes_[e.a]->node().links().find(nodes_[e.b]->addr()) == nullptr ||
                      nodes_[e.b]->node().links().find(nodes_[e.a]->addr()) == nullptr))
      return "nodes " + std::to_string(e.a) + " and " + std::to_string(e.b) + " are not linked";
  return std::nullopt;
}

std::vector<std::uint32_t> World::components() const {
  std::vector<std::uint32_t> of(size());
  for (std::uint32_t i = 0; i < size(); ++i) of[i] = i;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge& e : topology_.edges) {
      if (!usable(e) || of[e.a] == of[e.b]) continue;
      of[e.a] = of[e.b] = std::min(of[e.a], of[e.b]);
      changed = true;
    }
  }
  return of;
}

std::optional<std::string> World::tree_complaint() const {
  const auto part = components();
  std::map<std::uint32_t, NodeAddr> root;
  std::map<NodeAddr, const SimNode*> by_addr;
  for (NodeId i = 0; i < size(); ++i) {
    if (!nodes_[i]->running()) continue;
    by_addr[nodes_[i]->addr()] = nodes_[i].get();
    const auto [it, fresh] = root.try_emplace(part[i], nodes_[i]->addr());
    if (!fresh) it->second = std::min(it->second, nodes_[i]->addr());
  }
  const auto say = [](const SimNode& n, const std::string& what) {
    return "node " + std::to_string(n.id()) + " " + what;
  };
  for (NodeId i = 0; i < size(); ++i) {
    const SimNode& n = *nodes_[i];
    if (!n.running()) continue;
    if (n.node().tree().root() != root.at(part[i])) return say(n, "believes in another root");
    std::set<NodeAddr> seen;
    for (const SimNode* at = &n; !at->node().tree().state().is_root();) {
      const NodeAddr parent = at->node().tree().state().parent();
      if (!seen.insert(at->addr()).second) return say(n, "is in a circle of parents");
      if (at->node().links().find(parent) == nullptr) return say(*at, "has a parent without a link");
      if (!by_addr.contains(parent)) return say(*at, "has a parent that is gone");
      at = by_addr.at(parent);
    }
    const auto& path = n.node().tree().path();
    for (std::size_t k = 0; k + 1 < path.size(); ++k)
      if (!by_addr.contains(path[k]) || by_addr.at(path[k])->node().tree().state().parent() != path[k + 1])
        return say(n, "has outdated coordinates");
  }
  return std::nullopt;
}

std::optional<std::string> World::complaint() const {
  if (nonces_.reused() > 0) return std::to_string(nonces_.reused()) + " counters used twice";
  if (probes_.wrong() > 0) return std::to_string(probes_.wrong()) + " packets came out wrong";
  for (const auto& n : nodes_) {
    const std::string who = "node " + std::to_string(n->id()) + ": ";
    if (n->most_wakes_at_once() > 16) return who + "the core spins at its deadline";
    if (n->deepest_lane() > n->params().lane) return who + "a lane overflowed its bound";
    if (n->running())
      if (const auto e = check_bounds(n->node())) return who + *e;
  }
  return std::nullopt;
}

// ---- traffic --------------------------------------------------------------------------------------------------------

std::vector<Pair> World::all_pairs() const {
  std::vector<Pair> out;
  for (NodeId a = 0; a < size(); ++a)
    for (NodeId b = 0; b < size(); ++b)
      if (a != b) out.emplace_back(a, b);
  return out;
}

std::vector<Pair> World::some_pairs(std::size_t n) {
  if (size() * (size() - 1) <= n) return all_pairs();
  std::set<Pair> out;
  while (out.size() < n) {
    const auto a = static_cast<NodeId>(rng_.below(size())), b = static_cast<NodeId>(rng_.below(size()));
    if (a != b) out.emplace(a, b);
  }
  return {out.begin(), out.end()};
}

World::Reach World::reach(const std::vector<Pair>& pairs, Duration limit, Duration every) {
  const Instant begin = net_.now();
  std::vector<std::vector<std::size_t>> sent(pairs.size());
  std::vector<std::optional<Instant>> done(pairs.size());
  for (const auto& [a, b] : pairs) nodes_[a]->prime(nodes_[b]->identity().key());
  Instant next_send = begin;
  for (;;) {
    bool all = true;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (const auto number : sent[i])
        if (const auto& p = probes_[number]; p.arrived && (!done[i] || *p.arrived < *done[i]))
          done[i] = p.arrived;
      all &= done[i].has_value();
    }
    if (all || net_.now() >= begin + limit) break;
    if (net_.now() >= next_send) {
      for (std::size_t i = 0; i < pairs.size(); ++i)
        if (!done[i]) sent[i].push_back(probes_.send(*nodes_[pairs[i].first], *nodes_[pairs[i].second]));
      next_send = net_.now() + every;
    }
    net_.run_for(std::min(every, Duration{20ms}));
  }
  Reach r;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!done[i]) {
      r.missing.push_back(pairs[i]);
      continue;
    }
    r.first.push_back(*done[i] - begin);
    r.took = std::max(r.took, r.first.back());
  }
  return r;
}

Flow& World::flow(NodeId from, NodeId to, Duration every, Duration lasts, std::size_t size) {
  flows_.push_back({from, to, every, {}});
  nodes_[from]->prime(nodes_[to]->identity().key());
  continue_flow(flows_.back(), net_.now() + lasts, size);
  return flows_.back();
}

void World::continue_flow(Flow& f, Instant end, std::size_t size) {
  if (net_.now() >= end) return;
  f.probes.push_back(probes_.send(*nodes_[f.from], *nodes_[f.to], size));
  net_.after(f.every, [this, &f, end, size] { continue_flow(f, end, size); });
}

void World::cut(NodeId a, NodeId b, bool up) {
  underlay_.set_both(a, b, [&](LinkParams& p) { p.up = up; });
}

}  // namespace weft::sim
