/// Spin bit: one bit on every frame that goes round once per round trip.
///
/// Role    the initiator of the handshake turns the bit over, the responder sends back what it saw.
/// Order   only a counter above all seen before moves the bit, so that reordering does not.
/// Thread  one owner. Cost: O(1), no allocation. Nothing here derives an RTT from it.
#pragma once

#include <cstdint>

namespace weft {

class SpinBit {
 public:
  enum class Role : std::uint8_t { initiator, responder };

  explicit SpinBit(Role role) : role_(role) {}

  void on_frame(std::uint64_t counter, bool received) {
    if (seen_any_ && counter <= highest_) return;
    seen_any_ = true;
    highest_ = counter;
    if (role_ == Role::responder) bit_ = received;
    else if (received == bit_) bit_ = !bit_;
  }
  /// The bit to put on the next frame.
  bool bit() const { return bit_; }
  Role role() const { return role_; }
  /// Counters begin anew; the bit stays.
  void cutover() { seen_any_ = false; }

 private:
  std::uint64_t highest_ = 0;
  Role role_;
  bool seen_any_ = false;
  bool bit_ = false;
};

}  // namespace weft
