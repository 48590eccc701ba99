/// A running hash over everything that was delivered, when and to whom: two runs agree exactly when it does.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/time.h"

namespace weft::sim {

/// 64 bits of any bytes; quick, repeatable, not for adversaries.
std::uint64_t hash_of(Bytes b, std::uint64_t seed = 0);

class Trace {
 public:
  void note(std::uint64_t word);
  /// `what` keeps kinds of events apart.
  void note(Instant when, std::uint64_t what, std::uint64_t who, Bytes data);
  std::uint64_t hash() const { return hash_; }
  std::uint64_t events() const { return events_; }

 private:
  std::uint64_t hash_ = 0x9e3779b97f4a7c15ULL;
  std::uint64_t events_ = 0;
};

}  // namespace weft::sim
