/// The queues between the control thread and one worker.
///
/// Inbox      commands, in order, never lost: what does not fit into the ring waits on the control thread's side.
/// PuntLanes  three bounded rings, so that no kind of punt starves another; full means dropped, and the shard counts it.
#pragma once

#include <deque>
#include <vector>

#include "base/ring.h"
#include "dataplane/shard_io.h"
#include "seam/command.h"
#include "weftd/waker.h"

namespace weft::daemon {

class Inbox {
 public:
  explicit Inbox(Waker& worker) : worker_(worker) {}

  // Control thread
  void push(Command&& c) {
    if (!backlog_.empty() || !ring_.push(std::move(c))) backlog_.push_back(std::move(c));
    worker_.wake();
  }
  /// Moves what waits into the ring; false while something is left.
  bool flush() {
    while (!backlog_.empty() && ring_.push(std::move(backlog_.front()))) backlog_.pop_front();
    worker_.wake();
    return backlog_.empty();
  }
  bool waiting() const { return !backlog_.empty(); }

  // Worker
  std::optional<Command> pop() { return ring_.pop(); }
  bool empty() const { return ring_.empty(); }

 private:
  Waker& worker_;
  Ring<Command> ring_{128};  // a command may hold a replay window, so slots are large
  std::deque<Command> backlog_;
};

class PuntLanes final : public PuntSink {
 public:
  explicit PuntLanes(Waker& control) : control_(control) {}

  // Worker
  bool punt(Punt&& p) override {
    if (!lane(lane_of(p)).push(std::move(p))) return false;
    control_.wake();
    return true;
  }

  // Control thread
  std::optional<Punt> pop(Lane l) { return lane(l).pop(); }
  bool empty() const { return lanes_[0].empty() && lanes_[1].empty() && lanes_[2].empty(); }

 private:
  Ring<Punt>& lane(Lane l) { return lanes_[static_cast<std::size_t>(l)]; }

  Waker& control_;
  std::array<Ring<Punt>, kLanes> lanes_{Ring<Punt>(256), Ring<Punt>(1024), Ring<Punt>(1024)};
};

/// Bursts that one worker read and another of its kind must look at: a ring for each ordered pair. Whoever runs the other
/// one is woken.
template <class Burst, std::size_t kCapacity>
class PairRings {
 public:
  explicit PairRings(std::size_t workers) : workers_(workers), wakers_(workers, nullptr) {
    if (workers > 1)
      for (std::size_t i = 0; i < workers * workers; ++i) rings_.emplace_back(kCapacity);
  }

  /// Before any worker runs.
  void wakes(std::size_t to, Waker& thread) { wakers_[to] = &thread; }

  bool push(std::size_t from, std::size_t to, Burst&& b) {
    if (!at(from, to).push(std::move(b))) return false;
    if (wakers_[to] != nullptr) wakers_[to]->wake();
    return true;
  }
  std::optional<Burst> pop(std::size_t from, std::size_t to) { return at(from, to).pop(); }
  bool empty(std::size_t to) const {
    if (workers_ > 1)
      for (std::size_t from = 0; from < workers_; ++from)
        if (!rings_[from * workers_ + to].empty()) return false;
    return true;
  }
  std::size_t senders() const { return workers_ > 1 ? workers_ : 0; }

 private:
  Ring<Burst>& at(std::size_t from, std::size_t to) { return rings_[from * workers_ + to]; }

  std::size_t workers_;
  std::vector<Waker*> wakers_;     // null: nobody
  std::deque<Ring<Burst>> rings_;  // a deque: rings stay where they are
};
using StrayRings = PairRings<StrayBurst, 64>;
/// Short: what waits here has left the interface's queue, and TCP believes that it is on its way.
using TunStrayRings = PairRings<TunBurst, 8>;

}  // namespace weft::daemon
