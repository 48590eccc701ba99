/// What a shell (daemon thread, simulator, test) lends a shard for the length of one call, and what it gives
/// one to run on.
///
/// Memory   whatever a sink is handed lives in the shard's or the caller's buffers: it is good until the sink
///          returns.
/// Order    sinks are called in the order in which things must leave.
/// Thread   a shard, its sinks and its Aead belong to one thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/drop.h"
#include "crypto/aead.h"
#include "offload/vnet_header.h"
#include "seam/halves.h"
#include "seam/punt.h"

namespace weft {

constexpr std::size_t kMaxRunFrames = 64;    // UDP_MAX_SEGMENTS of older kernels
constexpr std::size_t kMaxRunBytes = 65507;  // largest UDP payload over IPv4

/// Decrypt worker whose table holds this receiver index: what the kernel's steering program computes too.
inline WorkerId home_of(SessionIndex index, std::uint32_t decrypt_workers) {
  return {decrypt_workers < 2 ? 0U : (index.value & 0xffU) % decrypt_workers};
}

/// The encrypt worker that alone feeds a link to a node that is not weft. Such a node takes a frame up to 2048 counters
/// late, and a worker that is preempted between taking counters and sending makes them older than that when others go
/// on meanwhile. It is the one with the number of the link's home: the home writes replies to that worker's queue, so the
/// kernel comes to give it the flows anyway.
inline WorkerId feeder_of(const LinkSend& link, std::uint32_t encrypt_workers) {
  return {encrypt_workers < 2 ? 0U : link.home.value % encrypt_workers};
}

struct SendOutcome {
  std::size_t lost = 0;          // frames that did not leave; the shard counts them, as if they were the run's last
  Drop why = Drop::send_failed;  // or send_buffer_full, send_too_big, send_unreachable
};

class WireSink {
 public:
  virtual ~WireSink() = default;
  /// Frames for `path.to` from `path.transport` (or a connected socket of `path.link`): equal in size, the
  /// last one not larger, at most kMaxRunFrames and kMaxRunBytes; often, but not always, one behind the other
  /// in memory.
  virtual SendOutcome send(const LinkSend& path, std::span<const Bytes> frames) = 0;
  /// One frame of any size up to kMaxRunBytes, not to be fragmented on its way (where there is no such way, sent as others
  /// are). Whether it left is not told: a probe may be too large even for the interface.
  virtual void send_whole(const LinkSend& path, Bytes frame) { (void)send(path, std::span(&frame, 1)); }
};

class TunSink {
 public:
  virtual ~TunSink() = default;
  /// One packet or super-packet in pieces. False when the interface refused it (the shard counts
  /// tun_write_failed).
  virtual bool write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) = 0;
};

class PuntSink {
 public:
  virtual ~PuntSink() = default;
  /// False when lane_of(punt) is full: the shard counts it, the punt is gone.
  virtual bool punt(Punt&& punt) = 0;
};

/// What one call of a decrypt shard found to belong to another: copied, in order.
struct StrayBurst {
  enum class Kind : std::uint8_t {
    frame,     // a whole sealed link frame, not yet opened
    datagram,  // an opened link message, type byte first, whose session lives elsewhere
  };
  struct Item {
    Kind kind = Kind::frame;
    bool ce = false;           // datagram
    LinkId link;               // datagram: what it came over
    TransportId transport;     // frame
    Endpoint from;             // frame
    std::uint32_t offset = 0;  // into bytes
    std::uint32_t size = 0;
  };
  std::vector<Item> items;
  Buffer bytes;
};

class StraySink {
 public:
  virtual ~StraySink() = default;
  /// For on_stray of the shard `home`. False when the ring to it is full.
  virtual bool hand_over(WorkerId home, StrayBurst&& burst) = 0;
};

/// Reads of the interface that belong to another encrypt shard: copied, in order.
struct TunBurst {
  struct Item {
    offload::VnetHeader vnet;
    std::uint32_t offset = 0;  // into bytes
    std::uint32_t size = 0;
  };
  std::vector<Item> items;
  Buffer bytes;
};

class TunStraySink {
 public:
  virtual ~TunStraySink() = default;
  /// For on_stray of the encrypt shard `worker`. False when the ring to it is full.
  virtual bool hand_over(WorkerId worker, TunBurst&& burst) = 0;
};

struct ShardIo {
  WireSink& wire;
  TunSink& tun;
  PuntSink& punts;
  StraySink* strays = nullptr;  // may be null with one decrypt worker, and for encrypt shards
  TunStraySink* tun_strays = nullptr;  // may be null with one encrypt worker, and for decrypt shards
};

/// One read of the interface: a packet or super-packet. The shard may write to `packet`.
struct TunRead {
  offload::VnetHeader vnet;
  MutBytes packet;
};

/// One read of a socket: a datagram, or several of `segment` bytes (the last may be shorter) when data is
/// longer than that; segment 0 means one. The shard opens and reseals in place.
struct WireRead {
  Endpoint from;
  MutBytes data;
  std::size_t segment = 0;
  bool truncated = false;
};

struct ShardOptions {
  NodeAddr self;
  WorkerId id;
  std::uint32_t decrypt_workers = 1;
  std::uint32_t encrypt_workers = 1;
  std::unique_ptr<crypto::Aead> aead;
  std::uint64_t fragment_seed = 0;       // start of the IPv6 fragment identifications; random in the daemon
  std::size_t burst_frames = 128;        // frames sealed or opened together
  std::size_t burst_bytes = 256 * 1024;  // of an encrypt shard's buffer; at least 2 * 65,535 + 256
  bool tun_tcp = false;                  // the interface takes TCP super-packets
  bool tun_udp = false;                  // the interface takes UDP super-packets
  double handshakes_burst = 256;  // phase 1 frames, and as many phase 2 frames, let through to the core
  double handshakes_per_second = 256;
  /// Nanoseconds of any monotonic clock, for the stage counters; null: not measured.
  std::uint64_t (*stage_clock)() = nullptr;
};

}  // namespace weft
