/// UDP instances of the configuration as open sockets: one per decrypt worker, all on one port, steered by the receiver
/// index so that a frame arrives at its home. Everything else comes to the first.
///
/// Thread   opened by the control thread. Socket j is read by decrypt worker j; any thread may send on it.
#pragma once

#include <array>

#include "config/schema.h"
#include "io/udp_socket.h"
#include "link/types.h"
#include "seam/stats.h"

namespace weft::daemon {

/// Why a send did not go as it should; each is a line for the operator when it happens.
enum class SendCause : std::uint8_t {
  offload,      // segmentation refused: sent piece by piece, nothing lost
  too_big,      // a frame is larger than the system sends there
  unreachable,  // no way to the peer, or our address is gone
  buffer_full,  // socket or queue below stayed full
  own_socket,   // a link's own socket failed: the listening one went on
  other,
  count_
};
constexpr std::size_t kSendCauses = static_cast<std::size_t>(SendCause::count_);
std::string_view name_of(SendCause c);

struct SendTrouble {
  Gauge count;        // runs (offload, own_socket), or frames lost
  Gauge error, link;  // of the newest one

  void add(std::uint64_t n, int os_error, LinkId id) {
    count.add(n);
    error.set(static_cast<std::uint64_t>(os_error));
    link.set(id.value);
  }
};

/// Numbers of one transport on one thread.
struct PortStats {
  Gauge packets_sent, bytes_sent, packets_recv, bytes_recv, send_errors, recv_errors, mtu_exceeded,
      kernel_drops;
  std::array<SendTrouble, kSendCauses> troubles;

  SendTrouble& trouble(SendCause c) { return troubles[static_cast<std::size_t>(c)]; }
};

struct UdpPort {
  link::Transport info;                // info.id is the port's position
  std::vector<io::UdpSocket> sockets;  // empty: not open
  std::string trouble;                 // why not
  io::UdpOptions options;  // of each of them, the port filled in: for links' own sockets beside them
  bool steered = false;    // sockets bound later get nothing of what is not for them alone
};

/// All instances, in the order of the file; those that do not open are there with their trouble. `warnings`: what works,
/// but not fully.
std::vector<UdpPort> open_udp_ports(const config::Config& config, std::uint32_t decrypt_workers,
                                    std::vector<std::string>& warnings);
std::vector<link::Transport> transports_of(const std::vector<UdpPort>& ports);

}  // namespace weft::daemon
