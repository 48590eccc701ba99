/// Decides which link has a socket of its own, and opens it: one for every UDP link, as soon as its path stands.
///
/// When     a link comes up: at once. Its peer moved: a second after the last move. It fell silent, a worker could not
///          send on it, or the system would choose another source address now: the listening socket takes over, and a new
///          one is tried when it is heard again, after a growing wait, or at once.
/// Never    a frame depends on it: without one, and until every worker knows of it, the listening socket serves.
/// Limit    descriptors; some are left for everything else. Beyond, links stay with the listening socket, and one line says so.
/// Thread   control thread.
#pragma once

#include <map>

#include "base/log.h"
#include "base/time.h"
#include "control/shell_view.h"
#include "seam/command.h"
#include "weftd/link_socket.h"
#include "weftd/udp_ports.h"

namespace weft::daemon {

class ConnectedUdp {
 public:
  using ToAll = std::function<void(const Broadcast&)>;

  struct Settings {
    bool on = true;
    std::size_t most = 0;                         // open at a time
    Duration silence = std::chrono::seconds(15);  // after which a path is in doubt
  };

  /// `to_all` takes commands to every worker.
  ConnectedUdp(const std::vector<UdpPort>& ports, const Settings& settings, ToAll to_all, Log& log)
      : ports_(ports), settings_(settings), to_all_(std::move(to_all)), log_(log) {}

  /// Every command to all workers passes here on its way; a SetLink leaves with the link's socket in it.
  void pass(Instant now, Broadcast& command);
  /// Once a second: what waited, failed or fell silent.
  void on_tick(Instant now);
  /// Addresses or routes changed.
  void on_network_change(Instant now);

  /// How one link sends, for people.
  control::LinkSocketView view(LinkId link) const;
  control::ConnectedUdpView totals() const;
  /// Open sockets whose kernel refuses to segment at the moment.
  std::size_t without_offload() const;

 private:
  struct Link {
    LinkSend send;  // as the core said it last
    std::shared_ptr<SendLease> lease;
    Instant opened_at;
    Instant try_at;       // not before
    bool silent = false;  // given up for silence: not before it is heard
    Duration backoff{};
    std::string why;  // it has none
  };

  void open(Instant now, Link& link);
  void give_up(Link& link, std::string why);
  /// Before it may have a socket again: twice as long as the last time.
  static void wait_longer(Instant now, Link& link);
  void tell(const Link& link);
  bool stale_source(const Link& link) const;

  const std::vector<UdpPort>& ports_;
  Settings settings_;
  ToAll to_all_;
  Log& log_;
  std::map<LinkId, Link> links_;
  std::map<std::pair<TransportId, Endpoint>, LinkId> by_peer_;  // the kernel knows one socket for an address
  std::size_t open_ = 0;
  Instant limit_until_;
  bool limit_told_ = false;
  control::ConnectedUdpView count_;
};

/// Raises this process's soft limit of descriptors to what it may have, up to a sane bound; how many there may be of them
/// for links' sockets when `fixed` are needed for the rest.
std::size_t descriptors_for_links(std::size_t fixed);

}  // namespace weft::daemon
