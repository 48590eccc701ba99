/// IPv6 packets that wait for a session or a next hop, in order, bounded in every direction.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/deadlines.h"
#include "base/ids.h"
#include "session/settings.h"

namespace weft::session {

class Pending {
 public:
  Pending(std::size_t per_dest, std::size_t dests) : per_dest_(per_dest), dests_(dests) {}

  /// False when something had to go: the oldest packet to `dest`, or this one when the table of destinations
  /// is full.
  bool put(Instant now, const NodeAddr& dest, Buffer packet);
  /// All that waits for `dest`, oldest first.
  std::vector<Buffer> take(const NodeAddr& dest);
  bool waits_for(const NodeAddr& dest) const { return queues_.contains(dest); }

  std::optional<Instant> deadline() const { return due_.next(); }
  /// Packets of one destination that have waited too long; nullopt when there are none. Call until it is.
  std::optional<std::pair<NodeAddr, std::vector<Buffer>>> take_expired(Instant now);

  std::size_t destinations() const { return queues_.size(); }
  std::size_t packets() const { return packets_; }

 private:
  struct Waiting {
    Instant since;
    Buffer packet;
  };
  std::size_t per_dest_;
  std::size_t dests_;
  std::map<NodeAddr, std::deque<Waiting>> queues_;
  Deadlines<NodeAddr> due_;
  std::size_t packets_ = 0;
};

}  // namespace weft::session
