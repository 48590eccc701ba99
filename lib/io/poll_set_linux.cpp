#include <sys/epoll.h>

#include <cerrno>
#include <system_error>

#include "io/poll_set.h"

namespace weft::io {

PollSet::PollSet() : fd_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "event descriptor");
}

bool PollSet::add(int fd, std::uint64_t tag) {
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.u64 = tag;
  return epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &e) == 0;
}

void PollSet::remove(int fd) {
  epoll_event unused{};
  epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, &unused);
}

std::span<const std::uint64_t> PollSet::wait(int timeout_ms) {
  std::array<epoll_event, kMost> events;
  const int n = epoll_wait(fd_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  std::size_t count = 0;
  for (int i = 0; i < n; ++i) ready_[count++] = events[static_cast<std::size_t>(i)].data.u64;
  return std::span(ready_).first(count);
}

}  // namespace weft::io
