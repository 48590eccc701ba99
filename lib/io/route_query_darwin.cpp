#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "io/fd_darwin.h"
#include "io/route_query.h"
#include "io/sockaddr.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

/// The interface that has the address.
std::string interface_with(const Endpoint& address) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  std::string out;
  for (const ifaddrs* i = all; i != nullptr && out.empty(); i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    SockAddr a{};
    if (i->ifa_addr->sa_family == AF_INET) std::memcpy(&a, i->ifa_addr, sizeof a.v4);
    else if (i->ifa_addr->sa_family == AF_INET6) std::memcpy(&a, i->ifa_addr, sizeof a.v6);
    const Endpoint e = from_sockaddr(a);
    if (e.family == address.family && e.ip == address.ip) out = i->ifa_name;
  }
  freeifaddrs(all);
  return out;
}

int mtu_of(const std::string& interface) {
  const Fd fd = prepared(socket(AF_INET, SOCK_DGRAM, 0));
  ifreq r{};
  interface.copy(r.ifr_name, sizeof r.ifr_name - 1);
  return fd && ioctl(fd.get(), SIOCGIFMTU, &r) == 0 ? r.ifr_mtu : 0;
}

}  // namespace

// What the source address of a connected socket tells; a route's own MTU stays unknown.
Result<RouteInfo, int> route_to(const Endpoint& to) {
  if (!to.is_set()) return bad(EINVAL);
  const Endpoint from = source_towards(to);
  if (!from.is_set()) return bad(ENETUNREACH);
  RouteInfo info;
  info.interface = interface_with(from);
  info.mtu = mtu_of(info.interface);
  return info;
}

}  // namespace weft::io
