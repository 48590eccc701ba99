/// Who may begin a handshake: two token buckets, so that strangers cannot use up what live links need.
#pragma once

#include "base/bucket.h"
#include "link/types.h"

namespace weft::link {

class Admission {
 public:
  explicit Admission(const Settings& s) : strangers_(s.stranger_burst, s.stranger_rate), known_(s.known_burst, s.known_rate) {}

  /// One message 1 from an address that is, or is not, that of a link we hold. Taken before anything is parsed.
  bool take(Instant now, bool known) { return (known ? known_ : strangers_).take(now); }

 private:
  Bucket strangers_, known_;
};

}  // namespace weft::link
