/// A shard of the packet path with the descriptors it reads and the queues between it and the control thread.
///
/// Turn       one look at everything it reads: a bounded burst is taken in, the shard is stepped, its sinks send.
/// Commands   are applied after a burst is read and before it is processed: what a command announced before the packet
///            was sent is there when the packet is looked at.
/// Thread     a ShardThread runs one or two of them. Inbox, lanes and stats may be touched from outside as their own
///            headers say; everything else is the thread's.
#pragma once

#include "dataplane/shard_stats.h"
#include "io/poll_set.h"
#include "weftd/lanes.h"
#include "weftd/udp_ports.h"

namespace weft::daemon {

class ShardPump {
 public:
  /// Descriptors go into `poll` with tags from `first_tag` on. `thread` wakes whoever runs the pump.
  ShardPump(io::PollSet& poll, std::uint64_t first_tag, Waker& thread, Waker& control, std::size_t ports)
      : port_stats_(ports),
        poll_(poll),
        first_tag_(first_tag),
        control_(control),
        inbox_(thread),
        lanes_(control) {}
  virtual ~ShardPump() = default;
  ShardPump(const ShardPump&) = delete;
  ShardPump& operator=(const ShardPump&) = delete;

  /// True: there is more, another turn is due at once.
  virtual bool turn() = 0;
  /// Nothing waits in memory; asked between Waker::prepare() and sleep.
  virtual bool idle() const = 0;
  /// The longest that the thread may sleep, in ms; -1: however long it takes.
  virtual int patience() const { return -1; }
  virtual void on_ready(std::uint64_t tag) = 0;

  Inbox& inbox() { return inbox_; }
  PuntLanes& lanes() { return lanes_; }
  virtual const ShardStats& stats() const = 0;
  virtual std::string_view aead_name() const = 0;
  const std::vector<PortStats>& port_stats() const { return port_stats_; }
  /// The interface was deleted, or a descriptor is of no use any more: nothing is read there.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }

 protected:
  void mark_broken() {
    broken_.store(true, std::memory_order_relaxed);
    control_.wake();
  }

  std::vector<PortStats> port_stats_;
  io::PollSet& poll_;
  std::uint64_t first_tag_;
  Waker& control_;
  Inbox inbox_;
  PuntLanes lanes_;

 private:
  std::atomic<bool> broken_{false};
};

/// After an error that nobody knows: so that one which stays does not make a thread spin.
void pause_after_error();

}  // namespace weft::daemon
