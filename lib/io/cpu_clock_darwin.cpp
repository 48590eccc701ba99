#include <sys/resource.h>

#include "io/cpu_clock.h"

namespace weft::io {

// macOS has no clocks of single threads that others may read: they read as 0.
CpuClock::CpuClock(pthread_t) {}
Duration CpuClock::used() const { return {}; }

ProcessUse process_use() {
  ProcessUse out;
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) == 0)
    for (const timeval& t : {use.ru_utime, use.ru_stime})
      out.cpu += std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
  return out;
}

}  // namespace weft::io
