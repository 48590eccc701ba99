#include "weftd/udp_ports.h"

#include <algorithm>
#include <limits>

namespace weft::daemon {
namespace {

int clamp_buffer(std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max() / 2;  // the kernel books twice as much
  return static_cast<int>(std::min(bytes, kMost));
}

Result<void, std::string> open_group(const config::Udp& c, bool offload, std::uint32_t count, UdpPort& port,
                                     std::vector<std::string>& warnings) {
  const auto bind = Endpoint::parse(c.effective_bind());
  if (!bind) return bad("bind_addr \"" + std::string(c.effective_bind()) + "\" is not ADDRESS:PORT");
  io::UdpOptions o;
  o.bind = *bind;
  // A link carries what transports.udp.mtu says. Where a path below takes less, fragments are slow but arrive; refusing
  // them would give a link that comes up and loses every full packet.
  o.fragments = io::Fragments::allow;
  o.send_offload = o.receive_offload = offload;
  o.receive_buffer_bytes = clamp_buffer(c.recv_buf_size);
  o.send_buffer_bytes = clamp_buffer(c.send_buf_size);
  // SO_REUSEPORT on a single socket would let a second weftd of the same user take half of our datagrams; so the first
  // one asks for the port alone, and only a group shares it.
  std::vector<io::UdpSocket> group;
  {
    auto probe = o;
    probe.share_port = false;
    probe.receive_offload = false;
    auto alone = io::UdpSocket::open(probe);
    if (!alone) return bad(alone.error().text);
    o.bind.port = alone->local().port;  // port 0: all of the group take the one that the kernel chose
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    auto s = io::UdpSocket::open(o, i == 0 ? &warnings : nullptr);
    if (!s) return bad(s.error().text);
    group.push_back(std::move(*s));
  }
  // With one worker too: what is bound beside it later, for one link alone, must not be chosen for others.
  const auto steered = group[0].steer_by_receiver_index(count);
  if (!steered && count > 1) return bad(steered.error().text + "; set weft.dataplane.decrypt_workers: 1");
  port.steered = steered.has_value();
  port.options = o;
  port.sockets = std::move(group);
  return {};
}

}  // namespace

std::string_view name_of(SendCause c) {
  switch (c) {
    case SendCause::offload:
      return "offload";
    case SendCause::too_big:
      return "too_big";
    case SendCause::unreachable:
      return "unreachable";
    case SendCause::buffer_full:
      return "buffer_full";
    case SendCause::own_socket:
      return "own_socket";
    case SendCause::other:
    case SendCause::count_:
      break;
  }
  return "other";
}

std::vector<UdpPort> open_udp_ports(const config::Config& config, std::uint32_t decrypt_workers,
                                    std::vector<std::string>& warnings) {
  std::vector<UdpPort> out;
  for (const auto& instance : config.transports.udp) {
    UdpPort p;
    p.info.id = TransportId{static_cast<std::uint32_t>(out.size())};
    p.info.name = instance.name.value_or("");
    p.info.mtu = instance.config.mtu;
    p.info.accepts = instance.config.accept_connections && !instance.config.outbound_only;
    if (const auto ok =
            open_group(instance.config, config.weft.dataplane.offload, decrypt_workers, p, warnings)) {
      p.info.local = p.sockets[0].local();
      p.info.up = true;
    } else {
      p.info.local = Endpoint::parse(instance.config.effective_bind()).value_or(Endpoint{});
      p.info.up = false;
      p.trouble = ok.error();
    }
    out.push_back(std::move(p));
  }
  return out;
}

std::vector<link::Transport> transports_of(const std::vector<UdpPort>& ports) {
  std::vector<link::Transport> out;
  for (const auto& p : ports) out.push_back(p.info);
  return out;
}

}  // namespace weft::daemon
