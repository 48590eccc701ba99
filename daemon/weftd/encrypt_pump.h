/// From one queue of the interface to the wire.
#pragma once

#include "dataplane/encrypt_shard.h"
#include "weftd/shard_pump.h"
#include "weftd/sinks.h"

namespace weft::daemon {

class EncryptPump final : public ShardPump, private TunStraySink {
 public:
  /// `queue` may be null. Sends on socket `o.id mod decrypt workers` of each port. Made before any
  /// thread starts. Throws std::system_error when the process is out of descriptors.
  EncryptPump(ShardOptions o, io::TunQueue* queue, std::vector<UdpPort>& ports, TunStrayRings& strays,
              io::PollSet& poll, std::uint64_t first_tag, Waker& thread, Waker& control);

  bool turn() override;
  bool idle() const override { return inbox_.empty() && strays_.empty(number_); }
  void on_ready(std::uint64_t) override {
  }  // every turn reads the queue: an empty one costs less than to keep track
  const ShardStats& stats() const override { return shard_.stats(); }
  std::string_view aead_name() const override { return shard_.aead_name(); }

 private:
  void apply_commands();
  void read_burst();
  /// False: there was none.
  bool take_strays();
  bool hand_over(WorkerId worker, TunBurst&& burst) override;

  std::size_t number_;
  TunStrayRings& strays_;
  io::TunQueue* queue_;
  PortSink wire_;
  QueueSink tun_;
  EncryptShard shard_;
  ShardIo io_;
  Buffer arena_;
  std::vector<TunRead> reads_;
};

}  // namespace weft::daemon
