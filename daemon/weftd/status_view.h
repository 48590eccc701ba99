/// What only the daemon knows, gathered for one control request.
#pragma once

#include "control/shell_view.h"
#include "weftd/effects.h"
#include "weftd/firewall.h"
#include "weftd/startup.h"
#include "weftd/tun_setup.h"

namespace weft::daemon {

/// What does not change by itself while the daemon runs.
struct Facts {
  const Settings& settings;
  const ChosenIdentity& identity;
  const std::vector<UdpPort>& ports;
  const MeshInterface* mesh = nullptr;
  const Firewall* firewall = nullptr;
  std::int64_t start_unix_ms = 0;
  std::string control_socket, dns_addr, dns_trouble;
  std::string hosts_trouble, acl_trouble;  // with the files as they are now; empty: they are in force
  std::vector<std::string> troubles;
};

control::ShellView view_of(const Facts& facts, const Workers& workers, const Effects& effects,
                           const ConnectedUdp& connected, std::uint64_t kernel_drop_events,
                           DropCounters& shell_drops);
/// Sections of transports that do not exist yet: kind and name of each instance.
std::vector<control::TransportView> unsupported_transports(const config::TransportsSection& t);

}  // namespace weft::daemon
