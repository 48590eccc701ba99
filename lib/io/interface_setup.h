/// Address, MTU, route and policy rule of the mesh interface.
///
/// Undo     when this object goes, the interface goes down (address and route go with that) and the rule
///          is removed, unless it was there before us and is not ours from a crash.
/// Time     the kernel takes packets for the new address some milliseconds later, on a work queue.
/// Errors   the first step that fails, with what to do; the steps before it are undone. The rule alone is
///          no reason to fail: it becomes a warning.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "io/failure.h"

namespace weft::io {

/// Mesh traffic looks into the main table first, before the rules that VPNs with own tables bring along.
constexpr std::uint32_t kRulePriority = 5265;

struct InterfacePlan {
  std::string name;
  MeshAddr address;
  std::uint32_t mtu = 1280;
  std::uint32_t gso_bytes =
      0;              // largest super-packet that the kernel may hand over; 0 leaves its default (65536)
  std::uint32_t queue_packets = 0;  // that wait for us, by queue; 0 leaves the kernel's default (500)
  bool route = true;  // fd00::/8
  bool rule = true;   // to fd00::/8 lookup main
};

class InterfaceSetup {
 public:
  static Result<InterfaceSetup, Failure> apply(const InterfacePlan& plan,
                                               std::vector<std::string>* warnings = nullptr);

  InterfaceSetup(InterfaceSetup&& other) noexcept
      : index_(std::exchange(other.index_, 0U)), rule_added_(std::exchange(other.rule_added_, false)) {}
  InterfaceSetup& operator=(InterfaceSetup&& other) noexcept {
    std::swap(index_, other.index_);
    std::swap(rule_added_, other.rule_added_);
    return *this;
  }
  ~InterfaceSetup();
  bool rule_added() const { return rule_added_; }

 private:
  explicit InterfaceSetup(unsigned index) : index_(index) {}
  unsigned index_ = 0;
  bool rule_added_ = false;
};

/// Packets that the kernel could not put into an interface's queue, since it exists; 0 when it cannot be known.
std::uint64_t queue_drops(const std::string& name);

/// At least 1280, or the kernel takes IPv6 off the interface.
Result<void, Failure> set_interface_mtu(const std::string& name, std::uint32_t mtu);
/// Brings an interface up or down.
Result<void, Failure> set_interface_up(const std::string& name, bool up);

}  // namespace weft::io
