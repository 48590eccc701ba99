/// Keeps the queue in front of a reader short: says when a flow's sender should be told to slow down.
///
/// A TCP sender fills whatever buffer it meets, and everybody else's packets wait behind its own. Buffers must be large,
/// though: what cannot slow down (datagrams) must survive a turn that the scheduler gave to another program. So the
/// buffer stays and the senders that listen are told: by a mark where they negotiated ECN, else by the loss of one
/// segment.
///
/// The law is CoDel's (RFC 8289) with three differences. What is compared with the target is the mean wait over an
/// interval, not the least: where both ends share processors the queue is empty now and then however long it is in
/// between. The target is a share of the flow's own round trip, so that a queue which costs a near sender half of its
/// rate, and a far one nothing, is held against the near one only. And the wait is reckoned from what is queued and how
/// quickly it is read: one question per burst and no clock per datagram.
///
/// Thread   one owner. Cost: a comparison per packet while there is no queue.
/// Source   RFC 7567, RFC 8289; docs/decisions/0017-short-queues.md
#pragma once

#include <cstddef>

#include "base/time.h"

namespace weft {

class QueueControl {
 public:
  /// Mean waits below this are nobody's trouble.
  static constexpr Duration kLeastTarget = std::chrono::microseconds(50);
  /// A flow's target is its round-trip time over this.
  static constexpr int kShareOfRtt = 8;
  static constexpr Duration kInterval = std::chrono::milliseconds(50);

  /// A burst of `taken` bytes was read at `now`, and `left` bytes still wait.
  void on_burst(Instant now, std::size_t taken, std::size_t left);
  /// Asked for each packet whose sender would listen, with the flow's round-trip time: true when this one is to carry the
  /// signal. Never where that time is not known yet (0).
  bool signal(Instant now, Duration rtt);
  /// False: signal() would be, too.
  bool owes() const { return owed_ > 0; }

 private:
  void close_interval(Instant now);

  Instant begin_{};     // of the interval
  Instant last_{};      // burst
  double wait_ = 0;     // as of the last burst, ns
  double area_ = 0;     // wait over time since begin_, ns * ns
  double rate_ = 0;     // bytes per ns while there is a queue
  double mean_ = 0;     // wait over the last whole interval, ns
  bool busy_ = false;   // something was left at the last burst
  unsigned above_ = 0;  // intervals in a row whose mean was over the least target
  unsigned owed_ = 0;   // signals not yet given
  Instant next_signal_{};
};

}  // namespace weft
