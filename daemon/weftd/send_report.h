/// Tells the operator why sends do not go as they should: one line for a cause when it appears, at most one in ten
/// minutes while it lasts, and one when offload is back. Workers only count.
///
/// Thread   control thread.
#pragma once

#include "base/log.h"
#include "base/time.h"
#include "weftd/workers.h"

namespace weft::daemon {

class SendReport {
 public:
  SendReport(const std::vector<UdpPort>& ports, Log& log) : ports_(ports), log_(log), seen_(ports.size()) {}

  /// Once a second. `links_without`: links' own sockets whose kernel refuses to segment now.
  void look(Instant now, const Workers& workers, std::size_t links_without);

 private:
  struct Seen {
    std::uint64_t told = 0;     // count as of the last line
    std::optional<Instant> at;  // of the last line
  };

  const std::vector<UdpPort>& ports_;
  Log& log_;
  std::vector<std::array<Seen, kSendCauses>> seen_;
  bool refused_ = false;
};

}  // namespace weft::daemon
