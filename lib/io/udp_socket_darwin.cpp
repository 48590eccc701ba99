#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

#include "io/fd_darwin.h"
#include "io/sockaddr.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

int set_int(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value);
}

void set_buffer_size(int fd, bool receive, int bytes, std::vector<std::string>* warnings) {
  if (set_int(fd, SOL_SOCKET, receive ? SO_RCVBUF : SO_SNDBUF, bytes) == 0 || warnings == nullptr) return;
  warnings->push_back("UDP " + std::string(receive ? "receive" : "send") + " buffer is not " +
                      std::to_string(bytes) + " bytes; raise kern.ipc.maxsockbuf");
}

std::string_view bind_remedy(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program holds this port: see `lsof -nP -iUDP`";
    case EADDRNOTAVAIL:
      return "no interface of this machine has that address";
    case EACCES:
      return "ports below 1024 need root";
    default:
      return {};
  }
}

}  // namespace

Result<UdpSocket, Failure> UdpSocket::open(const UdpOptions& o, std::vector<std::string>* warnings) {
  const std::string where = "UDP socket on " + o.bind.text();
  SockAddr addr;
  const auto length = to_sockaddr(o.bind, addr);
  if (length == 0) return bad(os_failure(0, "UDP socket without a bind address"));
  const bool v6 = o.bind.family == Endpoint::Family::v6;
  const int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
  UdpSocket s;
  s.family_ = o.bind.family;
  s.fragments_ = o.fragments;
  s.fd_ = prepared(socket(addr.any.sa_family, SOCK_DGRAM, 0));
  if (!s.fd_) return bad(os_failure(errno, where));
  const int fd = s.fd_.get();
  set_int(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
  if (o.share_port && set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0) return bad(os_failure(errno, where));
  if (v6 && set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0) return bad(os_failure(errno, where));
  if (o.fragments != Fragments::allow && s.set_fragments(o.fragments) != 0)
    return bad(os_failure(errno, where));
  set_buffer_size(fd, true, o.receive_buffer_bytes, warnings);
  set_buffer_size(fd, false, o.send_buffer_bytes, warnings);
  if (!o.interface.empty()) {
    const int index = static_cast<int>(if_nametoindex(o.interface.c_str()));
    if (index == 0 || set_int(fd, level, v6 ? IPV6_BOUND_IF : IP_BOUND_IF, index) != 0)
      return bad(os_failure(errno, where + " on interface " + o.interface));
  }
  if (bind(fd, &addr.any, length) != 0) return bad(os_failure(errno, where, bind_remedy(errno)));
  return s;
}

Endpoint source_towards(const Endpoint& peer) {
  SockAddr addr;
  const auto length = to_sockaddr(peer, addr);
  if (length == 0) return {};
  const Fd fd = prepared(socket(addr.any.sa_family, SOCK_DGRAM, 0));
  if (!fd || ::connect(fd.get(), &addr.any, length) != 0) return {};
  socklen_t size = sizeof addr;
  return getsockname(fd.get(), &addr.any, &size) == 0 ? from_sockaddr(addr) : Endpoint{};
}

int UdpSocket::set_fragments(Fragments f) {
  const bool v6 = family_ == Endpoint::Family::v6;
  return set_int(fd_.get(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_DONTFRAG : IP_DONTFRAG,
                 f == Fragments::allow ? 0 : 1);
}

// Not told by socket here.
std::uint64_t UdpSocket::kernel_drops_now() { return drops_; }

std::size_t UdpSocket::queued_bytes() const {
  int bytes = 0;
  return ::ioctl(fd_.get(), FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

Result<void, Failure> UdpSocket::steer_by_receiver_index(unsigned sockets) {
  if (sockets == 1) return {};
  return bad(os_failure(EOPNOTSUPP, "steering datagrams by receiver index"));
}

UdpCapabilities probe_udp() { return {}; }

}  // namespace weft::io
