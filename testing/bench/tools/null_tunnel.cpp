/// The upper bound of weft's design: TUN super-packets in slices over UDP trains, sealed as weft seals, and nothing else.
///
///   null-tunnel INTERFACE LOCAL:PORT REMOTE:PORT LAYERS        IPv4; LAYERS 0 or 2
///
/// A datagram has the size, the two AEAD layers and the payload of a full TCP segment of weft's (below), and both ends
/// use weft's AEAD back-end. There is no handshake, no replay window, no route and no TCP header for a slice: a
/// super-packet crosses whole or is lost whole. One thread per direction, blocking, everything offloaded. The interface
/// is given its address and MTU by whoever starts this. Ends with SIGTERM.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "crypto/aead.h"
#include "offload/vnet_header.h"
#include "wire/limits.h"

namespace {

using namespace weft;

// A datagram of weft's: link header | timestamp, envelope, session header | session's inner header, ports, shim, TCP
// header, payload | tag | tag. Headers are filler here, but for what puts a super-packet together again.
constexpr std::size_t kDatagram = 1472;
constexpr std::size_t kOuterFill = wire::kLinkTimestamp + wire::kEnvelopeHeader;
constexpr std::size_t kTcpWithTimestamps = 32;
constexpr std::size_t kInnerFill =
    wire::kSessionInner + wire::kPortHeader + wire::kShimHeader + kTcpWithTimestamps;
constexpr std::size_t kOuterAt = wire::kLinkHeader;
constexpr std::size_t kSessionAt = kOuterAt + kOuterFill;
constexpr std::size_t kInnerAt = kSessionAt + wire::kSessionHeader;
constexpr std::size_t kSliceAt = kInnerAt + kInnerFill;
constexpr std::size_t kSlice = kDatagram - kSliceAt - 2 * wire::kTag;
static_assert(kSlice == 1323, "the payload of a TCP segment over weft at this link MTU");
constexpr std::size_t kOverhead = kDatagram - kSlice;

constexpr std::size_t kTrain = 44;  // datagrams of one send; 65,507 bytes at most
constexpr std::size_t kMaxSuper = offload::kMaxSuperPacket;
constexpr std::uint8_t kFirst = 1, kLast = 2;

[[noreturn]] void die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

int open_tun(const std::string& name) {
  const int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (fd < 0) die("/dev/net/tun");
  ifreq r{};
  name.copy(r.ifr_name, IFNAMSIZ - 1);
  r.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  if (ioctl(fd, TUNSETIFF, &r) != 0) die("TUNSETIFF " + name);
  const int header = offload::kVnetHeaderBytes;
  if (ioctl(fd, TUNSETVNETHDRSZ, &header) != 0) die("TUNSETVNETHDRSZ");
  constexpr unsigned kTcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
  constexpr unsigned kUdp = 0x60;  // TUN_F_USO4 and 6, younger than Debian's headers
  if (ioctl(fd, TUNSETOFFLOAD, kTcp | kUdp) != 0 && ioctl(fd, TUNSETOFFLOAD, kTcp) != 0) die("TUNSETOFFLOAD");
  return fd;
}

sockaddr_in endpoint(const std::string& text) {
  sockaddr_in a{};
  const auto colon = text.find(':');
  a.sin_family = AF_INET;
  if (colon == std::string::npos || inet_pton(AF_INET, text.substr(0, colon).c_str(), &a.sin_addr) != 1) {
    std::fprintf(stderr, "null-tunnel: %s is no ADDRESS:PORT\n", text.c_str());
    std::exit(2);
  }
  a.sin_port = htons(static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1)));
  return a;
}

int open_udp(const sockaddr_in& local, const sockaddr_in& remote) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int on = 1, bytes = 8 << 20;
  for (const int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE})
    setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) die("bind");
  if (connect(fd, reinterpret_cast<const sockaddr*>(&remote), sizeof remote) != 0) die("connect");
  if (setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on) != 0) die("UDP_GRO");
  const int segment = static_cast<int>(kDatagram);
  if (setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) die("UDP_SEGMENT");
  return fd;
}

/// Both layers of a train, in two batches.
class Layers {
 public:
  explicit Layers(bool on)
      : on_(on), aead_(crypto::make_aead()), key_(std::array<std::uint8_t, 32>{1, 2, 3}) {}

  void seal(std::uint8_t* train, std::size_t bytes) {
    if (!on_) return;
    for_both(train, bytes, false, [&](auto jobs) { aead_->seal(jobs); });
  }
  /// False when a tag was wrong.
  bool open(std::uint8_t* train, std::size_t bytes, std::size_t step) {
    if (!on_) return true;
    step_ = step;
    for_both(train, bytes, true, [&](auto jobs) { aead_->open(jobs); });
    step_ = kDatagram;
    return good_;
  }

 private:
  template <typename Run>
  void for_both(std::uint8_t* train, std::size_t bytes, bool outer_first, Run run) {
    good_ = true;
    for (const bool outer : {outer_first, !outer_first}) {
      std::size_t n = 0;
      for (std::size_t at = 0; at < bytes && n < jobs_.size(); at += step_, ++n)
        jobs_[n] = job(train + at, std::min(step_, bytes - at), outer);
      run(std::span(jobs_.data(), n));
      for (std::size_t i = 0; i < n; ++i) good_ = good_ && jobs_[i].ok;
    }
  }

  crypto::AeadJob job(std::uint8_t* frame, std::size_t size, bool outer) const {
    std::uint64_t counter = 0;
    std::memcpy(&counter, frame, sizeof counter);
    const std::size_t aad = outer ? 0 : kSessionAt;
    const std::size_t data = outer ? kOuterAt : kInnerAt;
    const std::size_t tag = size - (outer ? 1 : 2) * wire::kTag;
    return {.key = &key_,
            .counter = counter,
            .aad = Bytes(frame + aad, data - aad),
            .data = frame + data,
            .size = tag - data,
            .tag = frame + tag};
  }

  bool on_, good_ = true;
  std::size_t step_ = kDatagram;
  std::unique_ptr<crypto::Aead> aead_;
  crypto::AeadKey key_;
  std::array<crypto::AeadJob, 128> jobs_;
};

/// From the interface to the wire.
void egress(int tun, int udp, bool crypt) {
  Layers layers(crypt);
  std::vector<std::uint8_t> super(kMaxSuper + offload::kVnetHeaderBytes), train(kTrain * kDatagram);
  std::uint64_t counter = 1;
  for (;;) {
    const ssize_t got = read(tun, super.data(), super.size());
    if (got <= static_cast<ssize_t>(offload::kVnetHeaderBytes)) {
      if (got < 0 && errno != EINTR && errno != EIO) die("read of the interface");
      continue;
    }
    const std::uint8_t* packet = super.data() + offload::kVnetHeaderBytes;
    const auto size = static_cast<std::size_t>(got) - offload::kVnetHeaderBytes;
    for (std::size_t at = 0, used = 0; at < size; at += kSlice) {
      const std::size_t n = std::min(kSlice, size - at);
      std::uint8_t* frame = train.data() + used;
      std::memcpy(frame, &counter, sizeof counter);
      ++counter;
      frame[kInnerAt] = static_cast<std::uint8_t>((at == 0 ? kFirst : 0) | (at + n == size ? kLast : 0));
      std::memcpy(frame + kInnerAt + 1, super.data(), offload::kVnetHeaderBytes);
      std::memcpy(frame + kSliceAt, packet + at, n);
      used += n + kOverhead;
      if (used < train.size() && at + n < size) continue;
      layers.seal(train.data(), used);
      if (send(udp, train.data(), used, 0) < 0 && errno == EBADF) die("send");
      used = 0;
    }
  }
}

/// A super-packet that is being put together; its slices stay where they were received while they can.
class Assembly {
 public:
  explicit Assembly(int tun) : tun_(tun), kept_(kMaxSuper) {}

  void take(const std::uint8_t* frame, std::size_t size) {
    const std::uint8_t marks = frame[kInnerAt];
    if ((marks & kFirst) != 0) {
      drop();
      open_ = true;
      std::memcpy(header_.data(), frame + kInnerAt + 1, header_.size());
    }
    const std::size_t n = size - kOverhead;
    if (!open_ || pieces_ == iov_.size() || bytes_ + n > kMaxSuper) return drop();
    iov_[pieces_++] = {const_cast<std::uint8_t*>(frame) + kSliceAt, n};
    bytes_ += n;
    if ((marks & kLast) == 0) return;
    iov_[0] = {header_.data(), header_.size()};
    if (writev(tun_, iov_.data(), static_cast<int>(pieces_)) < 0 && errno == EBADF)
      die("write of the interface");
    drop();
  }

  /// Before the buffer of the slices is used again.
  void keep() {
    if (!open_ || pieces_ == 1) return;
    std::size_t at = 0;
    for (std::size_t i = 1; i < pieces_; ++i) {
      std::memmove(kept_.data() + at, iov_[i].iov_base, iov_[i].iov_len);
      at += iov_[i].iov_len;
    }
    iov_[1] = {kept_.data(), at};
    pieces_ = 2;
  }

  void drop() {
    open_ = false;
    pieces_ = 1;
    bytes_ = 0;
  }

 private:
  int tun_;
  bool open_ = false;
  std::size_t pieces_ = 1, bytes_ = 0;  // the first piece is the header
  std::array<std::uint8_t, offload::kVnetHeaderBytes> header_{};
  std::array<iovec, 128> iov_{};
  std::vector<std::uint8_t> kept_;
};

/// From the wire to the interface.
void ingress(int tun, int udp, bool crypt) {
  Layers layers(crypt);
  Assembly assembly(tun);
  std::vector<std::uint8_t> train(65536);
  for (;;) {
    alignas(cmsghdr) std::array<char, 64> control{};
    iovec v{train.data(), train.size()};
    msghdr m{.msg_iov = &v, .msg_iovlen = 1, .msg_control = control.data(), .msg_controllen = control.size()};
    const ssize_t got = recvmsg(udp, &m, 0);
    if (got <= 0) continue;  // the far side is not there yet
    const auto bytes = static_cast<std::size_t>(got);
    int segment = static_cast<int>(got);
    for (auto* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c))
      if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO)
        std::memcpy(&segment, CMSG_DATA(c), sizeof segment);
    const auto step = static_cast<std::size_t>(segment);
    if (bytes % step != 0 && bytes % step <= kOverhead) continue;
    if (step <= kOverhead || !layers.open(train.data(), bytes, step)) {
      assembly.drop();
      continue;
    }
    for (std::size_t at = 0; at < bytes; at += step)
      assembly.take(train.data() + at, std::min(step, bytes - at));
    assembly.keep();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: null-tunnel INTERFACE LOCAL:PORT REMOTE:PORT LAYERS\n", stderr);
    return 2;
  }
  const int tun = open_tun(argv[1]);
  const int udp = open_udp(endpoint(argv[2]), endpoint(argv[3]));
  const bool crypt = std::string(argv[4]) != "0";
  std::thread in(ingress, tun, udp, crypt);
  egress(tun, udp, crypt);
}
