/// From the wire to the interface and onwards: the listening sockets of one number, one of each port, and the connected
/// sockets of the links whose home this shard is.
#pragma once

#include "dataplane/decrypt_shard.h"
#include "weftd/link_sockets.h"
#include "weftd/shard_pump.h"
#include "weftd/sinks.h"

namespace weft::daemon {

class DecryptPump final : public ShardPump, private StraySink {
 public:
  /// `tun` is the queue it writes to, or null. Made before any thread starts. Throws std::system_error when the process is out of descriptors.
  DecryptPump(ShardOptions o, io::TunQueue* tun, std::vector<UdpPort>& ports, StrayRings& strays,
              io::PollSet& poll, std::uint64_t first_tag, Waker& thread, Waker& control);

  bool turn() override;
  bool idle() const override;
  int patience() const override;
  void on_ready(std::uint64_t tag) override;
  const ShardStats& stats() const override { return shard_.stats(); }
  std::string_view aead_name() const override { return shard_.aead_name(); }

 private:
  void apply_commands();
  void take_strays();
  /// One batch. False: nothing more is there for now.
  bool receive(io::UdpSocket& socket, std::size_t port, bool& dead);
  void receive_port(std::size_t port);
  bool receive_link(LinkSocket& socket);
  bool hand_over(WorkerId home, StrayBurst&& burst) override;

  std::size_t number_;
  std::vector<UdpPort>& ports_;
  StrayRings& strays_;
  PortSink wire_;
  QueueSink tun_;
  DecryptShard shard_;
  ShardIo io_;
  io::RecvBatch batch_;
  std::size_t limit_ = 8;  // datagrams or trains of the next receive call
  std::vector<WireRead> reads_;
  std::vector<bool> ready_;  // by port: may have more to read
  LinkSockets links_;
};

}  // namespace weft::daemon
