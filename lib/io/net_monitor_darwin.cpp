#include <net/if.h>
#include <net/route.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/fd_darwin.h"
#include "io/net_monitor.h"

namespace weft::io {
namespace {

/// The messages of a routing socket begin alike: length, version, type.
struct Start {
  unsigned short length;
  unsigned char version, type;
};

template <class Message>
unsigned index_in(const char* at, std::size_t size, unsigned short Message::*index) {
  Message m{};
  if (size < sizeof m) return 0;
  std::memcpy(&m, at, sizeof m);
  return m.*index;
}

void note(const char* at, std::size_t size, unsigned own, NetChange& out) {
  const auto foreign = [own](unsigned index) { return own == 0 || index != own; };
  Start s{};
  std::memcpy(&s, at, sizeof s);
  switch (s.type) {
    case RTM_IFINFO:
      if (foreign(index_in(at, size, &if_msghdr::ifm_index))) out.link = true;
      break;
    case RTM_NEWADDR:
    case RTM_DELADDR:
      if (foreign(index_in(at, size, &ifa_msghdr::ifam_index))) out.address = true;
      break;
    case RTM_ADD:
    case RTM_DELETE:
    case RTM_CHANGE:
      if (foreign(index_in(at, size, &rt_msghdr::rtm_index))) out.route = true;
      break;
    default:
      break;
  }
}

}  // namespace

Result<NetMonitor, Failure> NetMonitor::open(unsigned own_index) {
  NetMonitor m;
  m.own_index_ = own_index;
  m.fd_ = prepared(socket(PF_ROUTE, SOCK_RAW, 0));
  if (!m.fd_) return bad(os_failure(errno, "watching the network for changes"));
  return m;
}

NetChange NetMonitor::drain() {
  NetChange out;
  std::array<char, 2048> buffer;  // one message a read
  for (;;) {
    const auto n = read(fd_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOBUFS) {
      out.missed = true;
      continue;
    }
    if (n < static_cast<ssize_t>(sizeof(Start))) return out;
    note(buffer.data(), static_cast<std::size_t>(n), own_index_, out);
  }
}

}  // namespace weft::io
