#include "io/udp_socket.h"

#include <sys/socket.h>

#include <cerrno>

#include "io/sockaddr.h"

namespace weft::io {

std::string_view name_of(SendStatus s) {
  switch (s) {
    case SendStatus::ok:
      return "ok";
    case SendStatus::would_block:
      return "would_block";
    case SendStatus::no_buffers:
      return "no_buffers";
    case SendStatus::too_big:
      return "too_big";
    case SendStatus::unreachable:
      return "unreachable";
    case SendStatus::gone:
      return "gone";
    case SendStatus::other:
      break;
  }
  return "other";
}

SendStatus classify_send_error(int error) {
  switch (error) {
    case 0:
      return SendStatus::ok;
    case EAGAIN:
      return SendStatus::would_block;
    case ENOBUFS:
    case ENOMEM:
      return SendStatus::no_buffers;
    case EMSGSIZE:
      return SendStatus::too_big;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EINVAL:  // an IPv4 source address that this machine has no more
    case EACCES:
#ifdef ENONET  // Linux has it, macOS has not
    case ENONET:
#endif
    case EPROTO:  // ICMP said so
    case ENOPROTOOPT:
      return SendStatus::unreachable;
    case EBADF:
    case ENOTSOCK:
    case EPIPE:
    case EDESTADDRREQ:
    case ENODEV:
      return SendStatus::gone;
    default:
      return SendStatus::other;
  }
}

Result<void, Failure> UdpSocket::connect(const Endpoint& peer) {
  SockAddr addr;
  const auto length = to_sockaddr(peer, addr);
  if (peer.family != family_) return bad(os_failure(EAFNOSUPPORT, "UDP socket to " + peer.text()));
  if (::connect(fd_.get(), &addr.any, length) != 0)
    return bad(os_failure(errno, "UDP socket to " + peer.text()));
  connected_ = true;
  return {};
}

bool UdpSocket::park() {
  // Connected to a port of our own address that nobody sends from. Closing instead would lose what arrives between the
  // last read and the close, and a socket without a peer would take everybody's datagrams.
  Endpoint nobody = local();
  nobody.port = 1;
  return nobody.is_set() && connect(nobody).has_value();
}

Endpoint UdpSocket::local() const {
  SockAddr addr;
  socklen_t length = sizeof addr;
  return getsockname(fd_.get(), &addr.any, &length) == 0 ? from_sockaddr(addr) : Endpoint{};
}

SendResult UdpSocket::send_whole(const Endpoint* to, Bytes data) {
  if (set_fragments(Fragments::probe) != 0) return {SendStatus::other, 0, errno, 0};
  const auto r = send_singles(to, std::span(&data, 1));
  set_fragments(fragments_);
  return r;
}

SendResult UdpSocket::send_to(const Endpoint& to, Bytes data) {
  const Datagram one{to, data};
  return send_batch(std::span<const Datagram>(&one, 1));
}

}  // namespace weft::io
