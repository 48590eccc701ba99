/// From the wire to the interface, and onwards: the worker that is home to receiving halves of links and
/// sessions.
///
/// on_wire  opens the frames of a burst together; passes transit datagrams on under the outgoing link's key,
///          in place; opens what is for us, rebuilds IPv6 headers and writes joined packets to the interface.
///          Everything that needs a decision goes to the core as a Punt.
/// on_stray the same for what another decrypt shard received and this one is home to.
/// apply    every Command but InjectTun. SendLink, SendSession and the reports are sealed and sent before it
///          returns.
///
/// Errors   a refused frame is counted in stats().drops and touches nothing else; one bad frame of a burst
///          does not harm its neighbours.
/// Thread   one owner; stats() may be read by anyone. Cost: no copy of a payload, no allocation in steady
///          state.
/// Source   docs/spec/link.md 4-7; docs/spec/mesh.md 4.1, 4.2, 4.5, 5.9; docs/spec/session.md 1.3, 2.5, 2.6.
#pragma once

#include <span>

#include "dataplane/shard_io.h"
#include "dataplane/shard_stats.h"
#include "seam/command.h"

namespace weft {

class DecryptShard {
 public:
  explicit DecryptShard(ShardOptions options);
  ~DecryptShard();
  DecryptShard(DecryptShard&&) noexcept;
  DecryptShard& operator=(DecryptShard&&) noexcept;

  void apply(Instant now, Command&& command, ShardIo& io);
  void on_wire(Instant now, TransportId transport, std::span<const WireRead> reads, ShardIo& io);
  /// Before on_wire: the burst has `taken` bytes, and `left` bytes wait at the socket it came from.
  void on_queue(Instant now, std::size_t taken, std::size_t left);
  void on_stray(Instant now, StrayBurst&& burst, ShardIo& io);

  const ShardStats& stats() const;
  /// For the shell's own losses on this thread.
  ShardStats& stats();
  std::string_view aead_name() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
