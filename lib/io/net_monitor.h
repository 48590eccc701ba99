/// Tells that addresses, routes or links of this host changed, so that the core looks again at its links.
///
/// Use      when fd() is readable, call drain(): it empties the socket and says what kinds of change came.
/// Thread   one owner.
#pragma once

#include <cstdint>

#include "io/failure.h"
#include "io/fd.h"

namespace weft::io {

struct NetChange {
  bool address = false;
  bool route = false;
  bool link = false;
  bool missed = false;  // more came than the kernel kept: assume everything changed
  bool any() const { return address || route || link || missed; }
};

class NetMonitor {
 public:
  /// Changes of the interface `own_index` (ours) are left out; 0 leaves out nothing.
  static Result<NetMonitor, Failure> open(unsigned own_index);
  int fd() const { return fd_.get(); }
  NetChange drain();

 private:
  NetMonitor() = default;
  Fd fd_;
  unsigned own_index_ = 0;
};

}  // namespace weft::io
