#include "weftd/send_report.h"

#include <algorithm>
#include <cstring>

namespace weft::daemon {
namespace {

constexpr Duration kQuiet = 600s;

/// What happened, and what follows from it, as one clause each.
std::string_view meaning(SendCause c) {
  switch (c) {
    case SendCause::offload:
      return "the kernel would not segment some bursts; they went piece by piece, which costs more, and "
             "offload is tried "
             "again by itself";
    case SendCause::too_big:
      return "frames were larger than the system sends towards a peer and were lost; lower "
             "transports.udp.mtu to what the "
             "path carries";
    case SendCause::unreachable:
      return "the system had no way to a peer's address, refused it, or our own address was gone; frames "
             "were lost";
    case SendCause::buffer_full:
      return "the socket or the queue below stayed full; frames were dropped";
    case SendCause::own_socket:
      return "a link's own socket failed; the listening socket went on in its place";
    case SendCause::other:
    case SendCause::count_:
      break;
  }
  return "the system refused frames for an unexpected reason; they were lost";
}

}  // namespace

void SendReport::look(Instant now, const Workers& workers, std::size_t links_without) {
  std::size_t without = links_without;
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    without += static_cast<std::size_t>(
        std::ranges::count_if(ports_[port].sockets, [](const auto& s) { return s.offload_refused(); }));
    for (std::size_t i = 0; i < kSendCauses; ++i) {
      const auto cause = static_cast<SendCause>(i);
      const auto t = workers.send_trouble(port, cause);
      Seen& seen = seen_[port][i];
      if (t.count == seen.told || (seen.at && now - *seen.at < kQuiet)) continue;
      const auto& name = ports_[port].info.name;
      log_(cause == SendCause::offload || cause == SendCause::own_socket ? Level::info : Level::warn,
           name_of(cause), "{}: {} ({}, link {}, {} times)", name.empty() ? "udp" : "udp/" + name,
           meaning(cause), std::strerror(t.error), t.link.value, t.count - seen.told);
      seen = {t.count, now};
    }
  }
  if (refused_ && without == 0) log_(Level::info, "offload", "segmentation offload works again");
  refused_ = without > 0;
}

}  // namespace weft::daemon
