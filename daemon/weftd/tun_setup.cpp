#include "weftd/tun_setup.h"

namespace weft::daemon {
namespace {

// A program that sends single datagrams catches up in bursts after others had the processor: 500 Mbit/s of 1,100 bytes
// are 57 packets a millisecond. The kernel's 500 would lose what nobody could have taken in time.
constexpr std::uint32_t kQueuePackets = 4096;

}  // namespace

Result<MeshInterface, std::string> open_interface(const config::TunSection& config, const MeshAddr& address,
                                                  unsigned queues, bool offload,
                                                  std::vector<std::string>& warnings) {
  io::TunOptions o;
  o.name = config.name;
  o.queues = queues;
  o.offload = offload;
  auto device = io::TunDevice::open(o);
  if (!device) return bad(device.error().text);
  if (device->queues().size() < queues)
    warnings.push_back(
        "interface " + o.name + " has " + std::to_string(device->queues().size()) + " of " +
        std::to_string(queues) +
        " queues: the kernel gave no more; the encrypt workers behind them have nothing to read");
  if (offload && !device->features().tcp)
    warnings.push_back(
        "interface " + o.name +
        ": this kernel's TUN has no TCP offload; every packet is read and written by itself, which costs "
        "speed");
  io::InterfacePlan plan;
  plan.name = device->name();
  plan.address = address;
  plan.mtu = config.mtu;
  plan.queue_packets = kQueuePackets;
  auto setup = io::InterfaceSetup::apply(plan, &warnings);
  if (!setup) return bad(setup.error().text);
  return MeshInterface{std::move(*device), std::move(*setup), config.mtu};
}

}  // namespace weft::daemon
