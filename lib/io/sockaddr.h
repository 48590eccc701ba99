/// Endpoint to and from the system's socket addresses. For this room and for the shell.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "base/endpoint.h"

namespace weft::io {

union SockAddr {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// Fills `out`; its length, or 0 for an endpoint without family.
inline socklen_t to_sockaddr(const Endpoint& e, SockAddr& out) {
  std::memset(&out, 0, sizeof out);
  if (e.family == Endpoint::Family::v4) {
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(e.port);
    std::memcpy(&out.v4.sin_addr, e.ip.data(), 4);
    return sizeof out.v4;
  }
  if (e.family != Endpoint::Family::v6) return 0;
  out.v6.sin6_family = AF_INET6;
  out.v6.sin6_port = htons(e.port);
  out.v6.sin6_scope_id = e.scope;
  std::memcpy(&out.v6.sin6_addr, e.ip.data(), 16);
  return sizeof out.v6;
}

inline Endpoint from_sockaddr(const SockAddr& a) {
  Endpoint e;
  if (a.any.sa_family == AF_INET) {
    e.family = Endpoint::Family::v4;
    e.port = ntohs(a.v4.sin_port);
    std::memcpy(e.ip.data(), &a.v4.sin_addr, 4);
  } else if (a.any.sa_family == AF_INET6) {
    e.family = Endpoint::Family::v6;
    e.port = ntohs(a.v6.sin6_port);
    std::memcpy(e.ip.data(), &a.v6.sin6_addr, 16);
    if (e.is_link_local()) e.scope = a.v6.sin6_scope_id;
  }
  return e;
}

}  // namespace weft::io
