/// A whole mesh and what happens to it: nodes from a topology, things done at virtual times, questions to the oracles.
#pragma once

#include <deque>

#include "sim/probe.h"
#include "sim/topology.h"

namespace weft::sim {

struct WorldParams {
  std::uint64_t seed = 1;
  NodeParams node;
  LinkParams link;
  Duration stagger{};                                      // nodes start within this time, by lot
  std::function<void(NodeId, config::Config&)> configure;  // beyond the peers of the topology
  std::function<void(NodeId, NodeParams&)> adjust;         // where nodes differ
  std::vector<std::string> secrets;  // identities; drawn from the seed where there are none
};

using Pair = std::pair<NodeId, NodeId>;

/// Constant traffic from one node to another.
struct Flow {
  NodeId from = 0, to = 0;
  Duration every{};
  std::vector<std::size_t> probes;

  std::size_t lost(const Probes& p) const;
  /// Longest time in which nothing that was sent came through.
  Duration longest_outage(const Probes& p) const;
};

class World {
 public:
  World(Topology topology, WorldParams params);

  SimNode& operator[](NodeId i) { return *nodes_[i]; }
  std::size_t size() const { return nodes_.size(); }
  const Topology& topology() const { return topology_; }
  Net& net() { return net_; }
  Underlay& underlay() { return underlay_; }
  Probes& probes() { return probes_; }
  const Trace& trace() const { return trace_; }
  const NonceOracle& nonces() const { return nonces_; }
  static Endpoint endpoint_of(NodeId i, std::uint8_t move = 0);

  void start();
  void run_for(Duration d) { net_.run_for(d); }
  /// Looks every `step`; false when `limit` passed in vain.
  bool run_until(const std::function<bool()>& holds, Duration limit, Duration step = 50ms);
  void at(Duration since_start, std::function<void()> action);

  /// Every link of the topology that can be is up at both ends; a sentence if not.
  std::optional<std::string> link_complaint() const;
  bool all_linked() const { return !link_complaint(); }
  /// One root, the right one, and everybody's path leads there over live links without a circle; a sentence if not.
  std::optional<std::string> tree_complaint() const;
  bool converged() const { return to_start_ == 0 && all_linked() && !tree_complaint(); }
  /// Bounds of every node, lanes, spinning cores, nonces, packets that came out wrong; a sentence if not.
  std::optional<std::string> complaint() const;

  std::vector<Pair> all_pairs() const;
  std::vector<Pair> some_pairs(std::size_t n);
  struct Reach {
    std::vector<Pair> missing;
    Duration took{};              // until the last pair was reached
    std::vector<Duration> first;  // per pair: from the first packet to the first arrival
  };
  /// Sends each pair a packet, again every `every`, until all have got one or `limit` is over.
  Reach reach(const std::vector<Pair>& pairs, Duration limit, Duration every = 500ms);

  /// Starts now, ends after `lasts`.
  Flow& flow(NodeId from, NodeId to, Duration every, Duration lasts, std::size_t size = 200);
  void cut(NodeId a, NodeId b, bool up = false);

 private:
  NodeOptions options_for(NodeId i) const;
  void continue_flow(Flow& f, Instant end, std::size_t size);
  std::vector<std::uint32_t> components() const;
  bool usable(const Edge& e) const;

  Topology topology_;
  WorldParams params_;
  Net net_;
  Trace trace_;
  NonceOracle nonces_;
  mutable Underlay underlay_;
  Probes probes_;
  SeededRng rng_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::deque<Flow> flows_;
  std::size_t to_start_ = 0;
};

}  // namespace weft::sim
