/// macOS has no SOCK_CLOEXEC and SOCK_NONBLOCK: two calls more. Private to this room.
#pragma once

#include <fcntl.h>

#include "io/fd.h"

namespace weft::io {

/// The descriptor, closed on exec and not blocking; empty, with errno, when that fails.
inline Fd prepared(int raw, bool blocks = false) {
  Fd fd(raw);
  if (fd && fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) return {};
  if (fd && !blocks && fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return {};
  return fd;
}

}  // namespace weft::io
