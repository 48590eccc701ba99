/// Processor time of one thread, as another may read it; what the whole process uses.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace weft::io {

class CpuClock {
 public:
  CpuClock() = default;  // reads as 0
  /// The thread must not have ended.
  explicit CpuClock(pthread_t thread);
  /// User and system time so far; 0 once the thread has ended. One system call.
  Duration used() const;

 private:
  std::optional<clockid_t> id_;
};

struct ProcessUse {
  Duration cpu{};  // user and system, all threads
  std::uint64_t resident_bytes = 0;
};
ProcessUse process_use();

}  // namespace weft::io
