/// Numbers that one worker writes and everybody may read. Relaxed: each is right, together they are a moment apart.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace weft {

/// A number with one writer thread.
class Gauge {
 public:
  void set(std::uint64_t v) { v_.store(v, std::memory_order_relaxed); }
  void add(std::uint64_t n) { v_.store(v_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  std::uint64_t get() const { return v_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> v_{0};
};

/// A number that several workers add to.
class Sum {
 public:
  void add(std::uint64_t n) { v_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t get() const { return v_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> v_{0};
};

/// An Instant that one thread writes.
class SharedInstant {
 public:
  void set(Instant t) { ns_.store(t.time_since_epoch().count(), std::memory_order_relaxed); }
  Instant get() const { return Instant{Duration{ns_.load(std::memory_order_relaxed)}}; }

 private:
  std::atomic<Duration::rep> ns_{0};
};

/// One link, over all its key epochs. Receiving side: written by the link's home worker. Sending side: by all.
struct LinkStats {
  SharedInstant last_recv;  // last authentic frame of any epoch
  Gauge frames_recv;        // authentic frames, all epochs
  Gauge bytes_recv;         // whole frames, header and tag included
  Gauge epoch_frames_recv;  // of the current epoch only: input of the reverse delivery ratio
  Gauge epoch_highest;      // highest counter of the current epoch
  Gauge ce_recv;            // frames that carried CE
  Gauge replay_suppressed;
  Gauge bad_tags_in_row;    // consecutive failed opens; shown, never acted on
  Sum frames_sent;
  Sum bytes_sent;
  Gauge k_recv;             // key-epoch bit (0 or 1) of the newest authentic frame of the current epoch
  std::atomic<bool> spin{false};  // value to send now
};

/// One session, over all its key epochs. Written by its home worker, but for the sums.
struct SessionStats {
  SharedInstant last_data_recv;  // DataPacket, the only kind that counts as activity
  SharedInstant last_data_sent;  // several writers; any of the latest is good enough
  Gauge packets_recv;            // DataPackets, port header included in bytes
  Gauge bytes_recv;
  Gauge epoch_frames_recv;
  Gauge epoch_highest;
  Gauge last_path_mtu;  // of the newest message; 65535 and 0 mean unknown
  Gauge last_ttl;       // hops that the newest message had left; 0 before the first
  Gauge ce_recv;
  Gauge rtt_ns;  // written by the core from the far side's reports; 0 before the first
  SharedInstant older_epoch_recv;  // last frame of an epoch before the current one: prolongs its drain
  Sum packets_sent;
  Sum bytes_sent;
  std::atomic<bool> spin{false};
  /// Data packets that still carry coordinates. Workers count it down, the core sets it (5).
  std::atomic<std::uint32_t> warmup{0};
};

/// Forwarding counters of one worker, names of the control protocol's `forwarding` family.
struct ForwardingStats {
  struct Pair {
    Gauge packets, bytes;
    void add(std::uint64_t n_bytes, std::uint64_t n = 1) {
      packets.add(n);
      bytes.add(n_bytes);
    }
  };
  Pair received, decode_error, warm_malformed, ttl_exhausted, delivered, forwarded, drop_no_route, drop_mtu_exceeded,
      drop_send_error, originated;
  Gauge route_tree_up, route_tree_down, route_tree_down_cross, route_crosslink_descend, route_crosslink_ascend,
      route_direct_peer;
  Gauge ce_forwarded, ce_received, congestion_detected;
};

}  // namespace weft
