/// Tells the service manager that this daemon is alive, as long as all of it is.
///
/// The control thread is alive because it calls tick(). Every worker is asked for a sign of life now and then; while
/// one owes it, nothing is sent, and the manager ends and restarts us when its patience is over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/notify.h"
#include "weftd/shard_thread.h"

namespace weft::daemon {

class Watchdog {
 public:
  Watchdog(io::Notifier& notifier, const std::vector<std::unique_ptr<ShardThread>>& workers);
  /// Once a second. The name of a worker that does not move, the first time it is noticed; else nothing.
  std::string tick();

 private:
  io::Notifier& notifier_;
  const std::vector<std::unique_ptr<ShardThread>>& workers_;
  // Counted in ticks, not timed: a machine that slept blames nobody.
  unsigned ask_every_ = 0;  // a worker without traffic is woken this often; 0: nobody listens
  unsigned patience_ = 0;
  unsigned since_ = 0;  // ticks since they were asked
  bool told_ = false;
};

}  // namespace weft::daemon
