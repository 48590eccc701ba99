/// What one shard has done so far. One writer (the shard's thread); everybody may read, relaxed.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "base/drop.h"
#include "seam/stats.h"

namespace weft {

/// Steps of the packet path whose cost is shown one by one. `inner` holds the sealing and sending of a burst
/// that is larger than the shard's buffer; else the steps do not overlap.
enum class Stage : std::uint8_t {
  inner,
  session_seal,
  hop_seal,
  wire_send,
  hop_open,
  dispatch,
  session_open,
  tun_write,
  count_
};
constexpr std::size_t kStages = static_cast<std::size_t>(Stage::count_);
std::string_view name_of(Stage s);

/// How often a step ran, over how many packets, and how long (0 unless a stage clock was lent).
struct StageCounter {
  Gauge runs, items, ns;
};

/// Sizes by power of two: slot i counts values in [2^(i-1), 2^i), slot 0 counts zeros, the last one
/// everything above.
class Histogram {
 public:
  static constexpr std::size_t kSlots = 12;

  void add(std::size_t value) {
    const auto slot = static_cast<std::size_t>(std::bit_width(value));
    slots_[slot < kSlots ? slot : kSlots - 1].add(1);
  }
  std::uint64_t slot(std::size_t i) const { return slots_[i].get(); }

 private:
  std::array<Gauge, kSlots> slots_;
};

struct ShardStats {
  DropCounters drops;
  ForwardingStats forwarding;
  Histogram burst_in;   // packets (after splitting) or frames per call
  Histogram run_out;    // frames per WireSink::send
  Gauge fragmented;     // inner packets sent as IPv6 fragments
  Gauge mss_clamped;    // TCP SYNs lowered
  Gauge queue_marked;   // TCP segments that told their sender of a queue here, by ECN
  Gauge queue_dropped;  // the same, by being lost
  Gauge too_big_sent;   // ICMPv6 packet-too-big written to the interface
  Gauge unreachable_sent;
  Gauge hairpinned;  // packets to our own address
  Gauge strays;      // frames and datagrams handed to another worker
  std::array<StageCounter, kStages> stages;
};

}  // namespace weft
