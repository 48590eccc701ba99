#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/net_monitor.h"

namespace weft::io {
namespace {

unsigned route_interface(const nlmsghdr* m) {
  int left = static_cast<int>(RTM_PAYLOAD(m));
  const auto* route = static_cast<const rtmsg*>(NLMSG_DATA(m));
  for (const rtattr* a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    unsigned index = 0;
    if (a->rta_type != RTA_OIF || RTA_PAYLOAD(a) < sizeof index) continue;
    std::memcpy(&index, RTA_DATA(a), sizeof index);
    return index;
  }
  return 0;
}

void note(const nlmsghdr* m, unsigned own, NetChange& out) {
  const auto foreign = [own](unsigned index) { return own == 0 || index != own; };
  switch (m->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
      if (m->nlmsg_len >= NLMSG_LENGTH(sizeof(ifinfomsg)) &&
          foreign(static_cast<unsigned>(static_cast<const ifinfomsg*>(NLMSG_DATA(m))->ifi_index)))
        out.link = true;
      break;
    case RTM_NEWADDR:
    case RTM_DELADDR:
      if (m->nlmsg_len >= NLMSG_LENGTH(sizeof(ifaddrmsg)) &&
          foreign(static_cast<const ifaddrmsg*>(NLMSG_DATA(m))->ifa_index))
        out.address = true;
      break;
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
      if (m->nlmsg_len >= NLMSG_LENGTH(sizeof(rtmsg)) &&
          !(static_cast<const rtmsg*>(NLMSG_DATA(m))->rtm_flags & RTM_F_CLONED) &&
          foreign(route_interface(m)))
        out.route = true;
      break;
    default:
      break;
  }
}

}  // namespace

Result<NetMonitor, Failure> NetMonitor::open(unsigned own_index) {
  NetMonitor m;
  m.own_index_ = own_index;
  m.fd_ = Fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!m.fd_) return bad(os_failure(errno, "watching the network for changes"));
  sockaddr_nl a{};
  a.nl_family = AF_NETLINK;
  a.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  if (bind(m.fd_.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0)
    return bad(os_failure(errno, "watching the network for changes"));
  return m;
}

NetChange NetMonitor::drain() {
  NetChange out;
  alignas(nlmsghdr) std::array<char, 16384> buffer;
  for (;;) {
    sockaddr_nl from{};
    socklen_t size = sizeof from;
    const auto n = recvfrom(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                            reinterpret_cast<sockaddr*>(&from), &size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOBUFS) {
      out.missed = true;
      continue;
    }
    if (n <= 0) return out;
    if (from.nl_pid != 0) continue;  // only the kernel may say so
    auto left = static_cast<unsigned>(n);
    for (auto* m = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(m, left);
         m = NLMSG_NEXT(m, left))
      note(m, own_index_, out);
  }
}

}  // namespace weft::io
