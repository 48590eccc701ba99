/// UDP load of one flow, and its receiver: packets per second, what was lost where, and whether order was kept.
///
///   bench-load recv ADDRESS PORT SECONDS [--gro]
///   bench-load send ADDRESS PORT SECONDS SIZE [--gso] [--mbit N]
///
/// Both print one line of JSON. The sender makes one system call per packet; with --gso one per kTrain packets
/// (UDP_SEGMENT), and the receiver with --gro takes trains (UDP_GRO). Without --mbit it sends as fast as it can.
/// `recv` ends SECONDS after the first packet, or 5 s after it was started if none comes, or when the sender says so; its
/// rate is counted between the first and the last packet.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kTrain = 64;  // what every kernel with UDP_SEGMENT takes in one call
constexpr std::size_t kSlots = 64;
constexpr std::size_t kSlotBytes = 2048;
constexpr std::uint64_t kEnd = ~std::uint64_t{0};  // instead of a sequence number: the sender is done

struct Options {
  std::string address;
  std::uint16_t port = 0;
  double seconds = 0;
  std::size_t size = 64;
  double mbit = 0;  // 0: no limit
  bool offload = false;
};

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

sockaddr_in6 endpoint(const Options& o) {
  sockaddr_in6 a{};
  a.sin6_family = AF_INET6;
  a.sin6_port = htons(o.port);
  // An IPv4 address as what a dual-stack socket calls it, so that there is one kind of socket.
  const std::string text = o.address.find(':') == std::string::npos ? "::ffff:" + o.address : o.address;
  if (inet_pton(AF_INET6, text.c_str(), &a.sin6_addr) != 1) {
    std::fprintf(stderr, "bench-load: %s is no address\n", o.address.c_str());
    std::exit(2);
  }
  return a;
}

int open_socket() {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  const int off = 0;
  const int bytes = 8 << 20;
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  for (const int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE})
    setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
  return fd;
}

/// What arrived, with the order of one flow.
struct Tally {
  std::uint64_t packets = 0, bytes = 0, late = 0, highest = 0;
  bool ended = false;
  Clock::time_point first, last;

  void take(const std::uint8_t* data, std::size_t size) {
    std::uint64_t sequence = 0;
    if (size < sizeof sequence) return;
    std::memcpy(&sequence, data, sizeof sequence);
    if (sequence == kEnd) {
      ended = true;
      return;
    }
    ++packets;
    bytes += size;
    if (packets > 1 && sequence < highest) ++late;
    highest = std::max(highest, sequence);
  }
};

/// Packets that one call brought, each to the tally; false when there was none.
class Receiver {
 public:
  Receiver(int fd, bool gro) : fd_(fd), gro_(gro), memory_(gro ? 65536 : kSlots * kSlotBytes) {
    for (std::size_t i = 0; i < kSlots; ++i) {
      pieces_[i] = {memory_.data() + (gro ? 0 : i * kSlotBytes), gro ? memory_.size() : kSlotBytes};
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }

  bool receive(Tally& to) { return gro_ ? receive_train(to) : receive_singles(to); }

 private:
  bool receive_singles(Tally& to) {
    const int n = recvmmsg(fd_, messages_.data(), kSlots, MSG_DONTWAIT, nullptr);
    for (std::size_t i = 0; n > 0 && i < static_cast<std::size_t>(n); ++i)
      to.take(memory_.data() + i * kSlotBytes, messages_[i].msg_len);
    return n > 0;
  }

  bool receive_train(Tally& to) {
    alignas(cmsghdr) std::array<char, 128> control{};
    msghdr m{};
    m.msg_iov = pieces_.data();
    m.msg_iovlen = 1;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    const ssize_t n = recvmsg(fd_, &m, MSG_DONTWAIT);
    if (n <= 0) return false;
    const auto size = static_cast<std::size_t>(n);
    int segment = static_cast<int>(n);
    for (auto* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c))
      if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO)
        std::memcpy(&segment, CMSG_DATA(c), sizeof segment);
    const auto step = static_cast<std::size_t>(std::max(segment, 1));
    for (std::size_t at = 0; at < size; at += step) to.take(memory_.data() + at, std::min(step, size - at));
    return true;
  }

  int fd_;
  bool gro_;
  std::vector<std::uint8_t> memory_;
  std::array<iovec, kSlots> pieces_{};
  std::array<mmsghdr, kSlots> messages_{};
};

std::uint32_t kernel_drops(int fd) {
  std::array<std::uint32_t, 16> info{};  // SK_MEMINFO_VARS; the drops are the ninth
  socklen_t size = sizeof info;
  return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info.data(), &size) == 0 ? info[8] : 0;
}

int receive(const Options& o) {
  const int fd = open_socket();
  const int on = 1;
  if (o.offload && setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on) != 0) die("UDP_GRO");
  const auto to = endpoint(o);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) die("bind");
  std::puts("ready");
  std::fflush(stdout);

  Receiver in(fd, o.offload);
  Tally tally;
  const auto start = Clock::now();
  while (!tally.ended) {
    const bool begun = tally.packets > 0;
    if (begun ? since(tally.first) > o.seconds : since(start) > o.seconds + 5) break;
    if (in.receive(tally)) {
      tally.last = Clock::now();
      if (!begun) tally.first = tally.last;
      continue;
    }
    pollfd p{fd, POLLIN, 0};
    poll(&p, 1, 100);
  }
  const double span = std::max(1e-9, std::chrono::duration<double>(tally.last - tally.first).count());
  std::printf("{\"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
              ", \"seconds\": %.4f, \"pps\": %.0f, \"late\": %" PRIu64 ", \"buffer_drops\": %u}\n",
              tally.packets, tally.bytes, span, static_cast<double>(tally.packets) / span, tally.late,
              kernel_drops(fd));
  return 0;
}

class Sender {
 public:
  Sender(int fd, const Options& o)
      : fd_(fd), size_(o.size), train_(o.offload ? kTrain : 1), memory_(size_ * train_, 0x55) {
    if (!o.offload) return;
    const int segment = static_cast<int>(size_);
    if (setsockopt(fd_, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) die("UDP_SEGMENT");
  }

  std::size_t train() const { return train_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t refused() const { return refused_; }

  void send_once() {
    for (std::size_t i = 0; i < train_; ++i) {
      const std::uint64_t sequence = sent_ + refused_ + i;
      std::memcpy(memory_.data() + i * size_, &sequence, sizeof sequence);
    }
    (send(fd_, memory_.data(), memory_.size(), 0) < 0 ? refused_ : sent_) += train_;
  }

  void say_end() {
    std::memcpy(memory_.data(), &kEnd, sizeof kEnd);
    for (int i = 0; i < 5; ++i) {
      send(fd_, memory_.data(), size_, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

 private:
  int fd_;
  std::size_t size_, train_;
  std::vector<std::uint8_t> memory_;
  std::uint64_t sent_ = 0, refused_ = 0;
};

int transmit(const Options& o) {
  const int fd = open_socket();
  const auto to = endpoint(o);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) die("connect");
  Sender out(fd, o);
  const double per_call =
      o.mbit > 0 ? static_cast<double>(o.size * out.train()) * 8 / (o.mbit * 1e6) : 0;  // seconds
  const auto start = Clock::now();
  double due = 0;
  for (double now = 0; now < o.seconds; now = since(start)) {
    if (per_call > 0 && now < due) {
      std::this_thread::sleep_for(std::chrono::duration<double>(due - now));
      continue;
    }
    due += per_call;
    out.send_once();
  }
  const double took = since(start);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what is queued may arrive first
  out.say_end();
  std::printf("{\"sent\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"seconds\": %.4f}\n", out.sent(),
              out.refused(), took);
  return 0;
}

int usage() {
  std::fputs(
      "usage: bench-load recv ADDRESS PORT SECONDS [--gro]\n"
      "       bench-load send ADDRESS PORT SECONDS SIZE [--gso] [--mbit N]\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 4) return usage();
  const bool sending = args[0] == "send";
  if ((!sending && args[0] != "recv") || (sending && args.size() < 5)) return usage();
  Options o{args[1], static_cast<std::uint16_t>(std::atoi(args[2].c_str())), std::atof(args[3].c_str())};
  if (sending) o.size = static_cast<std::size_t>(std::max(8, std::atoi(args[4].c_str())));
  for (std::size_t i = sending ? 5 : 4; i < args.size(); ++i) {
    if (args[i] == "--gso" || args[i] == "--gro") o.offload = true;
    else if (args[i] == "--mbit" && i + 1 < args.size()) o.mbit = std::atof(args[++i].c_str());
    else return usage();
  }
  return sending ? transmit(o) : receive(o);
}
