/// UDP sockets for bursts: segmentation offload out, receive offload and batches in.
///
/// Errors   setting up gives a Failure with a sentence; traffic gives a status and never throws.
/// Thread   one owner for receiving; any thread may send.
/// macOS    the same header; no offloads there (can_gso(), can_gro() false), singles only.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "io/failure.h"
#include "io/fd.h"
#include "io/offload_gate.h"

namespace weft::io {

constexpr std::size_t kMaxUdpPayload = 65507;  // of one call, offloaded or not
constexpr std::size_t kMaxSendSegments = 64;   // of one offloaded call
constexpr std::size_t kMaxSendBatch = 64;      // of one batch of singles; longer ones are cut into several

enum class Fragments : std::uint8_t {
  never,  // DF, and the kernel's path MTU is respected: larger is too_big
  probe,  // DF, but only the interface MTU counts: a forged ICMP cannot shrink the path
  allow,  // the kernel may fragment
};

struct UdpOptions {
  Endpoint bind;
  bool share_port =
      true;  // SO_REUSEPORT, and never SO_REUSEADDR: with that another user's process could take datagrams
  Fragments fragments = Fragments::never;
  bool send_offload = true;
  bool receive_offload = true;
  int receive_buffer_bytes = 8 << 20;
  int send_buffer_bytes = 4 << 20;
  std::string interface;  // bind to this device only; empty for all
};

enum class SendStatus : std::uint8_t {
  ok,
  would_block,  // wait until writable
  no_buffers,   // the queue below is full: wait a little, or drop
  too_big,      // larger than the path takes
  unreachable,  // no route, refused by the far host, our own address gone: a matter of this destination
  gone,         // the socket is of no use any more
  other,
};
std::string_view name_of(SendStatus s);

struct SendResult {
  SendStatus status = SendStatus::ok;
  std::size_t sent = 0;  // datagrams that left; the one at this position is what the status is about
  int error = 0;
  int offload_error =
      0;  // the kernel refused to segment a run for this reason: it went, or was tried, piece by piece
};

/// Says no in the kernel's place, so that tests meet every refusal.
class SendFault {
 public:
  virtual ~SendFault() = default;
  /// Asked before each send call: an errno is what the call returns without having happened; 0 lets it happen.
  virtual int refuse(bool offloaded, std::size_t datagrams, std::size_t largest) = 0;
};

struct Datagram {
  Endpoint to;  // unset on a connected socket
  Bytes data;
};

/// One received message: a datagram, or several of `segment` bytes (the last may be shorter) when size >
/// segment.
struct Received {
  Endpoint from;
  MutBytes data;
  std::size_t segment = 0;
  bool truncated = false;  // larger than its buffer: what is there is not all
};

/// Buffers of one receive call, with the kernel's structures kept between calls.
class RecvBatch {
 public:
  /// `slots` buffers of `bytes` each. With receive offload a buffer should hold 65535 bytes, or trains get
  /// cut.
  RecvBatch(std::size_t slots, std::size_t bytes);
  RecvBatch(RecvBatch&&) noexcept;
  RecvBatch& operator=(RecvBatch&&) noexcept;
  ~RecvBatch();

  std::size_t slots() const;
  /// Another buffer for a slot, for the next call; the caller's memory, so that a packet can be kept without
  /// a copy.
  void set_buffer(std::size_t slot, MutBytes buffer);
  /// What the last recv_batch brought.
  std::span<const Received> received() const;

  struct State;

 private:
  friend class UdpSocket;
  std::unique_ptr<State> state_;
};

enum class RecvStatus : std::uint8_t { ok, would_block, gone, other };

class UdpSocket {
 public:
  /// Opened, configured, bound, non-blocking. What works but not fully (buffer sizes, offloads) goes to
  /// `warnings`.
  static Result<UdpSocket, Failure> open(const UdpOptions& options,
                                         std::vector<std::string>* warnings = nullptr);

  /// Only `peer` from now on. Bind it to the listening sockets' address first (share_port on all of them).
  Result<void, Failure> connect(const Endpoint& peer);
  bool is_connected() const { return connected_; }
  /// Takes no more datagrams from anybody: they go to the sockets beside it. What has arrived can still be read. Nobody
  /// may send on it any more. False when the kernel would not.
  bool park();

  /// At most `most` of the batch's slots. Waits for nothing. `ok` means batch.received() is not empty.
  RecvStatus recv_batch(RecvBatch& batch, std::size_t most = SIZE_MAX);
  /// Datagrams of equal size, the last one not larger, to one destination, in one call where the kernel can;
  /// singles otherwise, for what does not fit into one call, and again at once for what the kernel refused to segment.
  /// `to` is nullptr on a connected socket.
  SendResult send_segments(const Endpoint* to, std::span<const Bytes> datagrams);
  /// Datagrams of any size to any destinations. After a failure the caller goes on behind `sent`, or not.
  SendResult send_batch(std::span<const Datagram> datagrams);
  SendResult send_to(const Endpoint& to, Bytes data);
  /// One datagram that nobody may fragment, whatever `fragments` says of all others; path MTUs that the kernel has heard of
  /// do not count, the interface's does. The socket's option is changed for the length of the call: what other threads
  /// send meanwhile is not fragmented either.
  SendResult send_whole(const Endpoint* to, Bytes data);

  int fd() const { return fd_.get(); }
  Endpoint local() const;
  /// False also while a refusal makes it wait; it asks again by itself.
  bool can_gso() const { return gso_ && gate_->open(); }
  bool offload_refused() const { return gso_ && !gate_->open(); }
  /// The network changed: what was refused may work now.
  void hope_for_offload() const { gate_->hope(); }
  /// For tests; nullptr takes it away. It must outlive the socket.
  void inject(SendFault* fault) { fault_ = fault; }
  bool can_gro() const { return gro_; }
  /// Datagrams that the kernel dropped because nobody read in time; monotonic, as of the last received
  /// message.
  std::uint64_t kernel_drops() const { return drops_; }
  /// How many more since the last time this was asked.
  std::uint64_t new_kernel_drops() { return drops_ - std::exchange(drops_told_, drops_); }
  /// What waits to be read, as the kernel counts its memory: somewhat more than the datagrams' bytes.
  std::size_t queued_bytes() const;
  /// All of them, asked of the kernel now; for when nothing arrives any more.
  std::uint64_t kernel_drops_now();

  /// Steers the group that shares this port: established frames (payload byte 0 is zero) to the socket number
  /// (payload byte 4 mod `sockets`), everything else to socket 0. Sockets are numbered in the order in which
  /// they were bound; sockets bound later are never chosen. Call it on any member, after all `sockets` are
  /// bound.
  Result<void, Failure> steer_by_receiver_index(unsigned sockets);

 private:
  UdpSocket() = default;
  void note_drops(std::uint32_t counter);
  /// 0, or -1 with errno.
  int set_fragments(Fragments f);
  SendResult send_run(const Endpoint* to, std::span<const Bytes> run);
  SendResult send_singles(const Endpoint* to, std::span<const Bytes> datagrams);

  Fd fd_;
  Endpoint::Family family_ = Endpoint::Family::none;
  Fragments fragments_ = Fragments::never;
  bool connected_ = false;
  bool gso_ = false;  // this kernel knows it
  bool gro_ = false;
  std::unique_ptr<OffloadGate> gate_ =
      std::make_unique<OffloadGate>();  // whichever thread sends may find a refusal
  SendFault* fault_ = nullptr;
  std::uint32_t drops_seen_ = 0;
  std::uint64_t drops_ = 0;
  std::uint64_t drops_told_ = 0;
};

/// The address that this machine would send from towards `peer` now; unset when there is no way. Sends nothing.
Endpoint source_towards(const Endpoint& peer);
/// errno of a send call as a status.
SendStatus classify_send_error(int error);
/// What this kernel can do, tried on a socket of its own.
struct UdpCapabilities {
  bool gso = false;
  bool gro = false;
};
UdpCapabilities probe_udp();

}  // namespace weft::io
