/// All that a probe asks of the node around it.
///
/// Looking changes nothing; the four acts append what is to be done to `out`.
/// Thread  control thread.
#pragma once

#include "base/drop.h"
#include "base/result.h"
#include "probe/report.h"

namespace weft {
class Outbox;
}

namespace weft::probe {

struct LookupState {
  std::uint32_t attempt = 0;  // 0: none under way
};

class World {
 public:
  virtual ~World() = default;

  virtual std::size_t links() const = 0;
  virtual const Path& own_path() const = 0;
  virtual bool is_neighbour(const NodeAddr& target) const = 0;
  virtual std::vector<Claim> claims(const NodeAddr& target) const = 0;
  virtual std::optional<Coords> coords(Instant now, const NodeAddr& target) const = 0;
  virtual std::optional<Hop> next_hop(Instant now, const NodeAddr& target) = 0;
  virtual LookupState lookup(const NodeAddr& target) const = 0;
  /// nullopt: no session, and none being set up.
  virtual std::optional<Session> session(const NodeAddr& target) const = 0;
  /// Since `since`, oldest first.
  virtual std::vector<Signal> signals(const NodeAddr& target, Instant since) const = 0;
  /// Largest IPv6 packet that should reach the target in one frame; 0: unknown.
  virtual std::size_t largest_packet(const NodeAddr& target) = 0;

  /// Asks where the target is, or joins a question that is open. none: asked.
  virtual Reason start_lookup(Now now, const NodeAddr& target, Outbox& out) = 0;
  virtual Result<void, Drop> open_session(Now now, const NodeAddr& target, Outbox& out) = 0;
  /// Has the target report what it received.
  virtual bool send_warmup(Now now, const NodeAddr& target, Outbox& out) = 0;
  /// An ICMPv6 echo request of `size` bytes; the answer comes to Probe::on_echo.
  virtual void send_echo(Now now, const NodeAddr& target, std::uint16_t sequence, std::size_t size,
                         Outbox& out) = 0;
};

}  // namespace weft::probe
