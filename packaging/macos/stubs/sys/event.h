// Stand-in for <sys/event.h>: see ../../README.md.
#pragma once
#include <cstdint>
struct timespec;
struct kevent {
  std::uintptr_t ident;
  std::int16_t filter;
  std::uint16_t flags;
  std::uint32_t fflags;
  std::intptr_t data;
  void* udata;
};
#define EVFILT_READ (-1)
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_SET(kevp, a, b, c, d, e, f) (*(kevp) = {a, b, c, d, e, f})
int kqueue();
int kevent(int kq, const struct kevent* changes, int nchanges, struct kevent* events, int nevents,
           const struct timespec* timeout);
