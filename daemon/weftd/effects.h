/// Carries out what the core wants done, in the order in which it said so.
///
/// Thread   control thread. Never blocks, but for writing the small file of kept peers.
#pragma once

#include <functional>

#include "base/log.h"
#include "seam/outbox.h"
#include "weftd/connected_udp.h"
#include "weftd/workers.h"

namespace weft::daemon {

class Effects {
 public:
  using Lookup = std::function<void(std::uint64_t ticket, const std::string& host)>;

  /// `tun` may be null.
  Effects(Workers& workers, ConnectedUdp& connected, std::vector<UdpPort>& ports, io::TunQueue* tun,
          std::string kept_peers_file, Lookup resolve, Log& log)
      : workers_(workers),
        connected_(connected),
        ports_(ports),
        stats_(ports.size()),
        tun_(tun),
        kept_peers_file_(std::move(kept_peers_file)),
        resolve_(std::move(resolve)),
        log_(log) {}

  void carry_out(Outbox& out);
  /// Handshakes sent, by port.
  const std::vector<PortStats>& port_stats() const { return stats_; }

 private:
  void send(const RawSend& s);
  void keep_peers(const std::string& text);

  Workers& workers_;
  ConnectedUdp& connected_;
  std::vector<UdpPort>& ports_;
  std::vector<PortStats> stats_;
  io::TunQueue* tun_;
  std::string kept_peers_file_;
  Lookup resolve_;
  Log& log_;
};

}  // namespace weft::daemon
