#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "io/thread_priority.h"

namespace weft::io {
namespace {

/// sched_setattr(2): neither this system's C library nor its headers have it beside <sched.h>.
struct SchedAttr {
  std::uint32_t size = sizeof(SchedAttr);
  std::uint32_t policy = 0;  // SCHED_OTHER
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // ns; of SCHED_OTHER: the turn it asks for (Linux 6.12), elsewhere ignored
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
constexpr std::uint64_t kTurn = 100'000;  // ns, the shortest that the kernel takes
constexpr int kNice = -10;

bool set(int nice, std::uint64_t turn) {
  SchedAttr a;
  a.nice = nice;
  a.runtime = turn;
  return ::syscall(SYS_sched_setattr, 0, &a, 0) == 0;
}

}  // namespace

RaisedPriority::RaisedPriority(bool wanted) : before_(::getpriority(PRIO_PROCESS, 0)) {
  raised_ = wanted && before_ > kNice && set(kNice, kTurn);
}

void RaisedPriority::end() {
  if (raised_) set(before_, 0);
  raised_ = false;
}

}  // namespace weft::io
