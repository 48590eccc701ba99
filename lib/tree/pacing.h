/// To whom our announce must still go, and when.
///
/// One announce per peer and 500 ms; what is asked for meanwhile is sent as one, with the content of that
/// moment. Nothing acknowledges an announce, so each is said again 2, 8 and 32 s later and then every minute: a
/// receiver that has it drops the copy before it looks at the signature, and none stays lost.
///
/// Time    monotonic.
/// Thread  owner's. Cost: O(log peers).
/// Source  docs/spec/mesh.md section 1.8.
#pragma once

#include <map>
#include <vector>

#include "base/deadlines.h"
#include "base/ids.h"

namespace weft {

class AnnouncePacing {
 public:
  AnnouncePacing(Duration min_interval, Duration repeat_after) : min_(min_interval), repeat_(repeat_after) {}

  /// A peer that knows nothing of us (new, or restarted): due at once.
  void add(const NodeAddr& peer, Instant now);
  void remove(const NodeAddr& peer);
  /// True when it had to be put off.
  bool request(const NodeAddr& peer, Instant now);
  /// Requested, and not yet taken. A mere repeat does not count.
  bool pending(const NodeAddr& peer) const;
  std::optional<Instant> next() const { return due_.next(); }
  /// Peers whose turn it is, in the order of their turns; they count as sent with `sequence` now.
  std::vector<NodeAddr> take(Instant now, std::uint64_t sequence);

 private:
  struct Peer {
    std::optional<Instant> last;
    std::optional<std::uint64_t> last_sequence;
    bool requested = false;
    Duration pause{};  // before the next repeat
  };
  Duration min_;
  Duration repeat_;
  std::map<NodeAddr, Peer> peers_;
  Deadlines<NodeAddr> due_;
};

}  // namespace weft
