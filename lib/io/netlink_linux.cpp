#include "io/netlink_linux.h"

#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>

namespace weft::io {
namespace {

std::uint8_t flag_of(const nlattr* a) {
  return mnl_attr_get_payload_len(a) >= 1 ? mnl_attr_get_u8(a) : std::uint8_t{0};
}

void read_tun_data(const nlattr* data, TunInfo& info) {
  each_nested(data, [&](const nlattr* a) {
    switch (mnl_attr_get_type(a)) {
      case IFLA_TUN_OWNER:
        info.owner = mnl_attr_get_u32(a);
        break;
      case IFLA_TUN_TYPE:
        info.is_tun = flag_of(a) == IFF_TUN;
        break;
      case IFLA_TUN_PERSIST:
        info.persistent = flag_of(a) != 0;
        break;
      case IFLA_TUN_MULTI_QUEUE:
        info.multi_queue = flag_of(a) != 0;
        break;
      case IFLA_TUN_NUM_QUEUES:
        info.in_use = mnl_attr_get_u32(a) > 0;
        break;
      default:
        break;
    }
  });
}

}  // namespace

Netlink::Netlink() : socket_(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC)) {
  if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
    error_ = errno;
    socket_.reset();
  }
}

nlmsghdr* Netlink::message(std::uint16_t type, std::uint16_t flags) {
  nlmsghdr* const m = mnl_nlmsg_put_header(buffer_.data());
  m->nlmsg_type = type;
  m->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  m->nlmsg_seq = ++sequence_;
  return m;
}

int Netlink::request(nlmsghdr* m, const std::function<void(const nlmsghdr*)>& each) {
  return socket_ ? ask(socket_.get(), m, each) : error_;
}

int ask(mnl_socket* socket, const nlmsghdr* m, const std::function<void(const nlmsghdr*)>& each) {
  if (mnl_socket_sendto(socket, m, m->nlmsg_len) < 0) return errno;
  const auto on_part = [](const nlmsghdr* part, void* f) {
    const auto& call = *static_cast<const std::function<void(const nlmsghdr*)>*>(f);
    if (call) call(part);
    return MNL_CB_OK;
  };
  alignas(nlmsghdr) std::array<char, 32768> in{};
  for (;;) {
    const auto n = mnl_socket_recvfrom(socket, in.data(), in.size());
    if (n < 0) return errno;
    const int r =
        mnl_cb_run(in.data(), static_cast<std::size_t>(n), m->nlmsg_seq, mnl_socket_get_portid(socket),
                   on_part, const_cast<std::function<void(const nlmsghdr*)>*>(&each));
    if (r < 0) return errno;
    if (r == MNL_CB_STOP) return 0;
  }
}

std::optional<TunInfo> tun_info(const std::string& name) {
  Netlink nl;
  nlmsghdr* const m = nl.message(RTM_GETLINK, 0);
  nl.body<ifinfomsg>(m)->ifi_family = AF_UNSPEC;
  mnl_attr_put_strz(m, IFLA_IFNAME, name.c_str());
  std::optional<TunInfo> out;
  const int error = nl.request(m, [&](const nlmsghdr* part) {
    TunInfo info;
    info.index = static_cast<unsigned>(static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(part))->ifi_index);
    each_attribute(part, sizeof(ifinfomsg), [&](const nlattr* a) {
      if (mnl_attr_get_type(a) != IFLA_LINKINFO) return;
      std::string kind;
      const nlattr* data = nullptr;
      each_nested(a, [&](const nlattr* b) {
        if (mnl_attr_get_type(b) == IFLA_INFO_KIND) kind = mnl_attr_get_str(b);
        if (mnl_attr_get_type(b) == IFLA_INFO_DATA) data = b;
      });
      if (kind == "tun" && data != nullptr) read_tun_data(data, info);
    });
    out = info;
  });
  return error == 0 ? out : std::nullopt;
}

}  // namespace weft::io
