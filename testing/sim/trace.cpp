#include "sim/trace.h"

#include "base/ids.h"

namespace weft::sim {

std::uint64_t hash_of(Bytes b, std::uint64_t seed) {
  std::uint64_t h = seed ^ (b.size() * 0xff51afd7ed558ccdULL);
  std::size_t i = 0;
  for (; i + 8 <= b.size(); i += 8)
    h = detail::mix(h ^ load_le<std::uint64_t>(b.data() + i)) * 0x9e3779b97f4a7c15ULL;
  std::uint64_t tail = 0;
  for (; i < b.size(); ++i) tail = (tail << 8) | b[i];
  return detail::mix(h ^ tail);
}

void Trace::note(std::uint64_t word) { hash_ = detail::mix(hash_ ^ word) + 0x9e3779b97f4a7c15ULL; }

void Trace::note(Instant when, std::uint64_t what, std::uint64_t who, Bytes data) {
  note(static_cast<std::uint64_t>(when.time_since_epoch().count()));
  note(what);
  note(who);
  note(hash_of(data));
  ++events_;
}

}  // namespace weft::sim
