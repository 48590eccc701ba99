#include "io/route_query.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/fd.h"
#include "io/netlink_linux.h"

namespace weft::io {
namespace {

int mtu_of(const std::string& interface) {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq r{};
  std::memcpy(r.ifr_name, interface.c_str(), std::min(interface.size(), sizeof r.ifr_name - 1));
  return ioctl(fd.get(), SIOCGIFMTU, &r) == 0 ? r.ifr_mtu : 0;
}

}  // namespace

Result<RouteInfo, int> route_to(const Endpoint& to) {
  if (!to.is_set()) return bad(EINVAL);
  Netlink nl;
  nlmsghdr* const m = nl.message(RTM_GETROUTE, 0);
  auto* const body = nl.body<rtmsg>(m);
  body->rtm_family = to.family == Endpoint::Family::v4 ? AF_INET : AF_INET6;
  body->rtm_dst_len = static_cast<unsigned char>(to.ip_size() * 8);
  mnl_attr_put(m, RTA_DST, to.ip_size(), to.ip.data());
  if (to.scope != 0) mnl_attr_put_u32(m, RTA_OIF, to.scope);
  RouteInfo info;
  int refused = 0;
  const int error = nl.request(m, [&](const nlmsghdr* part) {
    const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(part));
    if (route->rtm_type == RTN_UNREACHABLE || route->rtm_type == RTN_BLACKHOLE ||
        route->rtm_type == RTN_PROHIBIT)
      refused = ENETUNREACH;
    each_attribute(part, sizeof(rtmsg), [&](const nlattr* a) {
      if (mnl_attr_get_type(a) == RTA_OIF) {
        char name[IF_NAMESIZE] = "";
        if (if_indextoname(mnl_attr_get_u32(a), name) != nullptr) info.interface = name;
      } else if (mnl_attr_get_type(a) == RTA_METRICS) {
        each_nested(a, [&](const nlattr* x) {
          if (mnl_attr_get_type(x) == RTAX_MTU) info.mtu = static_cast<int>(mnl_attr_get_u32(x));
        });
      }
    });
  });
  if (error != 0 || refused != 0) return bad(error != 0 ? error : refused);
  if (const int link = mtu_of(info.interface); link > 0)
    info.mtu = info.mtu == 0 ? link : std::min(info.mtu, link);
  return info;
}

}  // namespace weft::io
