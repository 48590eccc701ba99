/// Where a shard's output goes: sockets, a TUN queue.
///
/// Thread   one sink object per worker.
#pragma once

#include "dataplane/shard_io.h"
#include "io/tun_device.h"
#include "weftd/udp_ports.h"

namespace weft::daemon {

class PortSink final : public WireSink {
 public:
  /// Sends on socket `socket` of each port. Both must outlive the sink.
  PortSink(std::vector<UdpPort>& ports, std::vector<PortStats>& stats, std::size_t socket)
      : ports_(ports), stats_(stats), socket_(socket) {}

  /// Waits for a full socket a little, so that a burst makes its sender slower before it loses frames.
  SendOutcome send(const LinkSend& path, std::span<const Bytes> frames) override;
  /// A refusal is what probes are for: it is no trouble, and no line in the log.
  void send_whole(const LinkSend& path, Bytes frame) override;

 private:
  std::vector<UdpPort>& ports_;
  std::vector<PortStats>& stats_;
  std::size_t socket_;
};

class QueueSink final : public TunSink {
 public:
  /// `queue` may be null: a router without interface.
  explicit QueueSink(io::TunQueue* queue) : queue_(queue) {}
  bool write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) override;

 private:
  io::TunQueue* queue_;
};

}  // namespace weft::daemon
