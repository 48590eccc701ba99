#include "lookup/backoff.h"

#include <algorithm>

namespace weft {

bool LookupBackoff::suppresses(const NodeAddr& target, Instant now) const {
  const auto* f = failures_.peek(target);
  return f != nullptr && now < f->until;
}

void LookupBackoff::on_failure(const NodeAddr& target, Instant now) {
  if (base_ <= Duration{}) return;
  auto* known = failures_.get(target);
  Entry f = known != nullptr ? *known : Entry{};
  ++f.count;
  Duration pause = std::min(base_, cap_);
  for (std::uint32_t i = 1; i < f.count && pause < cap_; ++i) pause = pause > cap_ / 2 ? cap_ : pause * 2;
  f.until = now + pause;
  failures_.put(target, f);
}

std::uint32_t LookupBackoff::failures(const NodeAddr& target) const {
  const auto* f = failures_.peek(target);
  return f == nullptr ? 0 : f->count;
}

}  // namespace weft
