/// Virtual time: one heap of things to do, ordered by time, then by who asked first.
///
/// Time    starts an hour after zero, and moves only from one event to the next.
/// Thread  everything in this folder runs on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"

namespace weft::sim {

class Net {
 public:
  using Action = std::function<void()>;

  Instant now() const { return now_; }
  /// Both clocks of this moment; wall time runs with virtual time.
  Now clock() const { return {now_, kUnixStart + to_ms(now_ - kStart)}; }
  /// Since the beginning.
  Duration elapsed() const { return now_ - kStart; }

  /// A moment that has passed counts as now; equal moments run in the order in which they were asked for.
  void at(Instant when, Action action);
  void after(Duration d, Action action) { at(now_ + d, std::move(action)); }

  /// Everything that is due up to and including `until`; the time is `until` afterwards.
  void run_until(Instant until);
  void run_for(Duration d) { run_until(now_ + d); }
  std::uint64_t events() const { return done_; }

 private:
  static constexpr Instant kStart = Instant{} + std::chrono::hours(1);
  static constexpr std::int64_t kUnixStart = 1'700'000'000'000;

  struct Event {
    Instant when;
    std::uint64_t sequence = 0;
    Action action;
    bool operator<(const Event& o) const {  // for a heap whose top is the earliest
      return when != o.when ? when > o.when : sequence > o.sequence;
    }
  };
  std::vector<Event> heap_;
  Instant now_ = kStart;
  std::uint64_t sequence_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace weft::sim
