/// From the interface to the wire: one worker's half of the packet path that ends in sealed frames.
///
/// on_tun takes whole and super-packets apart, clamps the MSS of SYNs, finds session and next hop, splits
/// what is up to 1280 bytes and does not fit into IPv6 fragments, answers larger ones with packet-too-big on
/// the interface, and seals both layers of a burst at a time. A packet without session or route goes to the
/// core as PuntTunPacket.
///
/// on_stray the same for what another encrypt shard read and this one must send, being the only one that feeds a link
/// to a node that is not weft (feeder_of).
///
/// Commands  all Broadcast kinds, and InjectTun. Others are ignored.
/// Order     packets of one flow leave in the order they came. Counters of the outer layer are reserved last.
/// Thread    one owner; stats() may be read by anyone. Cost: one copy per byte, no allocation in steady
///           state.
/// Source    docs/spec/session.md 2.3-2.7; docs/spec/mesh.md 4.1.
#pragma once

#include <span>

#include "dataplane/shard_io.h"
#include "dataplane/shard_stats.h"
#include "seam/command.h"

namespace weft {

class EncryptShard {
 public:
  explicit EncryptShard(ShardOptions options);
  ~EncryptShard();
  EncryptShard(EncryptShard&&) noexcept;
  EncryptShard& operator=(EncryptShard&&) noexcept;

  void apply(Instant now, Command&& command, ShardIo& io);
  void on_tun(Instant now, std::span<const TunRead> reads, ShardIo& io);
  void on_stray(Instant now, TunBurst&& burst, ShardIo& io);

  const ShardStats& stats() const;
  /// For the shell's own losses on this thread (reads cut short, queues of its own).
  ShardStats& stats();
  std::string_view aead_name() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
