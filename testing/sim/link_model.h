/// The network below the mesh: datagrams from endpoint to endpoint, each direction of each pair with faults of its own.
///
/// Seeded   every direction draws from a generator of its own, so that traffic elsewhere does not change its luck.
/// Order    kept within a direction, except for what reordering and duplication ask for.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "base/endpoint.h"
#include "base/rng.h"
#include "sim/net.h"
#include "sim/trace.h"

namespace weft::sim {

using NodeId = std::uint32_t;  // index of a node in its world

struct LinkParams {
  Duration delay = 5ms;
  Duration jitter{};  // added, uniform; does not reorder
  double loss = 0;    // probability per datagram
  double duplicate = 0;
  double reorder = 0;  // probability of being held back by `reorder_by`
  Duration reorder_by = 20ms;
  std::uint64_t bits_per_second = 0;     // 0: no limit
  std::size_t queue_bytes = 256 * 1024;  // with a rate: what waits beyond is lost
  std::size_t mtu = 65507;   // UDP payload, in fragments if need be; larger datagrams vanish without a word
  std::size_t whole = 1472;  // UDP payload that goes in one piece; larger ones that must not be cut vanish
  bool up = true;
};

struct LinkCounts {
  std::uint64_t sent = 0, bytes = 0, lost = 0, queue_full = 0, too_big = 0, duplicated = 0;
};

/// One direction.
class LinkModel {
 public:
  LinkModel(const LinkParams& p, std::uint64_t seed) : params(p), rng_(seed) {}

  /// When a datagram of `size` bytes arrives: never, once or twice.
  std::vector<Instant> pass(Instant now, std::size_t size);
  const LinkCounts& counts() const { return counts_; }

  LinkParams params;

 private:
  bool chance(double p);

  SeededRng rng_;
  Instant free_at_{};  // when the wire has sent what waits
  Instant last_{};     // newest arrival, so that jitter keeps the order
  LinkCounts counts_;
};

struct Datagram {
  NodeId from_node = 0;
  NodeId to_node = 0;
  Endpoint from, to;
  std::uint8_t kind = 0;  // what its sender says it is for; not on the wire
  Bytes bytes;
};

class Underlay {
 public:
  /// Datagrams that arrive at one moment, in order.
  using Receive = std::function<void(const Endpoint& from, std::vector<Buffer>&& datagrams)>;
  /// Asked before a datagram enters the wire; false: lost.
  using Filter = std::function<bool(const Datagram&)>;

  Underlay(Net& net, Trace& trace, std::uint64_t seed, const LinkParams& defaults)
      : net_(net), trace_(trace), seed_(seed), defaults_(defaults) {}

  void bind(const Endpoint& at, NodeId node, Receive receive);
  void unbind(const Endpoint& at) { bound_.erase(at); }
  void send(NodeId from_node, const Endpoint& from, const Endpoint& to, std::span<const Bytes> datagrams,
            std::uint8_t kind = 0);
  /// Not to be fragmented.
  void send_whole(NodeId from_node, const Endpoint& from, const Endpoint& to, Bytes datagram,
                  std::uint8_t kind = 0);
  /// From an address that nobody has.
  void inject(const Endpoint& from, const Endpoint& to, Bytes datagram, Duration delay = {});

  /// The direction from `a` to `b`.
  LinkModel& link(NodeId a, NodeId b);
  void set_both(NodeId a, NodeId b, const std::function<void(LinkParams&)>& change);
  void set_defaults(const std::function<void(LinkParams&)>& change);
  void set_filter(Filter f) { filter_ = std::move(f); }
  LinkCounts totals() const;
  std::uint64_t unroutable() const { return unroutable_; }

 private:
  struct Bound {
    NodeId node = 0;
    Receive receive;
  };
  void deliver_at(Instant when, const Endpoint& from, const Endpoint& to, std::vector<Buffer>&& datagrams);

  Net& net_;
  Trace& trace_;
  std::uint64_t seed_;
  LinkParams defaults_;
  std::map<Endpoint, Bound> bound_;
  std::map<std::pair<NodeId, NodeId>, LinkModel> links_;
  Filter filter_;
  std::uint64_t unroutable_ = 0;
};

}  // namespace weft::sim
