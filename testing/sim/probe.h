/// Real IPv6 packets with a number in them: sent by one node's programs, recognised where they come out.
#pragma once

#include <map>
#include <vector>

#include "sim/sim_node.h"

namespace weft::sim {

class Probes {
 public:
  static constexpr std::size_t kSmallest = 64;  // IPv6, UDP, marker and number

  explicit Probes(Net& net) : net_(net) {}

  struct Probe {
    NodeId from = 0, to = 0;
    Instant sent;
    std::optional<Instant> arrived;
    std::uint32_t copies = 0;
  };

  /// UDP of `size` bytes in all; the number to ask for later.
  std::size_t send(SimNode& from, SimNode& to, std::size_t size = kSmallest);
  void on_packet(SimNode& at, Bytes packet);

  const Probe& operator[](std::size_t number) const { return probes_[number]; }
  bool arrived(std::size_t number) const { return probes_[number].arrived.has_value(); }
  std::size_t size() const { return probes_.size(); }
  /// Came out somewhere else, or with other bytes than went in.
  std::uint64_t wrong() const { return wrong_; }
  std::uint64_t repeated() const { return repeated_; }
  std::uint64_t fragments() const { return fragments_; }
  std::uint64_t unreachables() const { return unreachables_; }
  /// Of the newest packet-too-big at a node.
  std::optional<std::uint32_t> too_big_at(NodeId node) const;

 private:
  void on_udp(SimNode& at, Bytes packet);
  void on_fragment(SimNode& at, Bytes packet);

  struct Pieces {
    std::map<std::size_t, Buffer> by_offset;
    std::optional<std::size_t> total;
  };
  Net& net_;
  std::vector<Probe> probes_;
  std::map<std::pair<MeshAddr, std::uint32_t>, Pieces> pieces_;
  std::map<NodeId, std::uint32_t> too_big_;
  std::uint64_t wrong_ = 0, repeated_ = 0, fragments_ = 0, unreachables_ = 0;
};

}  // namespace weft::sim
