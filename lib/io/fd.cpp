#include "io/fd.h"

#include <unistd.h>

namespace weft::io {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace weft::io
