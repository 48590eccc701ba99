/// One link's own socket: bound to its transport's address and port, connected to the peer.
///
/// Life     the control thread opens it and puts a SendLease on it into the link's sending state; the link's home worker
///          reads it. When the lease is taken back, the home goes on reading until every worker has let go of it, and
///          only then parks and closes it: so nothing is sent to a descriptor that is no more, and nothing that arrives
///          is lost.
/// Thread   sending: any. Reading: the home worker. The atomics: any.
#pragma once

#include <atomic>

#include "io/udp_socket.h"
#include "seam/halves.h"

namespace weft::daemon {

struct LinkSocket {
  LinkSocket(io::UdpSocket s, LinkId l, TransportId t, const Endpoint& p)
      : udp(std::move(s)), link(l), transport(t), peer(p) {}

  io::UdpSocket udp;
  LinkId link;
  TransportId transport;
  Endpoint peer;
  std::atomic<int> trouble{0};        // errno for which a worker gave it up; from then on nobody sends on it
  std::atomic<bool> released{false};  // no worker can send on it any more
};

/// The right to send on a link's own socket. The last one to drop it says so to the home.
class SendLease final : public PathSocket {
 public:
  explicit SendLease(std::shared_ptr<LinkSocket> s) : socket_(std::move(s)) {}
  ~SendLease() override { socket_->released.store(true, std::memory_order_release); }

  LinkSocket& socket() const { return *socket_; }
  const std::shared_ptr<LinkSocket>& shared() const { return socket_; }

 private:
  std::shared_ptr<LinkSocket> socket_;
};

/// The link's own socket while it is good for sending, else null.
inline LinkSocket* own_socket(const LinkSend& path) {
  if (path.socket == nullptr) return nullptr;
  LinkSocket& s = static_cast<const SendLease&>(*path.socket).socket();
  return s.trouble.load(std::memory_order_relaxed) == 0 ? &s : nullptr;
}

}  // namespace weft::daemon
