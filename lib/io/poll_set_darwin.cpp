#include <fcntl.h>
#include <sys/event.h>

#include <cerrno>
#include <ctime>
#include <system_error>

#include "io/poll_set.h"

namespace weft::io {

PollSet::PollSet() : fd_(kqueue()) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "event descriptor");
  fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);
}

bool PollSet::add(int fd, std::uint64_t tag) {
  struct kevent e {};
  EV_SET(&e, static_cast<uintptr_t>(fd), EVFILT_READ, EV_ADD, 0, 0, reinterpret_cast<void*>(tag));
  return kevent(fd_.get(), &e, 1, nullptr, 0, nullptr) == 0;
}

void PollSet::remove(int fd) {
  struct kevent e {};
  EV_SET(&e, static_cast<uintptr_t>(fd), EVFILT_READ, EV_DELETE, 0, 0, nullptr);
  kevent(fd_.get(), &e, 1, nullptr, 0, nullptr);
}

std::span<const std::uint64_t> PollSet::wait(int timeout_ms) {
  std::array<struct kevent, kMost> events;
  const timespec patience{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  const int n = kevent(fd_.get(), nullptr, 0, events.data(), static_cast<int>(events.size()),
                       timeout_ms < 0 ? nullptr : &patience);
  std::size_t count = 0;
  for (int i = 0; i < n; ++i)
    ready_[count++] = reinterpret_cast<std::uint64_t>(events[static_cast<std::size_t>(i)].udata);
  return std::span(ready_).first(count);
}

}  // namespace weft::io
