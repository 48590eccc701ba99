// One datagram a call: macOS has no documented call for several.
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "io/sockaddr.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

// Errors of an earlier datagram of a connected socket (an ICMP message came back): reported once, and then gone.
bool is_pending_error(int error) {
  return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
}
constexpr int kPendingErrors = 2;

SendResult send_one(int fd, bool connected, SendFault* fault, const Endpoint* to, Bytes data) {
  SockAddr name;
  const socklen_t length = to == nullptr ? 0 : to_sockaddr(*to, name);
  for (int pending = 0;;) {
    errno = fault == nullptr ? 0 : fault->refuse(false, 1, data.size());
    if (errno == 0 &&
        sendto(fd, data.data(), data.size(), MSG_DONTWAIT, length > 0 ? &name.any : nullptr, length) >= 0)
      return {SendStatus::ok, 1, 0};
    if (errno == EINTR || (connected && is_pending_error(errno) && pending++ < kPendingErrors)) continue;
    return {classify_send_error(errno), 0, errno};
  }
}

}  // namespace

struct RecvBatch::State {
  std::unique_ptr<std::uint8_t[]> own;
  std::vector<MutBytes> buffers;
  std::vector<Received> received;
};

RecvBatch::RecvBatch(std::size_t slots, std::size_t bytes) : state_(std::make_unique<State>()) {
  state_->own = std::make_unique_for_overwrite<std::uint8_t[]>(slots * bytes);
  for (std::size_t i = 0; i < slots; ++i) state_->buffers.emplace_back(state_->own.get() + i * bytes, bytes);
  state_->received.reserve(slots);
}
RecvBatch::RecvBatch(RecvBatch&&) noexcept = default;
RecvBatch& RecvBatch::operator=(RecvBatch&&) noexcept = default;
RecvBatch::~RecvBatch() = default;

std::size_t RecvBatch::slots() const { return state_->buffers.size(); }
std::span<const Received> RecvBatch::received() const { return state_->received; }
void RecvBatch::set_buffer(std::size_t slot, MutBytes buffer) { state_->buffers[slot] = buffer; }

RecvStatus UdpSocket::recv_batch(RecvBatch& batch, std::size_t most) {
  auto& b = *batch.state_;
  b.received.clear();
  most = std::min(most, b.buffers.size());
  for (int tries = 0; b.received.size() < most && tries < 8;) {
    const MutBytes room = b.buffers[b.received.size()];
    SockAddr from{};
    iovec part{room.data(), room.size()};
    msghdr m{};
    m.msg_name = &from;
    m.msg_namelen = sizeof from;
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    const auto n = recvmsg(fd_.get(), &m, MSG_DONTWAIT);
    if (n >= 0) {
      const auto size = static_cast<std::size_t>(n);
      b.received.push_back({from_sockaddr(from), room.first(size), size, (m.msg_flags & MSG_TRUNC) != 0});
      continue;
    }
    if (errno == EINTR || is_pending_error(errno)) {
      ++tries;
      continue;
    }
    if (errno == EAGAIN || !b.received.empty()) break;
    return errno == EBADF || errno == ENOTSOCK ? RecvStatus::gone : RecvStatus::other;
  }
  return b.received.empty() ? RecvStatus::would_block : RecvStatus::ok;
}

SendResult UdpSocket::send_singles(const Endpoint* to, std::span<const Bytes> datagrams) {
  if (to != nullptr && to->family != family_) return {SendStatus::unreachable, 0, EAFNOSUPPORT};
  SendResult all;
  for (const Bytes d : datagrams) {
    const auto r = send_one(fd_.get(), connected_, fault_, to, d);
    if (r.status != SendStatus::ok) return {r.status, all.sent, r.error};
    ++all.sent;
  }
  return all;
}

SendResult UdpSocket::send_batch(std::span<const Datagram> datagrams) {
  SendResult all;
  for (const Datagram& d : datagrams) {
    const auto r = send_singles(d.to.is_set() ? &d.to : nullptr, std::span<const Bytes>(&d.data, 1));
    if (r.status != SendStatus::ok) return {r.status, all.sent, r.error};
    ++all.sent;
  }
  return all;
}

SendResult UdpSocket::send_segments(const Endpoint* to, std::span<const Bytes> datagrams) {
  return send_singles(to, datagrams);
}

}  // namespace weft::io
