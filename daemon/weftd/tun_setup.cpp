#include "weftd/tun_setup.h"

namespace weft::daemon {

Result<MeshInterface, std::string> open_interface(const config::TunSection& config, const MeshAddr& address,
                                                  unsigned queues, std::vector<std::string>& warnings) {
  io::TunOptions o;
  o.name = config.name;
  o.queues = queues;
  auto device = io::TunDevice::open(o);
  if (!device) return bad(device.error().text);
  io::InterfacePlan plan;
  plan.name = device->name();
  plan.address = address;
  plan.mtu = config.mtu;
  auto setup = io::InterfaceSetup::apply(plan, &warnings);
  if (!setup) return bad(setup.error().text);
  return MeshInterface{std::move(*device), std::move(*setup)};
}

}  // namespace weft::daemon
