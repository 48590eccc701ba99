#include "weftd/waker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace weft::daemon {

Waker::Waker() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "event descriptor");
}

void Waker::signal() {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the sleeper is being woken anyway.
  [[maybe_unused]] const auto n = ::write(fd_.get(), &one, sizeof one);
}

void Waker::woke(bool readable) {
  asleep_.exchange(false, std::memory_order_acq_rel);
  if (!readable) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = ::read(fd_.get(), &count, sizeof count);
}

}  // namespace weft::daemon
