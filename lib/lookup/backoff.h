/// How long a target that was not found is left alone: base * 2^(failures - 1), capped. Off by default.
///
/// Bounded: the target that failed longest ago is forgotten first.
/// Time    monotonic.
/// Thread  owner's. Cost: O(1).
/// Source  docs/spec/mesh.md section 3.6.
#pragma once

#include "base/ids.h"
#include "base/lru.h"
#include "base/time.h"

namespace weft {

class LookupBackoff {
 public:
  LookupBackoff(Duration base, Duration cap) : base_(base), cap_(cap), failures_(kMax) {}

  bool suppresses(const NodeAddr& target, Instant now) const;
  void on_failure(const NodeAddr& target, Instant now);
  void on_success(const NodeAddr& target) { failures_.erase(target); }
  std::uint32_t failures(const NodeAddr& target) const;
  /// The tree moved: every old failure is worth a new try.
  void clear() { failures_ = Lru<NodeAddr, Entry>(kMax); }

 private:
  static constexpr std::size_t kMax = 4096;
  struct Entry {
    std::uint32_t count = 0;
    Instant until{};
  };
  Duration base_;
  Duration cap_;
  Lru<NodeAddr, Entry> failures_;
};

}  // namespace weft
