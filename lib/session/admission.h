/// How many session setups a link peer may hand us. Spent before any curve operation.
///
/// Keyed by the authenticated link peer, never by the claimed source: a flood with forged sources costs the
/// flooder's own share. Strangers and sources with a session draw from separate buckets, so that a flood of
/// new ones leaves rekeys alone.
#pragma once

#include "base/bucket.h"
#include "base/ids.h"
#include "base/lru.h"
#include "session/settings.h"

namespace weft::session {

class SetupLimiter {
 public:
  explicit SetupLimiter(const Settings& s) : settings_(s), buckets_(kMaxLinkPeers) {}

  bool take(Instant now, const NodeAddr& via, bool known) {
    auto* b = buckets_.get(via);
    if (b == nullptr) {
      buckets_.put(via, Buckets{{settings_.stranger_burst, settings_.stranger_rate},
                                {settings_.known_burst, settings_.known_rate}});
      b = buckets_.get(via);
    }
    return (known ? b->known : b->stranger).take(now);
  }
  std::size_t size() const { return buckets_.size(); }

 private:
  struct Buckets {
    Bucket stranger;
    Bucket known;
  };
  Settings settings_;
  Lru<NodeAddr, Buckets> buckets_;
};

}  // namespace weft::session
