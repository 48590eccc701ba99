/// UDP instances of the configuration as open sockets: one per decrypt worker, all on one port, steered by the receiver
/// index so that a frame arrives at its home. Everything else comes to the first.
///
/// Thread   opened by the control thread. Socket j is read by decrypt worker j; any thread may send on it.
#pragma once

#include "config/schema.h"
#include "io/udp_socket.h"
#include "link/types.h"
#include "seam/stats.h"

namespace weft::daemon {

/// Numbers of one transport on one thread.
struct PortStats {
  Gauge packets_sent, bytes_sent, packets_recv, bytes_recv, send_errors, recv_errors, mtu_exceeded,
      kernel_drops;
};

struct UdpPort {
  link::Transport info;                // info.id is the port's position
  std::vector<io::UdpSocket> sockets;  // empty: not open
  std::string trouble;                 // why not
};

/// All instances, in the order of the file; those that do not open are there with their trouble. `warnings`: what works,
/// but not fully.
std::vector<UdpPort> open_udp_ports(const config::Config& config, std::uint32_t decrypt_workers,
                                    std::vector<std::string>& warnings);
std::vector<link::Transport> transports_of(const std::vector<UdpPort>& ports);

}  // namespace weft::daemon
