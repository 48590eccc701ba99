#include "io/udp_socket.h"

#include <cerrno>

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
    case ENONET:
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

SendResult UdpSocket::send_to(const Endpoint& to, Bytes data) {
  const Datagram one{to, data};
  return send_batch(std::span<const Datagram>(&one, 1));
}

}  // namespace weft::io
