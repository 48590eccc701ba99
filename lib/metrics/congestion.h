/// When a link counts as congested, and what that does to the packets that cross it.
///
/// CE on a datagram that arrived marked is relayed always; the rule here only adds marks of our own.
/// Datagrams that start here and control messages never carry CE.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weft {

/// node.ecn.*; thresholds are reached when equal.
struct CongestionRule {
  bool enabled = true;
  double loss = 0.05;  // of the last report interval, 0..1
  double etx = 3.0;
};

/// Whether our own marks go on what leaves by a link with these numbers.
inline bool is_congested(const CongestionRule& rule, double loss, double etx, bool kernel_drops) {
  return rule.enabled && (kernel_drops || loss >= rule.loss || etx >= rule.etx);
}

/// Watches one ever-growing count of packets that the kernel dropped on receipt.
class DropWatch {
 public:
  /// True when it rose since the last look. The first look only sets the base, and so does a count that fell.
  bool rose(std::uint64_t total) {
    const bool up = started_ && total > last_;
    last_ = total;
    started_ = true;
    return up;
  }

 private:
  std::uint64_t last_ = 0;
  bool started_ = false;
};

/// Marks an IPv6 packet as having met congestion, unless its ECN bits say that its ends do not take part (00)
/// or it is shorter than 2 bytes. No checksum covers these bits.
inline void set_ip6_ce(MutBytes packet) {
  if (packet.size() < 2 || (packet[1] & 0x30) == 0) return;
  packet[1] = static_cast<std::uint8_t>(packet[1] | 0x30);
}

}  // namespace weft
