/// Wakes one sleeping thread; free of system calls while that thread is awake.
///
/// Sleeper   prepare(); look once more at everything that may have come; poll on fd(); woke(), saying whether fd() was readable.
/// Others    put something where the sleeper looks, then wake(). Any thread.
///
/// Nothing is lost: both sides exchange on one variable, so either the sleeper's second look sees what was put there, or
/// the other side sees that it sleeps and writes.
#pragma once

#include <atomic>

#include "io/fd.h"

namespace weft::daemon {

class Waker {
 public:
  /// Throws std::system_error when the process is out of descriptors.
  Waker();

  void wake() {
    if (asleep_.exchange(false, std::memory_order_acq_rel)) signal();
  }
  void prepare() { (void)asleep_.exchange(true, std::memory_order_acq_rel); }
  void woke(bool readable);
  int fd() const { return fd_.get(); }

 private:
  void signal();

  io::Fd fd_;
  std::atomic<bool> asleep_{false};
};

}  // namespace weft::daemon
