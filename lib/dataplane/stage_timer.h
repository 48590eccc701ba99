/// Counts one run of a stage, and its time when a clock was lent.
#pragma once

#include "dataplane/shard_stats.h"

namespace weft {

class StageTimer {
 public:
  using Clock = std::uint64_t (*)();

  StageTimer(ShardStats& stats, Clock clock, Stage stage, std::size_t items)
      : counter_(stats.stages[static_cast<std::size_t>(stage)]),
        clock_(clock),
        start_(clock != nullptr ? clock() : 0) {
    counter_.runs.add(1);
    counter_.items.add(items);
  }
  ~StageTimer() {
    if (clock_ != nullptr) counter_.ns.add(clock_() - start_);
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageCounter& counter_;
  Clock clock_;
  std::uint64_t start_;
};

}  // namespace weft
