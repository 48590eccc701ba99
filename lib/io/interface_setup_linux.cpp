#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <cerrno>
#include <charconv>

#include "io/file.h"
#include "io/interface_setup.h"
#include "io/netlink_linux.h"

namespace weft::io {
namespace {

// Marks routes and rules as made by weft, so that ours from a crash can be told from anybody else's. Free in
// /etc/iproute2/rt_protos and in the kernel's list.
constexpr std::uint8_t kProtocol = 87;
constexpr std::uint8_t kMeshPrefixBits = 8;
constexpr std::array<std::uint8_t, 16> kMeshPrefix{0xfd};
constexpr std::uint32_t kMinIp6Mtu = 1280;

int set_number(Netlink& nl, unsigned index, std::uint16_t attribute, std::uint32_t value) {
  nlmsghdr* const m = nl.message(RTM_NEWLINK, 0);
  nl.body<ifinfomsg>(m)->ifi_index = static_cast<int>(index);
  mnl_attr_put_u32(m, attribute, value);
  return nl.request(m);
}

// No fe80 address and no router solicitations: nobody out there could answer them.
int no_link_local(Netlink& nl, unsigned index) {
  nlmsghdr* const m = nl.message(RTM_NEWLINK, 0);
  nl.body<ifinfomsg>(m)->ifi_index = static_cast<int>(index);
  nlattr* const spec = mnl_attr_nest_start(m, IFLA_AF_SPEC);
  nlattr* const inet6 = mnl_attr_nest_start(m, AF_INET6);
  mnl_attr_put_u8(m, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
  mnl_attr_nest_end(m, inet6);
  mnl_attr_nest_end(m, spec);
  return nl.request(m);
}

int set_up(Netlink& nl, unsigned index, bool up) {
  nlmsghdr* const m = nl.message(RTM_NEWLINK, 0);
  auto* const body = nl.body<ifinfomsg>(m);
  body->ifi_index = static_cast<int>(index);
  body->ifi_change = IFF_UP;
  body->ifi_flags = up ? IFF_UP : 0;
  return nl.request(m);
}

int add_address(Netlink& nl, unsigned index, const MeshAddr& address) {
  nlmsghdr* const m = nl.message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
  auto* const body = nl.body<ifaddrmsg>(m);
  body->ifa_family = AF_INET6;
  body->ifa_prefixlen = 128;
  body->ifa_flags = IFA_F_NODAD;  // the address is a hash of a key; waiting for a duplicate serves nothing
  body->ifa_index = index;
  mnl_attr_put(m, IFA_LOCAL, address.bytes.size(), address.bytes.data());
  mnl_attr_put(m, IFA_ADDRESS, address.bytes.size(), address.bytes.data());
  return nl.request(m);
}

int add_route(Netlink& nl, unsigned index) {
  nlmsghdr* const m = nl.message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
  auto* const body = nl.body<rtmsg>(m);
  body->rtm_family = AF_INET6;
  body->rtm_dst_len = kMeshPrefixBits;
  body->rtm_table = RT_TABLE_MAIN;
  body->rtm_protocol = kProtocol;
  body->rtm_scope = RT_SCOPE_UNIVERSE;
  body->rtm_type = RTN_UNICAST;
  mnl_attr_put(m, RTA_DST, kMeshPrefix.size(), kMeshPrefix.data());
  mnl_attr_put_u32(m, RTA_OIF, index);
  return nl.request(m);
}

int change_rule(Netlink& nl, bool add) {
  nlmsghdr* const m = add ? nl.message(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL) : nl.message(RTM_DELRULE, 0);
  auto* const body = nl.body<fib_rule_hdr>(m);
  body->family = AF_INET6;
  body->dst_len = kMeshPrefixBits;
  body->table = RT_TABLE_MAIN;
  body->action = FR_ACT_TO_TBL;
  mnl_attr_put(m, FRA_DST, kMeshPrefix.size(), kMeshPrefix.data());
  mnl_attr_put_u32(m, FRA_PRIORITY, kRulePriority);
  mnl_attr_put_u8(m, FRA_PROTOCOL, kProtocol);
  return nl.request(m);
}

bool our_rule_exists(Netlink& nl) {
  nlmsghdr* const m = nl.message(RTM_GETRULE, NLM_F_DUMP);
  nl.body<fib_rule_hdr>(m)->family = AF_INET6;
  bool found = false;
  nl.request(m, [&](const nlmsghdr* part) {
    bool priority = false;
    bool protocol = false;
    each_attribute(part, sizeof(fib_rule_hdr), [&](const nlattr* a) {
      if (mnl_attr_get_type(a) == FRA_PRIORITY) priority = mnl_attr_get_u32(a) == kRulePriority;
      if (mnl_attr_get_type(a) == FRA_PROTOCOL) protocol = mnl_attr_get_u8(a) == kProtocol;
    });
    found = found || (priority && protocol);
  });
  return found;
}

Failure refused(int error, const std::string& what) {
  return os_failure(error, what, error == EPERM ? "this needs CAP_NET_ADMIN" : "");
}

}  // namespace

Result<InterfaceSetup, Failure> InterfaceSetup::apply(const InterfacePlan& p,
                                                      std::vector<std::string>* warnings) {
  const unsigned index = if_nametoindex(p.name.c_str());
  if (index == 0) return bad(os_failure(ENODEV, "setting up interface " + p.name));
  if (p.mtu < kMinIp6Mtu)
    return bad(
        os_failure(0, "tun.mtu " + std::to_string(p.mtu) + " is below 1280, the least that IPv6 runs on"));
  const auto warn = [&](const Failure& f) {
    if (warnings != nullptr) warnings->push_back(f.text);
  };
  Netlink nl;
  InterfaceSetup s(index);
  if (int e = set_number(nl, index, IFLA_MTU, p.mtu); e != 0)
    return bad(refused(e, "setting the MTU of " + p.name + " to " + std::to_string(p.mtu)));
  if (p.gso_bytes != 0)
    if (int e = set_number(nl, index, IFLA_GSO_MAX_SIZE, p.gso_bytes); e != 0)
      warn(refused(e, "limiting super-packets of " + p.name));
  if (p.queue_packets != 0)
    if (int e = set_number(nl, index, IFLA_TXQLEN, p.queue_packets); e != 0)
      warn(refused(e, "making the queue of " + p.name + " longer"));
  no_link_local(nl, index);  // a matter of tidiness only
  if (int e = add_address(nl, index, p.address); e != 0)
    return bad(refused(e, "adding the mesh address to " + p.name));
  if (int e = set_up(nl, index, true); e != 0) return bad(refused(e, "bringing " + p.name + " up"));
  if (p.route) {
    const int e = add_route(nl, index);
    if (e == EEXIST)
      return bad(os_failure(e, "fd00::/8 is routed to another interface",
                            "see `ip -6 route show fd00::/8`; two meshes cannot share it"));
    if (e != 0) return bad(refused(e, "routing fd00::/8 to " + p.name));
  }
  if (p.rule) {
    const int e = change_rule(nl, true);
    s.rule_added_ = e == 0 || (e == EEXIST && our_rule_exists(nl));
    if (e != 0 && e != EEXIST)
      warn(refused(
          e, "no policy rule for fd00::/8: a VPN with its own routing table may take mesh traffic away"));
  }
  return s;
}

InterfaceSetup::~InterfaceSetup() {
  if (index_ == 0) return;
  Netlink nl;
  if (rule_added_) change_rule(nl, false);
  set_up(nl, index_, false);
}

std::uint64_t queue_drops(const std::string& name) {
  const auto text = read_text_file("/sys/class/net/" + name + "/statistics/tx_dropped", 32);
  std::uint64_t n = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), n);
  return n;
}

Result<void, Failure> set_interface_mtu(const std::string& name, std::uint32_t mtu) {
  const std::string what = "setting the MTU of " + name + " to " + std::to_string(mtu);
  if (mtu < kMinIp6Mtu) return bad(os_failure(EINVAL, what));
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) return bad(os_failure(ENODEV, what));
  Netlink nl;
  if (int e = set_number(nl, index, IFLA_MTU, mtu); e != 0) return bad(refused(e, what));
  return {};
}

Result<void, Failure> set_interface_up(const std::string& name, bool up) {
  const unsigned index = if_nametoindex(name.c_str());
  Netlink nl;
  const int e = index == 0 ? ENODEV : set_up(nl, index, up);
  if (e != 0) return bad(refused(e, "bringing " + name + (up ? " up" : " down")));
  return {};
}

}  // namespace weft::io
