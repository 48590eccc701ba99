/// A network namespace for one test, empty but for a loopback interface that is up.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "io/fd.h"
#include "io/interface_setup.h"

namespace weft::io {

/// Takes the calling thread into a fresh namespace, and back at its end.
class FreshNetns {
 public:
  FreshNetns() : back_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (!back_ || unshare(CLONE_NEWNET) != 0) {
      why_not_ = std::string("needs root for a network namespace: ") + std::strerror(errno);
      back_.reset();
    } else if (const auto up = set_interface_up("lo", true); !up) {
      why_not_ = up.error().text;
    }
  }
  FreshNetns(const FreshNetns&) = delete;
  FreshNetns& operator=(const FreshNetns&) = delete;
  ~FreshNetns() {
    if (back_ && setns(back_.get(), CLONE_NEWNET) != 0)
      std::abort();  // later tests would run in the wrong place
  }
  /// Empty, or the reason to skip.
  const std::string& why_not() const { return why_not_; }

 private:
  Fd back_;
  std::string why_not_;
};

/// Runs `f` on a thread that has lost root's capabilities; false when it had none to lose.
template <class F>
bool without_capabilities(F f) {
  if (geteuid() != 0) return false;
  // The raw call changes this thread only, where the library's would change the whole process.
  std::thread([&] {
    if (syscall(SYS_setresuid, -1, 65534, -1) == 0) f();
  }).join();
  return true;
}

}  // namespace weft::io

#define WEFT_FRESH_NETNS()               \
  const weft::io::FreshNetns weft_netns; \
  if (!weft_netns.why_not().empty()) GTEST_SKIP() << weft_netns.why_not()
