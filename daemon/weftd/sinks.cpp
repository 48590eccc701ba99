#include "weftd/sinks.h"

#include <poll.h>

namespace weft::daemon {
namespace {

constexpr int kPatienceMs = 50;   // for a socket to become writable
constexpr int kMostWaits = 4;     // per run
constexpr int kQueuePauseMs = 1;  // for a full queue below the socket, which nothing announces

bool is_frame_too_big(io::SendStatus s) { return s == io::SendStatus::too_big; }

}  // namespace

SendOutcome PortSink::send(const LinkSend& path, std::span<const Bytes> frames) {
  if (path.transport.value >= ports_.size() || ports_[path.transport.value].sockets.empty())
    return {frames.size(), Drop::send_failed};
  auto& sockets = ports_[path.transport.value].sockets;
  auto& socket = sockets[socket_ % sockets.size()];
  auto& stats = stats_[path.transport.value];
  SendOutcome out;
  int waits = 0;
  std::size_t sent = 0;
  while (sent < frames.size()) {
    const auto r = socket.send_segments(&path.to, frames.subspan(sent));
    for (std::size_t i = 0; i < r.sent; ++i) stats.bytes_sent.add(frames[sent + i].size());
    stats.packets_sent.add(r.sent);
    sent += r.sent;
    if (r.status == io::SendStatus::ok) continue;
    const bool full = r.status == io::SendStatus::would_block || r.status == io::SendStatus::no_buffers;
    if (full && waits++ < kMostWaits) {
      pollfd p{socket.fd(), POLLOUT, 0};
      if (r.status == io::SendStatus::would_block) ::poll(&p, 1, kPatienceMs);
      else ::poll(nullptr, 0, kQueuePauseMs);
      continue;
    }
    out.lost = frames.size() - sent;
    out.why = full ? Drop::send_buffer_full : Drop::send_failed;
    (is_frame_too_big(r.status) ? stats.mtu_exceeded : stats.send_errors).add(out.lost);
    break;
  }
  return out;
}

bool QueueSink::write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) {
  return queue_ != nullptr && queue_->write(vnet, pieces) == io::TunStatus::ok;
}

}  // namespace weft::daemon
