#include "weftd/sinks.h"

#include <poll.h>

#include "weftd/link_socket.h"

namespace weft::daemon {
namespace {

constexpr int kPatienceMs = 50;   // for a socket to become writable
constexpr int kMostWaits = 4;     // per run
constexpr int kQueuePauseMs = 1;  // for a full queue below the socket, which nothing announces

Drop drop_of(io::SendStatus s) {
  switch (s) {
    case io::SendStatus::would_block:
    case io::SendStatus::no_buffers:
      return Drop::send_buffer_full;
    case io::SendStatus::too_big:
      return Drop::send_too_big;
    case io::SendStatus::unreachable:
      return Drop::send_unreachable;
    default:
      return Drop::send_failed;
  }
}

SendCause cause_of(Drop why) {
  switch (why) {
    case Drop::send_buffer_full:
      return SendCause::buffer_full;
    case Drop::send_too_big:
      return SendCause::too_big;
    case Drop::send_unreachable:
      return SendCause::unreachable;
    default:
      return SendCause::other;
  }
}

/// False when it has been waited for long enough.
bool wait_for_room(const io::UdpSocket& socket, io::SendStatus why, int& waits) {
  if (waits++ >= kMostWaits) return false;
  pollfd p{socket.fd(), POLLOUT, 0};
  if (why == io::SendStatus::would_block) ::poll(&p, 1, kPatienceMs);
  else ::poll(nullptr, 0, kQueuePauseMs);
  return true;
}

}  // namespace

SendOutcome PortSink::send(const LinkSend& path, std::span<const Bytes> frames) {
  if (path.transport.value >= ports_.size() || ports_[path.transport.value].sockets.empty())
    return {frames.size(), Drop::send_failed};
  auto& sockets = ports_[path.transport.value].sockets;
  auto& listening = sockets[socket_ % sockets.size()];
  auto& stats = stats_[path.transport.value];
  LinkSocket* own = own_socket(path);
  SendOutcome out;
  int waits = 0;
  bool refused = false;  // the frame before, too
  for (std::size_t at = 0; at < frames.size();) {
    auto& socket = own != nullptr ? own->udp : listening;
    const auto r = socket.send_segments(own != nullptr ? nullptr : &path.to, frames.subspan(at));
    for (std::size_t i = 0; i < r.sent; ++i) stats.bytes_sent.add(frames[at + i].size());
    stats.packets_sent.add(r.sent);
    at += r.sent;
    if (r.offload_error != 0) stats.trouble(SendCause::offload).add(1, r.offload_error, path.link);
    if (r.status == io::SendStatus::ok) break;
    const bool full = r.status == io::SendStatus::would_block || r.status == io::SendStatus::no_buffers;
    if (full && wait_for_room(socket, r.status, waits)) continue;
    if (own != nullptr && (r.status == io::SendStatus::unreachable || r.status == io::SendStatus::gone)) {
      // Perhaps only its own address is gone; the listening socket takes the one that the system chooses now.
      own->trouble.store(r.error, std::memory_order_relaxed);
      own = nullptr;
      stats.trouble(SendCause::own_socket).add(1, r.error, path.link);
      continue;
    }
    // A refusal may be about one frame (a packet filter, a size); two in a row are about all.
    const std::size_t lost = full || (refused && r.sent == 0) ? frames.size() - at : 1;
    refused = true;
    out.lost += lost;
    out.why = drop_of(r.status);
    at += lost;
    (out.why == Drop::send_too_big ? stats.mtu_exceeded : stats.send_errors).add(lost);
    stats.trouble(cause_of(out.why)).add(lost, r.error, path.link);
  }
  return out;
}

void PortSink::send_whole(const LinkSend& path, Bytes frame) {
  if (path.transport.value >= ports_.size() || ports_[path.transport.value].sockets.empty()) return;
  auto& sockets = ports_[path.transport.value].sockets;
  LinkSocket* own = own_socket(path);
  auto& socket = own != nullptr ? own->udp : sockets[socket_ % sockets.size()];
  const auto r = socket.send_whole(own != nullptr ? nullptr : &path.to, frame);
  if (r.sent == 0) return;
  stats_[path.transport.value].packets_sent.add(1);
  stats_[path.transport.value].bytes_sent.add(frame.size());
}

bool QueueSink::write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) {
  return queue_ != nullptr && queue_->write(vnet, pieces) == io::TunStatus::ok;
}

}  // namespace weft::daemon
