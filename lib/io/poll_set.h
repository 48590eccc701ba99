/// Which of many descriptors can be read, at a cost that does not grow with those that cannot.
///
/// Level    a descriptor is named again until nothing is left to read there; errors count as readable.
/// Thread   one owner.
/// macOS    the same header over kqueue.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "io/fd.h"

namespace weft::io {

class PollSet {
 public:
  static constexpr std::size_t kMost = 64;  // named by one wait; the others come first the next time

  /// Throws std::system_error when the process is out of descriptors.
  PollSet();
  /// False when the system has no room for more.
  bool add(int fd, std::uint64_t tag);
  void remove(int fd);
  /// Tags of what can be read, after at most `timeout_ms` (-1: however long it takes); good until the next call.
  std::span<const std::uint64_t> wait(int timeout_ms);

 private:
  Fd fd_;
  std::array<std::uint64_t, kMost> ready_{};
};

}  // namespace weft::io
