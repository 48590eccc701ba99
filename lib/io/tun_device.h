/// A TUN interface: one descriptor per queue, super-packets where the kernel has them.
///
/// Life     the interface vanishes with its last descriptor, so a crash leaves nothing behind.
/// Names    an interface of that name that is not ours stays untouched; ours is one that was made
///          persistent for this user, is of TUN type, and that nobody has open.
/// Errors   opening gives a sentence that says what to do; traffic gives a status.
/// Thread   each queue has one owner; reading and writing the same queue from two threads is allowed.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "io/failure.h"
#include "io/fd.h"
#include "offload/vnet_header.h"

namespace weft::io {

struct TunOptions {
  std::string name = "weft0";  // at most 15 characters
  unsigned queues = 1;
  bool offload = true;
};

struct TunFeatures {
  bool vnet_header = false;  // every read and write carries one
  bool checksum = false;     // open checksums may come
  bool tcp = false;          // TCP super-packets, both ways
  bool udp = false;          // UDP super-packets, both ways
  bool operator==(const TunFeatures&) const = default;
};

enum class TunStatus : std::uint8_t {
  ok,
  would_block,
  refused,  // the kernel did not want this packet (write only)
  down,     // interface not up
  gone,     // interface deleted
  other,
};
std::string_view name_of(TunStatus s);

class TunQueue {
 public:
  struct Read {
    TunStatus status = TunStatus::ok;
    offload::VnetHeader vnet;
    std::size_t size = 0;  // bytes of the packet
    int error = 0;
  };

  /// One packet or super-packet. `packet` should hold offload::kMaxSuperPacket bytes; a longer packet is cut.
  Read read(MutBytes packet);
  /// One packet or super-packet from its pieces (at most 255). Without vnet_header the header must be the
  /// default one.
  TunStatus write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces);
  TunStatus write(Bytes packet) { return write({}, std::span<const Bytes>(&packet, 1)); }
  int fd() const { return fd_.get(); }

 private:
  friend class TunDevice;
  TunQueue(Fd fd, bool vnet) : fd_(std::move(fd)), vnet_(vnet) {}
  Fd fd_;
  bool vnet_;
};

class TunDevice {
 public:
  /// Exists afterwards, down and without address: see interface_setup.h. What this kernel lacks is no error: see
  /// features(), and queues(), which may be fewer than asked for.
  static Result<TunDevice, Failure> open(const TunOptions& options);

  const std::string& name() const { return name_; }
  unsigned index() const { return index_; }
  const TunFeatures& features() const { return features_; }
  std::vector<TunQueue>& queues() { return queues_; }

 private:
  TunDevice() = default;
  std::string name_;
  unsigned index_ = 0;
  TunFeatures features_;
  std::vector<TunQueue> queues_;
};

/// Where the precondition net.ipv6.conf.*.disable_ipv6 is looked up; a folder of the same shape in tests.
Result<void, Failure> check_ipv6_enabled(const std::string& interface = "all",
                                         const std::string& conf = "/proc/sys/net/ipv6/conf");

}  // namespace weft::io
