#include "sim/net.h"

#include <algorithm>

namespace weft::sim {

void Net::at(Instant when, Action action) {
  heap_.push_back({std::max(when, now_), sequence_++, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end());
}

void Net::run_until(Instant until) {
  while (!heap_.empty() && heap_.front().when <= until) {
    std::pop_heap(heap_.begin(), heap_.end());
    Event e = std::move(heap_.back());
    heap_.pop_back();
    now_ = e.when;
    ++done_;
    e.action();
  }
  now_ = std::max(now_, until);
}

}  // namespace weft::sim
