/// The mesh interface, open and configured, for as long as the object lives.
#pragma once

#include "config/schema.h"
#include "io/interface_setup.h"
#include "io/tun_device.h"

namespace weft::daemon {

struct MeshInterface {
  io::TunDevice device;
  io::InterfaceSetup setup;  // undone before the device closes
  std::uint16_t mtu = 1280;  // as set last
};

/// Queues: as many as the kernel gives, at most `queues`. Errors: a sentence with what to do; nothing is left behind.
Result<MeshInterface, std::string> open_interface(const config::TunSection& config, const MeshAddr& address,
                                                  unsigned queues, bool offload,
                                                  std::vector<std::string>& warnings);

}  // namespace weft::daemon
