/// What each stage of the packet path cost since the last report, for WEFT_PERF=1.
#pragma once

#include <string>

#include "control/shell_view.h"

namespace weft::daemon {

class PerfReport {
 public:
  /// Lines without a last newline; empty when nothing ran. `seconds` since the last call.
  std::string lines(const control::ShardTotals& now, double seconds);

 private:
  control::ShardTotals last_;
};

}  // namespace weft::daemon
