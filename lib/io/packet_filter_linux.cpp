#include <arpa/inet.h>
#include <libnftnl/common.h>
#include <libnftnl/object.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "io/netlink_linux.h"
#include "io/nft_batch_linux.h"
#include "io/packet_filter.h"

namespace weft::io {
namespace {

constexpr int kSendBytes = 1 << 20;  // a transaction is one message: 512 rules of less than 1 KiB, and room
constexpr timeval kPatience{2, 0};
constexpr std::string_view kTurnOff =
    "or turn the firewall off in the configuration (weft: {firewall: {enabled: false}}), which lets every "
    "node of the mesh "
    "reach every open port here";

std::string modules(std::string_view names) {
  return "the kernel lacks a part of its packet filter: load it (`modprobe " + std::string(names) + "`), " +
         std::string(kTurnOff);
}

}  // namespace

Failure filter_failure(int error, std::string_view step) {
  std::string remedy = std::string(kTurnOff).substr(3);
  const bool lacking =
      error == ENOENT || error == EOPNOTSUPP || error == EPROTONOSUPPORT || error == EAFNOSUPPORT;
  if (error == EPERM && (step == "old table" || step == "table"))
    remedy =
        "another program owns the table `inet weft`: a second weftd in this network namespace? (`nft list "
        "tables`) "
        "Only one of them can have it";
  else if (error == EPERM) remedy = "this needs CAP_NET_ADMIN";
  else if (lacking && step == "rule ct") remedy = modules("nf_conntrack nft_ct");
  else if (lacking && step == "rule limit") remedy = modules("nft_limit");
  else if (lacking) remedy = modules("nf_tables");
  return os_failure(error, "loading the mesh-side firewall (" + std::string(step) + ")", remedy);
}

struct PacketFilter::Impl {
  NetlinkSocket socket;
  std::uint32_t sequence = 1;
  bool owner_known = true;  // false: this kernel refuses tables with an owner
  bool made = false;
  Packets before{};  // of tables that were replaced

  /// ENOENT: there is none.
  int find_table() {
    alignas(nlmsghdr) std::array<char, 1024> buffer{};
    nlmsghdr* const m =
        nftnl_nlmsg_build_hdr(buffer.data(), NFT_MSG_GETTABLE, NFPROTO_INET, NLM_F_ACK, sequence++);
    mnl_attr_put_strz(m, NFTA_TABLE_NAME, kNftTable);
    return ask(socket.get(), m);
  }

  /// The kernel works a batch off while it is sent; what it has to say is there afterwards.
  std::pair<int, std::string_view> run(const NftBatch& batch) {
    if (mnl_socket_sendto(socket.get(), batch.bytes().data(), batch.bytes().size()) < 0)
      return {errno, "batch"};
    alignas(nlmsghdr) std::array<char, 32768> in{};
    bool acknowledged = false;
    std::pair<int, std::string_view> first{0, ""};
    for (int flags = 0;; flags = MSG_DONTWAIT) {
      const auto n = recv(mnl_socket_get_fd(socket.get()), in.data(), in.size(), flags);
      if (n < 0 && (errno == EINTR || errno == ENOBUFS))
        continue;  // ENOBUFS: later errors than the first are lost
      if (n < 0 && acknowledged) return first;
      if (n < 0) return first.first != 0 ? first : std::pair<int, std::string_view>{errno, "batch"};
      auto left = static_cast<int>(n);
      for (auto* m = reinterpret_cast<const nlmsghdr*>(in.data()); mnl_nlmsg_ok(m, left);
           m = mnl_nlmsg_next(m, &left)) {
        if (m->nlmsg_type != NLMSG_ERROR) continue;
        nlmsgerr e{};
        std::memcpy(&e, mnl_nlmsg_get_payload(m), sizeof e);
        if (e.error != 0 && first.first == 0) first = {-e.error, batch.step_of(m->nlmsg_seq)};
        acknowledged = true;
      }
    }
  }

  Packets read() {
    Packets out{};
    alignas(nlmsghdr) std::array<char, 1024> buffer{};
    nlmsghdr* const m =
        nftnl_nlmsg_build_hdr(buffer.data(), NFT_MSG_GETOBJ, NFPROTO_INET, NLM_F_DUMP, sequence++);
    mnl_attr_put_strz(m, NFTA_OBJ_TABLE, kNftTable);
    mnl_attr_put_u32(m, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER));
    ask(socket.get(), m, [&](const nlmsghdr* part) {
      nftnl_obj* const o = nftnl_obj_alloc();
      if (o == nullptr) return;
      if (nftnl_obj_nlmsg_parse(part, o) == 0 &&
          std::strcmp(nftnl_obj_get_str(o, NFTNL_OBJ_TABLE), kNftTable) == 0)
        for (std::size_t i = 0; i < out.size(); ++i)
          if (name_of(firewall::kTallies[i]) == nftnl_obj_get_str(o, NFTNL_OBJ_NAME))
            out[i] = nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_PKTS);
      nftnl_obj_free(o);
    });
    return out;
  }

  std::pair<int, std::string_view> replace(const firewall::Ruleset* rules) {
    const bool old = find_table() == 0;
    if (!old && rules == nullptr) return {0, ""};
    const Packets so_far = made ? packets() : before;
    NftBatch batch(sequence);
    if (old) batch.delete_table();
    if (rules != nullptr) {
      batch.add_table(owner_known);
      batch.add_rules(*rules);
    }
    batch.end();
    sequence = batch.next_sequence();
    auto done = run(batch);
    if (done.first == 0) {
      before = so_far;
      made = rules != nullptr;
    } else if (done.second == "table" && owner_known && (done.first == EOPNOTSUPP || done.first == EINVAL)) {
      owner_known = false;
      return replace(rules);
    }
    return done;
  }

  Packets packets() {
    Packets out = before;
    if (!made) return out;
    const Packets now = read();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += now[i];
    return out;
  }
};

Result<PacketFilter, Failure> PacketFilter::open() {
  auto impl = std::make_unique<Impl>();
  impl->socket.reset(mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC));
  if (!impl->socket || mnl_socket_bind(impl->socket.get(), 0, MNL_SOCKET_AUTOPID) < 0)
    return bad(filter_failure(errno, "batch"));
  const int fd = mnl_socket_get_fd(impl->socket.get());
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBytes, sizeof kSendBytes) != 0)
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
  const int on = 1;
  setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);  // errors without a copy of the message
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  return PacketFilter(std::move(impl));
}

Result<void, Failure> PacketFilter::load(const firewall::Ruleset& rules) {
  const auto [error, step] = impl_->replace(&rules);
  if (error != 0) return bad(filter_failure(error, step));
  return {};
}

Result<void, Failure> PacketFilter::remove() {
  const auto [error, step] = impl_->replace(nullptr);
  if (error != 0) return bad(filter_failure(error, step));
  return {};
}

bool PacketFilter::loaded() const { return impl_->find_table() != ENOENT; }
PacketFilter::Packets PacketFilter::packets() const { return impl_->packets(); }

PacketFilter::PacketFilter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PacketFilter::PacketFilter(PacketFilter&&) noexcept = default;
PacketFilter& PacketFilter::operator=(PacketFilter&&) noexcept = default;
PacketFilter::~PacketFilter() {
  if (impl_ && impl_->made) impl_->replace(nullptr);
}

}  // namespace weft::io
