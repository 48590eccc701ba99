/// One request and its answer over rtnetlink. Private to the room.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace weft::io {

struct CloseNetlink {
  void operator()(mnl_socket* s) const { mnl_socket_close(s); }
};
using NetlinkSocket = std::unique_ptr<mnl_socket, CloseNetlink>;

/// Sends one request, of whatever family, and waits for the end of its answer; each part goes to `each`. errno of the
/// refusal, or 0.
int ask(mnl_socket* socket, const nlmsghdr* m, const std::function<void(const nlmsghdr*)>& each = {});

class Netlink {
 public:
  /// Not usable when the system refuses a socket: then every request() fails with its error.
  Netlink();

  /// A message under construction: `type` and flags, with NLM_F_REQUEST | NLM_F_ACK added. Valid until the
  /// next one.
  nlmsghdr* message(std::uint16_t type, std::uint16_t flags);
  /// The message's body, zeroed, right behind its header.
  template <class Body>
  Body* body(nlmsghdr* m) {
    return static_cast<Body*>(mnl_nlmsg_put_extra_header(m, sizeof(Body)));
  }
  /// ask() on this socket.
  int request(nlmsghdr* m, const std::function<void(const nlmsghdr*)>& each = {});

 private:
  NetlinkSocket socket_;
  int error_ = 0;
  std::uint32_t sequence_ = 0;
  alignas(nlmsghdr) std::array<char, 4096> buffer_{};
};

/// Calls `f(const nlattr*)` for each attribute behind a message's body of `body_bytes`. libmnl's loops are
/// macros that do not compile as C++.
template <class F>
void each_attribute(const nlmsghdr* m, std::size_t body_bytes, F f) {
  const auto call = [](const nlattr* a, void* data) {
    (*static_cast<F*>(data))(a);
    return MNL_CB_OK;
  };
  mnl_attr_parse(m, static_cast<unsigned>(body_bytes), call, &f);
}
template <class F>
void each_nested(const nlattr* parent, F f) {
  const auto call = [](const nlattr* a, void* data) {
    (*static_cast<F*>(data))(a);
    return MNL_CB_OK;
  };
  mnl_attr_parse_nested(parent, call, &f);
}

/// What the kernel tells about a TUN interface.
struct TunInfo {
  unsigned index = 0;
  bool is_tun = false;  // and not TAP
  bool persistent = false;
  bool multi_queue = false;
  bool in_use = false;  // somebody has a queue open
  std::optional<unsigned> owner;
};
/// nullopt when there is no interface of that name.
std::optional<TunInfo> tun_info(const std::string& name);

}  // namespace weft::io
