/// One node: the shipped Node and its shards, with virtual wires, interface and thread wake-ups around them.
///
/// Owners    core, encrypt and decrypt shards take turns as threads would: what one hands to another is in a bounded
///           queue at once, and looked at after a random wake-up time or before the next packet, whichever is first.
/// Restart   kill() destroys everything but the identity; start() begins anew.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "dataplane/decrypt_shard.h"
#include "dataplane/encrypt_shard.h"
#include "sim/link_model.h"
#include "sim/oracle.h"

namespace weft::sim {

struct NodeParams {
  std::uint64_t seed = 1;
  std::uint32_t shards = 1;  // of each pool
  Duration wake_up = 50us;   // a thread looks at its queues within this time
  std::uint16_t mtu = 1280;  // of the transport
  std::size_t lane = 1024;   // punts per lane, bursts between shards
  double missteer = 0;       // sealed frames that the kernel gives to a wrong decrypt shard
  bool ticks = true;         // history rings
  bool plain = false;        // as a node of the reference: knows no message of weft's own
  int log_level = -1;        // of Level; -1: silent
};

/// What a wire byte was for.
enum class Traffic : std::uint8_t {
  handshake,
  tree,
  filter,
  lookup,
  heartbeat,
  report,
  datagram,
  other,
  data,
  count_
};
std::string_view name_of(Traffic t);
struct TrafficCount {
  std::uint64_t frames = 0, bytes = 0;
};
using TrafficCounts = std::array<TrafficCount, static_cast<std::size_t>(Traffic::count_)>;

class SimNode final : private WireSink, private TunSink, private PuntSink, private StraySink {
 public:
  using OnPacket = std::function<void(SimNode& at, Bytes packet)>;
  using Factory = std::function<NodeOptions(const SimNode&)>;

  SimNode(NodeId id, const NodeParams& params, crypto::Identity identity, const Endpoint& endpoint, Net& net,
          Underlay& underlay, Trace& trace, NonceOracle& nonces);
  ~SimNode() override;

  /// Options are asked for at every start.
  void set_factory(Factory f) { factory_ = std::move(f); }
  void set_on_packet(OnPacket f) { on_packet_ = std::move(f); }

  void start();
  /// As kill -9 does it.
  void kill();
  /// As SIGTERM does it.
  void stop();
  bool running() const { return node_ != nullptr; }
  /// The machine has another address from now on, and has noticed.
  void move_to(const Endpoint& endpoint, bool noticed = true);
  /// Something that an operator does.
  void act(const std::function<void(Node&, Now, Outbox&)>& what);
  /// The name was asked for, so the key behind the address is known.
  void prime(const PublicKey& key);
  /// A packet from a local program.
  void send_packet(Buffer packet);

  NodeId id() const { return id_; }
  const crypto::Identity& identity() const { return identity_; }
  const NodeAddr& addr() const { return identity_.addr(); }
  const Endpoint& endpoint() const { return endpoint_; }
  Node& node() { return *node_; }
  const Node& node() const { return *node_; }
  const NodeParams& params() const { return params_; }
  /// Changes count from the next start.
  NodeParams& params() { return params_; }

  const TrafficCounts& traffic() const { return traffic_; }
  /// Of core and shards together, of this run.
  std::uint64_t drops(Drop d) const;
  std::string drops_text() const;
  std::uint64_t forwarded() const;
  std::uint64_t fragmented() const;
  std::size_t deepest_lane() const { return deepest_; }
  const EncryptShard& encrypt_shard(std::size_t i) const { return *encrypt_[i].shard; }
  const DecryptShard& decrypt_shard(std::size_t i) const { return *decrypt_[i].shard; }
  /// Wake-ups of the core by its deadline; a node at rest has few.
  std::uint64_t core_wakes() const { return core_wakes_; }
  /// Most consecutive deadlines at one moment: a core that spins shows here.
  std::uint64_t most_wakes_at_once() const { return most_wakes_at_once_; }
  /// Messages of weft's own that came.
  std::uint64_t own_messages() const { return own_messages_; }
  const std::string& kept_peers() const { return kept_peers_; }

 private:
  class NodeLog final : public Log {
   public:
    NodeLog(NodeId id, const Net& net, int level) : id_(id), net_(net), level_(level) {}
    bool wants(Level l) const override { return level_ >= 0 && static_cast<int>(l) >= level_; }
    void line(Level l, std::string_view topic, std::string_view text) override;

   private:
    NodeId id_;
    const Net& net_;
    int level_;
  };
  template <class Shard>
  struct Worker {
    std::unique_ptr<Shard> shard;
    std::deque<Command> commands;
    std::deque<StrayBurst> strays;
    bool wake_set = false;
  };

  // Sinks
  SendOutcome send(const LinkSend& path, std::span<const Bytes> frames) override;
  void send_whole(const LinkSend& path, Bytes frame) override;
  bool write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) override;
  bool punt(Punt&& p) override;
  bool hand_over(WorkerId home, StrayBurst&& burst) override;

  ShardIo io() { return {*this, *this, *this, this}; }
  template <class W>
  void wake_soon(W& worker, std::size_t index);
  void drain(Worker<EncryptShard>& w);
  void drain(Worker<DecryptShard>& w);
  template <class W>
  void apply(W& worker, Command&& c);
  void on_wire(const Endpoint& from, std::vector<Buffer>&& datagrams);
  void core_wake();
  void run_core();
  void carry_out(Outbox& out);
  void arm();
  void on_deadline(std::uint64_t generation);
  void tick();
  template <class F>
  void guarded_after(Duration d, F f);

  NodeId id_;
  NodeParams params_;
  crypto::Identity identity_;
  Endpoint endpoint_;
  Net& net_;
  Underlay& underlay_;
  Trace& trace_;
  NonceOracle& nonces_;
  NodeLog log_;
  SeededRng rng_;   // the node's
  SeededRng pace_;  // of wake-ups
  Factory factory_;
  OnPacket on_packet_;

  std::unique_ptr<Node> node_;
  std::deque<Worker<EncryptShard>> encrypt_;
  std::deque<Worker<DecryptShard>> decrypt_;
  std::array<std::deque<Punt>, kLanes> lanes_;
  bool core_wake_set_ = false;
  std::uint64_t run_ = 0;  // counts starts and ends: events of an earlier run are void
  std::optional<Instant> armed_;
  std::uint64_t arm_generation_ = 0;
  Traffic current_ = Traffic::data;
  TrafficCounts traffic_{};
  std::size_t deepest_ = 0;
  std::uint64_t core_wakes_ = 0;
  Instant last_wake_{};
  std::uint64_t wakes_at_once_ = 0;
  std::uint64_t most_wakes_at_once_ = 0;
  std::string kept_peers_;
  std::uint64_t own_messages_ = 0;
};

}  // namespace weft::sim
