#include <netinet/udp.h>
#include <sys/uio.h>

#include <cerrno>

#include "io/clock.h"
#include "io/sockaddr.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

// Errors that may belong to an earlier datagram of a connected socket (an ICMP message came back): reported once, and
// then gone. The datagram at hand was not sent.
bool is_pending_error(int error) {
  return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN ||
         error == EPROTO || error == ENOPROTOOPT || error == EACCES || error == EMSGSIZE;
}

// Refusals of one segmented run that say nothing about its datagrams: too large a segment for the path (EINVAL,
// EMSGSIZE), or no offload on this path at all.
bool is_offload_refusal(int error) {
  return error == EINVAL || error == EMSGSIZE || error == EIO || error == EOPNOTSUPP || error == ENOPROTOOPT;
}
bool is_about_size(int error) { return error == EINVAL || error == EMSGSIZE; }

// How often one datagram is tried again because of errors that came back for earlier ones; one that stays is its own.
constexpr int kPendingErrors = 2;

int as_errno(int refusal) {
  errno = refusal;
  return -1;
}

// Calls `fill(i, name, iov)` for each datagram; fill gives the length of the name, or -1 for a name of
// another family.
template <class Fill>
SendResult send_many(int fd, bool connected, SendFault* fault, std::size_t count, Fill fill) {
  std::array<mmsghdr, kMaxSendBatch> messages;
  std::array<iovec, kMaxSendBatch> parts;
  std::array<SockAddr, kMaxSendBatch> names;
  SendResult result;
  int pending = 0;
  while (result.sent < count) {
    unsigned n = 0;
    for (; n < kMaxSendBatch && result.sent + n < count; ++n) {
      const int length = fill(result.sent + n, names[n], parts[n]);
      if (length < 0) break;
      messages[n] = {};
      messages[n].msg_hdr.msg_name = length > 0 ? &names[n] : nullptr;
      messages[n].msg_hdr.msg_namelen = static_cast<socklen_t>(length);
      messages[n].msg_hdr.msg_iov = &parts[n];
      messages[n].msg_hdr.msg_iovlen = 1;
    }
    if (n == 0) return {SendStatus::unreachable, result.sent, EAFNOSUPPORT};
    const int refusal = fault == nullptr ? 0 : fault->refuse(false, n, parts[0].iov_len);
    const int done =
        refusal != 0 ? as_errno(refusal) : sendmmsg(fd, messages.data(), n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done > 0) {
      result.sent += static_cast<std::size_t>(done);
      pending = 0;
      continue;
    }
    if (errno == EINTR) continue;
    if (connected && pending++ < kPendingErrors && is_pending_error(errno)) continue;
    return {classify_send_error(errno), result.sent, errno};
  }
  return result;
}

iovec to_iovec(Bytes b) { return {const_cast<std::uint8_t*>(b.data()), b.size()}; }

}  // namespace

struct RecvBatch::State {
  // Room for the two things we ask for: UDP_GRO's segment size and the drop counter.
  struct alignas(cmsghdr) Control {
    std::array<char, 2 * CMSG_SPACE(sizeof(int))> bytes;
  };
  std::unique_ptr<std::uint8_t[]> own;  // not touched before it is used: pages that no burst needs cost nothing
  std::vector<MutBytes> buffers;
  std::vector<iovec> parts;
  std::vector<mmsghdr> messages;
  std::vector<SockAddr> names;
  std::vector<Control> controls;
  std::vector<Received> received;

  void arm(std::size_t i) {
    parts[i] = {buffers[i].data(), buffers[i].size()};
    messages[i] = {};
    auto& h = messages[i].msg_hdr;
    h.msg_name = &names[i];
    h.msg_namelen = sizeof names[i];
    h.msg_iov = &parts[i];
    h.msg_iovlen = 1;
    h.msg_control = controls[i].bytes.data();
    h.msg_controllen = controls[i].bytes.size();
  }
};

RecvBatch::RecvBatch(std::size_t slots, std::size_t bytes) : state_(std::make_unique<State>()) {
  state_->own = std::make_unique_for_overwrite<std::uint8_t[]>(slots * bytes);
  state_->buffers.resize(slots);
  state_->parts.resize(slots);
  state_->messages.resize(slots);
  state_->names.resize(slots);
  state_->controls.resize(slots);
  state_->received.reserve(slots);
  for (std::size_t i = 0; i < slots; ++i) {
    state_->buffers[i] = MutBytes(state_->own.get() + i * bytes, bytes);
    state_->arm(i);
  }
}
RecvBatch::RecvBatch(RecvBatch&&) noexcept = default;
RecvBatch& RecvBatch::operator=(RecvBatch&&) noexcept = default;
RecvBatch::~RecvBatch() = default;

std::size_t RecvBatch::slots() const { return state_->buffers.size(); }
std::span<const Received> RecvBatch::received() const { return state_->received; }
void RecvBatch::set_buffer(std::size_t slot, MutBytes buffer) {
  state_->buffers[slot] = buffer;
  state_->arm(slot);
}

RecvStatus UdpSocket::recv_batch(RecvBatch& batch, std::size_t most) {
  auto& b = *batch.state_;
  for (std::size_t i = 0; i < b.received.size(); ++i) b.arm(i);
  b.received.clear();
  const auto slots = static_cast<unsigned>(std::min(most, b.messages.size()));
  int n = -1;
  // Each pending error of a connected socket costs one call; datagrams may lie behind it.
  for (int tries = 0; tries < 8 && n < 0; ++tries) {
    n = recvmmsg(fd_.get(), b.messages.data(), slots, MSG_DONTWAIT,
                 nullptr);
    if (n < 0 && errno != EINTR && !is_pending_error(errno)) break;
  }
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return RecvStatus::would_block;
    return errno == EBADF || errno == ENOTSOCK ? RecvStatus::gone : RecvStatus::other;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    auto& m = b.messages[i];
    Received r{from_sockaddr(b.names[i]), b.buffers[i].first(m.msg_len), m.msg_len,
               (m.msg_hdr.msg_flags & MSG_TRUNC) != 0};
    for (cmsghdr* c = CMSG_FIRSTHDR(&m.msg_hdr); c != nullptr; c = CMSG_NXTHDR(&m.msg_hdr, c)) {
      std::uint32_t value = 0;
      std::memcpy(&value, CMSG_DATA(c), sizeof value);
      if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO && value > 0) r.segment = value;
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) note_drops(value);
    }
    b.received.push_back(r);
  }
  return n == 0 ? RecvStatus::would_block : RecvStatus::ok;
}

SendResult UdpSocket::send_singles(const Endpoint* to, std::span<const Bytes> datagrams) {
  SockAddr name;
  const int length = to == nullptr           ? 0
                     : to->family != family_ ? -1
                                             : static_cast<int>(to_sockaddr(*to, name));
  return send_many(fd_.get(), connected_, fault_, datagrams.size(),
                   [&](std::size_t i, SockAddr& n, iovec& part) {
                     if (length > 0) n = name;
                     part = to_iovec(datagrams[i]);
                     return length;
                   });
}

SendResult UdpSocket::send_batch(std::span<const Datagram> datagrams) {
  return send_many(fd_.get(), connected_, fault_, datagrams.size(),
                   [&](std::size_t i, SockAddr& name, iovec& part) {
                     const Datagram& d = datagrams[i];
                     part = to_iovec(d.data);
                     if (!d.to.is_set()) return 0;
                     return d.to.family != family_ ? -1 : static_cast<int>(to_sockaddr(d.to, name));
                   });
}

SendResult UdpSocket::send_segments(const Endpoint* to, std::span<const Bytes> datagrams) {
  SendResult all;
  while (all.sent < datagrams.size()) {
    const auto left = datagrams.subspan(all.sent);
    const std::size_t size = left[0].size();
    std::size_t n = 0;
    std::size_t total = 0;
    while (n < left.size() && n < kMaxSendSegments && left[n].size() <= size &&
           total + left[n].size() <= kMaxUdpPayload)
      if (total += left[n].size(); left[n++].size() < size) break;
    // n is 0 only for a datagram that no call can carry; singles report it.
    const bool offload = gso_ && n > 1 && size > 0 && (gate_->open_for(size) || gate_->ask(mono_now()));
    const auto r =
        offload ? send_run(to, left.first(n)) : send_singles(to, left.first(std::max<std::size_t>(n, 1)));
    all.sent += r.sent;
    if (r.offload_error != 0) all.offload_error = r.offload_error;
    if (r.status == SendStatus::ok) continue;
    all.status = r.status;
    all.error = r.error;
    return all;
  }
  return all;
}

SendResult UdpSocket::send_run(const Endpoint* to, std::span<const Bytes> run) {
  SockAddr name;
  std::array<iovec, kMaxSendSegments> parts;
  std::size_t n = 0;
  for (const Bytes b : run) {
    if (n > 0 && static_cast<const std::uint8_t*>(parts[n - 1].iov_base) + parts[n - 1].iov_len == b.data())
      parts[n - 1].iov_len += b.size();
    else parts[n++] = to_iovec(b);
  }
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control{};
  msghdr m{};
  if (to != nullptr) {
    if (to->family != family_) return {SendStatus::unreachable, 0, EAFNOSUPPORT};
    m.msg_name = &name;
    m.msg_namelen = to_sockaddr(*to, name);
  }
  m.msg_iov = parts.data();
  m.msg_iovlen = n;
  m.msg_control = control.data();
  m.msg_controllen = control.size();
  cmsghdr* const c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_UDP;
  c->cmsg_type = UDP_SEGMENT;
  c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto segment = static_cast<std::uint16_t>(run[0].size());
  std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
  int error = 0;
  for (int tries = 0, pending = 0; tries < 8; ++tries) {
    const int refusal = fault_ == nullptr ? 0 : fault_->refuse(true, run.size(), run[0].size());
    if ((refusal != 0 ? as_errno(refusal) : sendmsg(fd_.get(), &m, MSG_DONTWAIT | MSG_NOSIGNAL)) >= 0) {
      if (!gate_->open_for(segment)) gate_->worked();
      return {SendStatus::ok, run.size(), 0};
    }
    error = errno;
    if (error != EINTR && !(connected_ && is_pending_error(error) && pending++ < kPendingErrors)) break;
  }
  if (!is_offload_refusal(error)) return {classify_send_error(error), 0, error};
  // Singles get through where offload does not, and tell whether the datagrams themselves are at fault.
  auto r = send_singles(to, run);
  if (r.status != SendStatus::ok && r.sent == 0) return r;
  r.offload_error = error;
  // One destination's narrow path says nothing about the others that an unconnected socket serves.
  if (!is_about_size(error)) gate_->refused(0, mono_now());
  else if (connected_) gate_->refused(segment, mono_now());
  return r;
}

}  // namespace weft::io
