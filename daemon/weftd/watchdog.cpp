#include "weftd/watchdog.h"

#include <algorithm>

namespace weft::daemon {

Watchdog::Watchdog(io::Notifier& notifier, const std::vector<std::unique_ptr<ShardThread>>& workers)
    : notifier_(notifier), workers_(workers) {
  const auto interval = notifier.watchdog_interval();  // half of what the manager waits
  if (!interval) return;
  const auto seconds =
      static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(*interval).count());
  ask_every_ = std::max(1U, seconds / 3);
  patience_ = std::max(2U, seconds * 2 / 3);
}

std::string Watchdog::tick() {
  if (ask_every_ == 0) return {};
  const auto silent = std::ranges::find_if(workers_, [](const auto& w) { return !w->has_answered(); });
  ++since_;
  if (silent == workers_.end()) {
    told_ = false;
    notifier_.watchdog();
    if (since_ < ask_every_) return {};
    since_ = 0;
    for (const auto& w : workers_) w->ask_for_sign_of_life();
    return {};
  }
  if (since_ < patience_) {
    notifier_.watchdog();
    return {};
  }
  if (told_) return {};
  told_ = true;
  return (*silent)->name();
}

}  // namespace weft::daemon
