#include <net/if.h>
#include <net/if_dl.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet6/in6_var.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "io/fd_darwin.h"
#include "io/interface_setup.h"

namespace weft::io {
namespace {

constexpr std::uint32_t kMinIp6Mtu = 1280;

Fd control_socket() { return prepared(socket(AF_INET6, SOCK_DGRAM, 0)); }

ifreq request_for(const std::string& name) {
  ifreq r{};
  name.copy(r.ifr_name, sizeof r.ifr_name - 1);
  return r;
}

int set_mtu(int fd, const std::string& name, std::uint32_t mtu) {
  ifreq r = request_for(name);
  r.ifr_mtu = static_cast<int>(mtu);
  return ioctl(fd, SIOCSIFMTU, &r) == 0 ? 0 : errno;
}

int set_up(int fd, const std::string& name, bool up) {
  ifreq r = request_for(name);
  if (ioctl(fd, SIOCGIFFLAGS, &r) != 0) return errno;
  r.ifr_flags = static_cast<short>(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
  return ioctl(fd, SIOCSIFFLAGS, &r) == 0 ? 0 : errno;
}

sockaddr_in6 address_of(const std::uint8_t* bytes) {
  sockaddr_in6 a{};
  a.sin6_len = sizeof a;
  a.sin6_family = AF_INET6;
  std::memcpy(&a.sin6_addr, bytes, sizeof a.sin6_addr);
  return a;
}

int add_address(int fd, const std::string& name, const MeshAddr& address) {
  in6_aliasreq r{};
  name.copy(r.ifra_name, sizeof r.ifra_name - 1);
  r.ifra_addr = address_of(address.bytes.data());
  r.ifra_prefixmask.sin6_len = sizeof r.ifra_prefixmask;
  std::memset(&r.ifra_prefixmask.sin6_addr, 0xff, sizeof r.ifra_prefixmask.sin6_addr);
  r.ifra_flags = IN6_IFF_NODAD;  // the address is a hash of a key
  r.ifra_lifetime.ia6t_vltime = ND6_INFINITE_LIFETIME;
  r.ifra_lifetime.ia6t_pltime = ND6_INFINITE_LIFETIME;
  return ioctl(fd, SIOCAIFADDR_IN6, &r) == 0 ? 0 : errno;
}

/// fd00::/8 to the interface. The route goes with it.
int add_route(unsigned index) {
  struct {
    rt_msghdr head;
    sockaddr_in6 to;
    sockaddr_dl by;
    sockaddr_in6 mask;
  } m{};
  m.head.rtm_msglen = sizeof m;
  m.head.rtm_version = RTM_VERSION;
  m.head.rtm_type = RTM_ADD;
  m.head.rtm_index = static_cast<unsigned short>(index);
  m.head.rtm_flags = RTF_UP | RTF_STATIC;
  m.head.rtm_addrs = RTA_DST | RTA_GATEWAY | RTA_NETMASK;
  m.head.rtm_seq = 1;
  const std::uint8_t prefix[16] = {0xfd};
  const std::uint8_t mask[16] = {0xff};
  m.to = address_of(prefix);
  m.by.sdl_len = sizeof m.by;
  m.by.sdl_family = AF_LINK;
  m.by.sdl_index = static_cast<unsigned short>(index);
  m.mask = address_of(mask);
  const Fd fd = prepared(socket(PF_ROUTE, SOCK_RAW, AF_INET6), true);
  if (!fd) return errno;
  return write(fd.get(), &m, sizeof m) == static_cast<ssize_t>(sizeof m) ? 0 : errno;
}

Failure refused(int error, const std::string& what) {
  return os_failure(error, what, error == EPERM ? "this needs root" : "");
}

}  // namespace

// There are no policy rules here: plan.rule, plan.gso_bytes and plan.queue_packets have no effect.
Result<InterfaceSetup, Failure> InterfaceSetup::apply(const InterfacePlan& p, std::vector<std::string>*) {
  const unsigned index = if_nametoindex(p.name.c_str());
  if (index == 0) return bad(os_failure(ENXIO, "setting up interface " + p.name));
  if (p.mtu < kMinIp6Mtu)
    return bad(
        os_failure(0, "tun.mtu " + std::to_string(p.mtu) + " is below 1280, the least that IPv6 runs on"));
  const Fd fd = control_socket();
  if (!fd) return bad(os_failure(errno, "setting up interface " + p.name));
  InterfaceSetup s(index);
  if (int e = set_mtu(fd.get(), p.name, p.mtu); e != 0)
    return bad(refused(e, "setting the MTU of " + p.name + " to " + std::to_string(p.mtu)));
  if (int e = add_address(fd.get(), p.name, p.address); e != 0)
    return bad(refused(e, "adding the mesh address to " + p.name));
  if (int e = set_up(fd.get(), p.name, true); e != 0) return bad(refused(e, "bringing " + p.name + " up"));
  if (!p.route) return s;
  const int e = add_route(index);
  if (e == EEXIST)
    return bad(os_failure(e, "fd00::/8 is routed to another interface",
                          "see `netstat -rnf inet6`; two meshes cannot share it"));
  if (e != 0) return bad(refused(e, "routing fd00::/8 to " + p.name));
  return s;
}

InterfaceSetup::~InterfaceSetup() {
  char name[IF_NAMESIZE] = "";
  if (index_ == 0 || if_indextoname(index_, name) == nullptr) return;
  if (const Fd fd = control_socket()) set_up(fd.get(), name, false);
}

std::uint64_t queue_drops(const std::string&) { return 0; }

Result<void, Failure> set_interface_mtu(const std::string& name, std::uint32_t mtu) {
  const std::string what = "setting the MTU of " + name + " to " + std::to_string(mtu);
  if (mtu < kMinIp6Mtu) return bad(os_failure(EINVAL, what));
  const Fd fd = control_socket();
  const int e = fd ? set_mtu(fd.get(), name, mtu) : errno;
  if (e != 0) return bad(refused(e, what));
  return {};
}

Result<void, Failure> set_interface_up(const std::string& name, bool up) {
  const Fd fd = control_socket();
  const int e = fd ? set_up(fd.get(), name, up) : errno;
  if (e != 0) return bad(refused(e, "bringing " + name + (up ? " up" : " down")));
  return {};
}

}  // namespace weft::io
