#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <ctime>

#include "io/cpu_clock.h"
#include "io/file.h"

namespace weft::io {

CpuClock::CpuClock(pthread_t thread) {
  clockid_t id{};
  if (pthread_getcpuclockid(thread, &id) == 0) id_ = id;
}

Duration CpuClock::used() const {
  timespec t{};
  if (!id_ || clock_gettime(*id_, &t) != 0) return {};
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

ProcessUse process_use() {
  ProcessUse out;
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) == 0)
    for (const timeval& t : {use.ru_utime, use.ru_stime})
      out.cpu += std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
  // Pages: size, resident, …
  if (const auto text = read_text_file("/proc/self/statm", 256)) {
    const auto space = text->find(' ');
    std::uint64_t pages = 0;
    if (space != std::string::npos) std::from_chars(text->data() + space + 1, text->data() + text->size(), pages);
    out.resident_bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  return out;
}

}  // namespace weft::io
