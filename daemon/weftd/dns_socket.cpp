#include "weftd/dns_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>

#include "base/endpoint.h"
#include "io/failure.h"
#include "io/fd.h"
#include "names/dns.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kQueryBytes =
    names::kMaxQuery + 1;  // one more, so that a longer one is seen to be longer

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// Where a datagram came in, and the control message that makes the answer leave from there.
struct Arrival {
  unsigned interface = 0;
  std::array<std::uint8_t, 16> to{};  // IPv6 only
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in6_pktinfo))> reply{};
  std::size_t reply_bytes = 0;
};

Arrival arrival_of(msghdr& m) {
  Arrival a;
  for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
    const bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO;
    const bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO;
    if (!v4 && !v6) continue;
    if (v6) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      a.interface = info.ipi6_ifindex;
      std::memcpy(a.to.data(), &info.ipi6_addr, a.to.size());
    } else {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      a.interface = static_cast<unsigned>(info.ipi_ifindex);
      info.ipi_ifindex = 0;  // only the address matters for the way back
      std::memcpy(CMSG_DATA(c), &info, sizeof info);
    }
    if (c->cmsg_len <= a.reply.size()) {
      std::memcpy(a.reply.data(), c, c->cmsg_len);
      a.reply_bytes = v6 ? CMSG_SPACE(sizeof(in6_pktinfo)) : CMSG_SPACE(sizeof(in_pktinfo));
    }
  }
  return a;
}

Result<io::Fd, std::string> open_socket(const config::DnsSection& c, std::string& shown) {
  const bool v6 = c.bind_addr.find(':') != std::string::npos;
  shown = (v6 ? "[" + c.bind_addr + "]" : c.bind_addr) + ":" + std::to_string(c.port);
  Address to{};
  socklen_t length = sizeof to.v4;
  if (v6) {
    const auto ip = parse_ip6(c.bind_addr);
    if (!ip) return bad("dns.bind_addr " + c.bind_addr + " is no IP address");
    to.v6.sin6_family = AF_INET6;
    to.v6.sin6_port = htons(c.port);
    std::memcpy(&to.v6.sin6_addr, ip->data(), 16);
    length = sizeof to.v6;
  } else {
    const auto ip = parse_ip4(c.bind_addr);
    if (!ip) return bad("dns.bind_addr " + c.bind_addr + " is no IP address");
    to.v4.sin_family = AF_INET;
    to.v4.sin_port = htons(c.port);
    std::memcpy(&to.v4.sin_addr, ip->data(), 4);
  }
  io::Fd fd(socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1, off = 0;
  if (fd && v6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
  } else if (fd) {
    setsockopt(fd.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  }
  if (!fd || bind(fd.get(), &to.any, length) != 0)
    return bad(io::os_failure(errno, "name responder on " + shown,
                              errno == EADDRINUSE ? "another program has this port; set dns.port" : "")
                   .text);
  return fd;
}

}  // namespace

struct DnsSocket::Impl : std::enable_shared_from_this<DnsSocket::Impl> {
  Impl(boost::asio::io_context& io, io::Fd fd, DropCounters& d, Answer a, unsigned mesh, std::string shown)
      : socket(io, fd.release()),
        drops(d),
        answer(std::move(a)),
        mesh_index(mesh),
        address(std::move(shown)) {}

  void wait() {
    socket.async_wait(boost::asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& failed) {
                        if (failed || self->closed) return;
                        for (int i = 0; i < kPerTurn && self->serve_one(); ++i) {
                        }
                        self->wait();
                      });
  }

  /// False when nothing is there to be read.
  bool serve_one() {
    Address from{};
    iovec part{buffer.data(), buffer.size()};
    alignas(cmsghdr) std::array<char, 256> control{};
    msghdr m{};
    m.msg_name = &from;
    m.msg_namelen = sizeof from;
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    const auto n = recvmsg(socket.native_handle(), &m, MSG_DONTWAIT);
    if (n < 0) return errno == EINTR;
    Arrival at = arrival_of(m);
    // The kernel books what this machine sends to its own mesh address as coming in there. Nobody else can have that
    // source: addresses of packets from the mesh are those of the sessions they came by.
    const bool own =
        from.any.sa_family == AF_INET6 && std::memcmp(&from.v6.sin6_addr, at.to.data(), at.to.size()) == 0;
    if (mesh_index != 0 && at.interface == mesh_index && !own) {
      drops.add(Drop::dns_from_mesh);
      return true;
    }
    Buffer reply = answer(Bytes(buffer.data(), static_cast<std::size_t>(n)));
    if (reply.empty()) return true;
    part = {reply.data(), reply.size()};
    m.msg_control = at.reply_bytes > 0 ? at.reply.data() : nullptr;
    m.msg_controllen = at.reply_bytes;
    m.msg_flags = 0;
    // A full socket loses the reply; whoever asked asks again.
    [[maybe_unused]] const auto sent = sendmsg(socket.native_handle(), &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
  }

  boost::asio::posix::stream_descriptor socket;
  DropCounters& drops;
  Answer answer;
  unsigned mesh_index;
  std::string address;
  std::array<std::uint8_t, kQueryBytes> buffer{};
  bool closed = false;
};

Result<DnsSocket, std::string> DnsSocket::open(boost::asio::io_context& io, const config::DnsSection& config,
                                               unsigned mesh_index, DropCounters& drops, Answer answer) {
  std::string shown;
  auto fd = open_socket(config, shown);
  if (!fd) return bad(fd.error());
  auto impl =
      std::make_shared<Impl>(io, std::move(*fd), drops, std::move(answer), mesh_index, std::move(shown));
  impl->wait();
  return DnsSocket(std::move(impl));
}

DnsSocket::DnsSocket(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
DnsSocket::DnsSocket(DnsSocket&&) noexcept = default;
DnsSocket& DnsSocket::operator=(DnsSocket&&) noexcept = default;
DnsSocket::~DnsSocket() {
  if (!impl_) return;
  impl_->closed = true;
  boost::system::error_code ignored;
  impl_->socket.close(ignored);
}
const std::string& DnsSocket::address() const { return impl_->address; }

}  // namespace weft::daemon
