/// How soon threads get a processor when others want it too.
///
/// Thread   the calling one; threads that it starts meanwhile inherit the priority and keep it.
/// macOS    does nothing: not raised.
#pragma once

namespace weft::io {

class RaisedPriority {
 public:
  /// Before others' work and, on kernels that know it, with short turns: work that comes in pieces of microseconds then
  /// does not wait for somebody's milliseconds. Where the system does not allow it (CAP_SYS_NICE or RLIMIT_NICE), or
  /// with `wanted` false, nothing changes.
  explicit RaisedPriority(bool wanted);
  /// The calling thread is as it was.
  void end();

 private:
  bool raised_ = false;
  int before_ = 0;
};

}  // namespace weft::io
