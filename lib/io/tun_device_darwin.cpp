#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_utun.h>
#include <sys/ioctl.h>
#include <sys/kern_control.h>
#include <sys/socket.h>
#include <sys/sys_domain.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "io/fd_darwin.h"
#include "io/tun_device.h"

namespace weft::io {
namespace {

constexpr std::size_t kMaxPieces = 255;

/// utunN is unit N + 1 to the kernel, and 0 is the next free one. Other names cannot be had here.
std::uint32_t unit_of(const std::string& name) {
  constexpr std::string_view kPrefix = "utun";
  std::uint32_t n = 0;
  if (!name.starts_with(kPrefix)) return 0;
  const auto* end = name.data() + name.size();
  const auto r = std::from_chars(name.data() + kPrefix.size(), end, n);
  return r.ec == std::errc{} && r.ptr == end ? n + 1 : 0;
}

TunStatus status_of(int error) {
  switch (error) {
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
      return TunStatus::would_block;
    case EMSGSIZE:
    case EINVAL:
      return TunStatus::refused;
    case ENETDOWN:
      return TunStatus::down;
    case ENXIO:
    case EBADF:
      return TunStatus::gone;
    default:
      return TunStatus::other;
  }
}

}  // namespace

Result<TunDevice, Failure> TunDevice::open(const TunOptions& o) {
  Fd fd = prepared(socket(PF_SYSTEM, SOCK_DGRAM, SYSPROTO_CONTROL));
  if (!fd) return bad(os_failure(errno, "opening a utun interface"));
  ctl_info info{};
  std::string_view(UTUN_CONTROL_NAME).copy(info.ctl_name, sizeof info.ctl_name - 1);
  if (ioctl(fd.get(), CTLIOCGINFO, &info) != 0) return bad(os_failure(errno, "looking up utun"));
  sockaddr_ctl where{};
  where.sc_len = sizeof where;
  where.sc_family = AF_SYSTEM;
  where.ss_sysaddr = AF_SYS_CONTROL;
  where.sc_id = info.ctl_id;
  where.sc_unit = unit_of(o.name);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
    const int error = errno;
    return bad(os_failure(error, "creating a utun interface",
                          error == EPERM
                              ? "start the daemon as root, or set tun.enabled: false to run as a router only"
                          : error == EBUSY ? "a running program has " + o.name + "; choose another tun.name"
                                           : std::string()));
  }
  TunDevice d;
  std::array<char, IF_NAMESIZE> name{};
  socklen_t size = name.size();
  if (getsockopt(fd.get(), SYSPROTO_CONTROL, UTUN_OPT_IFNAME, name.data(), &size) != 0)
    return bad(os_failure(errno, "asking for the name of the utun interface"));
  d.name_ = name.data();
  d.index_ = if_nametoindex(name.data());
  d.queues_.push_back(TunQueue(std::move(fd), false));
  return d;
}

// Each packet has its address family in front, four bytes in network order.

TunQueue::Read TunQueue::read(MutBytes packet) {
  std::uint32_t family = 0;
  const std::array<iovec, 2> parts{{{&family, sizeof family}, {packet.data(), packet.size()}}};
  const auto n = readv(fd_.get(), parts.data(), static_cast<int>(parts.size()));
  Read r;
  if (n < 0) {
    r.error = errno;
    r.status = status_of(r.error);
  } else if (static_cast<std::size_t>(n) <= sizeof family) {
    r.status = TunStatus::other;
  } else {
    r.size = static_cast<std::size_t>(n) - sizeof family;
  }
  return r;
}

TunStatus TunQueue::write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) {
  if (pieces.size() > kMaxPieces || vnet != offload::VnetHeader{}) return TunStatus::refused;
  std::uint32_t family = htonl(AF_INET6);
  std::array<iovec, kMaxPieces + 1> parts;
  std::size_t n = 0;
  parts[n++] = {&family, sizeof family};
  for (const Bytes b : pieces) parts[n++] = {const_cast<std::uint8_t*>(b.data()), b.size()};
  for (;;) {
    if (writev(fd_.get(), parts.data(), static_cast<int>(n)) >= 0) return TunStatus::ok;
    if (errno != EINTR) return status_of(errno);
  }
}

// IPv6 cannot be switched off as a whole.
Result<void, Failure> check_ipv6_enabled(const std::string&, const std::string&) { return {}; }

}  // namespace weft::io
