#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>

#include <cerrno>

#include "io/sockaddr.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

int set_int(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value);
}

// The kernel books twice the size that was asked for. FORCE needs CAP_NET_ADMIN; without it net.core.*mem_max
// is the bound.
void set_buffer_size(int fd, bool receive, int bytes, std::vector<std::string>* warnings) {
  const int name = receive ? SO_RCVBUF : SO_SNDBUF;
  if (set_int(fd, SOL_SOCKET, receive ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, bytes) == 0) return;
  set_int(fd, SOL_SOCKET, name, bytes);
  int got = 0;
  socklen_t size = sizeof got;
  getsockopt(fd, SOL_SOCKET, name, &got, &size);
  if (got / 2 >= bytes || warnings == nullptr) return;
  const std::string key = receive ? "net.core.rmem_max" : "net.core.wmem_max";
  warnings->push_back("UDP " + std::string(receive ? "receive" : "send") + " buffer is " +
                      std::to_string(got / 2) + " bytes instead of " + std::to_string(bytes) + "; raise " +
                      key + " or give CAP_NET_ADMIN");
}

std::string_view bind_remedy(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program, or another user's, holds this port: see `ss -ulpn`";
    case EADDRNOTAVAIL:
      return "no interface of this machine has that address";
    case EACCES:
      return "ports below 1024 need CAP_NET_BIND_SERVICE";
    default:
      return {};
  }
}

std::optional<std::array<std::uint32_t, SK_MEMINFO_VARS>> memory_of(int fd) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info.data(), &size) != 0) return std::nullopt;
  return info;
}

}  // namespace

Result<UdpSocket, Failure> UdpSocket::open(const UdpOptions& o, std::vector<std::string>* warnings) {
  const std::string where = "UDP socket on " + o.bind.text();
  SockAddr addr;
  const auto length = to_sockaddr(o.bind, addr);
  if (length == 0) return bad(os_failure(0, "UDP socket without a bind address"));
  const bool v6 = o.bind.family == Endpoint::Family::v6;
  UdpSocket s;
  s.family_ = o.bind.family;
  s.fragments_ = o.fragments;
  s.fd_ = Fd(socket(addr.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!s.fd_) {
    const auto remedy = errno == EAFNOSUPPORT ? "this kernel has no IPv6: bind an IPv4 address only" : "";
    return bad(os_failure(errno, where, remedy));
  }
  const int fd = s.fd_.get();
  if (o.share_port && set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0) return bad(os_failure(errno, where));
  if (v6 && set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0) return bad(os_failure(errno, where));
  if (s.set_fragments(o.fragments) != 0) return bad(os_failure(errno, where));
  set_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, 0);
  set_int(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  set_buffer_size(fd, true, o.receive_buffer_bytes, warnings);
  set_buffer_size(fd, false, o.send_buffer_bytes, warnings);
  if (!o.interface.empty() && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, o.interface.data(),
                                         static_cast<socklen_t>(o.interface.size())) != 0)
    return bad(os_failure(errno, where + " on interface " + o.interface));
  int segment = 0;
  socklen_t size = sizeof segment;
  s.gso_ = o.send_offload && getsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, &size) == 0;
  s.gro_ = o.receive_offload && set_int(fd, SOL_UDP, UDP_GRO, 1) == 0;
  if (o.receive_offload && !s.gro_ && warnings != nullptr)
    warnings->push_back(where + ": this kernel has no UDP receive offload; receiving will cost more");
  if (bind(fd, &addr.any, length) != 0) return bad(os_failure(errno, where, bind_remedy(errno)));
  return s;
}

Endpoint source_towards(const Endpoint& peer) {
  SockAddr addr;
  const auto length = to_sockaddr(peer, addr);
  if (length == 0) return {};
  const Fd fd(socket(addr.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), &addr.any, length) != 0) return {};
  socklen_t size = sizeof addr;
  return getsockname(fd.get(), &addr.any, &size) == 0 ? from_sockaddr(addr) : Endpoint{};
}

int UdpSocket::set_fragments(Fragments f) {
  const int value = f == Fragments::never   ? IP_PMTUDISC_DO
                    : f == Fragments::probe ? IP_PMTUDISC_PROBE
                                            : IP_PMTUDISC_DONT;
  // The numbers are the same for IPv6.
  return family_ == Endpoint::Family::v6 ? set_int(fd_.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, value)
                                         : set_int(fd_.get(), IPPROTO_IP, IP_MTU_DISCOVER, value);
}

std::uint64_t UdpSocket::kernel_drops_now() {
  if (const auto info = memory_of(fd_.get())) note_drops((*info)[SK_MEMINFO_DROPS]);
  return drops_;
}

std::size_t UdpSocket::queued_bytes() const {
  const auto info = memory_of(fd_.get());
  return info ? (*info)[SK_MEMINFO_RMEM_ALLOC] : 0;
}

void UdpSocket::note_drops(std::uint32_t counter) {
  const std::uint32_t more = counter - drops_seen_;
  if (more > INT32_MAX) return;  // an older reading, overtaken by a newer one
  drops_ += more;
  drops_seen_ = counter;
}

Result<void, Failure> UdpSocket::steer_by_receiver_index(unsigned sockets) {
  // The program sees the UDP payload; a load behind its end returns 0, which is socket 0 too.
  std::array<sock_filter, 6> code{{
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),         // version and phase
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),  // not an established frame: socket 0
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 4),         // low byte of the receiver index
      BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, sockets),
      BPF_STMT(BPF_RET | BPF_A, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  if (sockets == 0) return bad(os_failure(EINVAL, "steering to no socket"));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) != 0)
    return bad(os_failure(errno, "steering datagrams by receiver index"));
  return {};
}

UdpCapabilities probe_udp() {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  UdpCapabilities c;
  if (!fd) return c;
  c.gso = set_int(fd.get(), SOL_UDP, UDP_SEGMENT, 1200) == 0;
  c.gro = set_int(fd.get(), SOL_UDP, UDP_GRO, 1) == 0;
  return c;
}

}  // namespace weft::io
