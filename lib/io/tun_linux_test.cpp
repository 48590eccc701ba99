#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/net_monitor.h"
#include "io/netlink_linux.h"
#include "io/netns_for_test.h"
#include "io/sockaddr.h"
#include "io/tun_device.h"
#include "io/udp_socket.h"
#include "offload/coalesce.h"
#include "offload/segment.h"

namespace weft::io {
namespace {

MeshAddr mesh(std::uint8_t last) {
  MeshAddr a;
  a.bytes[0] = 0xfd;
  a.bytes[15] = last;
  return a;
}
const MeshAddr kOwn = mesh(1);
const MeshAddr kPeer = mesh(2);

Endpoint at(const MeshAddr& a, std::uint16_t port) {
  Endpoint e;
  e.family = Endpoint::Family::v6;
  e.ip = a.bytes;
  e.port = port;
  return e;
}

bool sum_is_valid(Bytes p) {
  return offload::checksum_fold(offload::checksum_add(
             p.subspan(40), offload::pseudo_header_sum(p.data(), p[6],
                                                       static_cast<std::uint32_t>(p.size() - 40)))) == 0xffff;
}

// From the peer to us, with its checksum at `sum_at` behind the IPv6 header.
Buffer from_peer(std::uint8_t next, const Buffer& l4, std::size_t sum_at) {
  Buffer p;
  Writer(p).be(std::uint32_t{6U << 28}).be(static_cast<std::uint16_t>(l4.size())).u8(next).u8(64);
  Writer(p).raw(kPeer.view()).raw(kOwn.view()).raw(l4);
  const auto sum = offload::checksum_add(
      Bytes(p).subspan(40),
      offload::pseudo_header_sum(p.data(), next, static_cast<std::uint32_t>(l4.size())));
  store_be(p.data() + 40 + sum_at, static_cast<std::uint16_t>(~offload::checksum_fold(sum)));
  return p;
}

struct Tun {
  TunDevice device;
  InterfaceSetup setup;
  TunQueue& q() { return device.queues()[0]; }

  // The next packet or super-packet within a second whose next header is `want`; empty when there is none.
  Buffer read(std::uint8_t want, offload::VnetHeader& vnet) {
    Buffer b(offload::kMaxSuperPacket);
    for (int i = 0; i < 100; ++i) {
      for (auto& queue : device.queues()) {
        const auto r = queue.read(b);
        if (r.status != TunStatus::ok || r.size < 40 || b[6] != want) continue;
        vnet = r.vnet;
        return Buffer(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(r.size));
      }
      usleep(10000);
    }
    return {};
  }
};

std::string slurp(const std::string& path) {
  std::ifstream f(path);
  return {std::istreambuf_iterator<char>(f), {}};
}

// The kernel makes the route by which it takes packets for a new address a little later, on a work queue.
void wait_for_local_route() {
  for (int i = 0; i < 200; ++i) {
    if (slurp("/proc/thread-self/net/ipv6_route")
            .find("fd000000000000000000000000000001 80 "
                  "00000000000000000000000000000000 00 "
                  "00000000000000000000000000000000 00000000") != std::string::npos)
      return;
    usleep(5000);
  }
}

Tun make(TunOptions o = {}, std::uint32_t mtu = 1280) {
  auto d = TunDevice::open(o);
  if (!d) throw std::runtime_error(d.error().text);
  auto s = InterfaceSetup::apply({.name = d->name(), .address = kOwn, .mtu = mtu});
  if (!s) throw std::runtime_error(s.error().text);
  wait_for_local_route();
  return {std::move(*d), std::move(*s)};
}

int mesh_rules() {
  Netlink nl;
  nlmsghdr* const m = nl.message(RTM_GETRULE, NLM_F_DUMP);
  nl.body<fib_rule_hdr>(m)->family = AF_INET6;
  int n = 0;
  nl.request(m, [&](const nlmsghdr* part) {
    each_attribute(part, sizeof(fib_rule_hdr), [&](const nlattr* a) {
      if (mnl_attr_get_type(a) == FRA_PRIORITY && mnl_attr_get_u32(a) == kRulePriority) ++n;
    });
  });
  return n;
}

int delete_link(const std::string& name) {
  Netlink nl;
  nlmsghdr* const m = nl.message(RTM_DELLINK, 0);
  nl.body<ifinfomsg>(m)->ifi_index = static_cast<int>(if_nametoindex(name.c_str()));
  return nl.request(m);
}

// As `ip tuntap add` would: stays without anybody having it open.
void make_persistent(const std::string& name, int flags, unsigned owner) {
  const Fd fd(open("/dev/net/tun", O_RDWR));
  ifreq r{};
  name.copy(r.ifr_name, IFNAMSIZ - 1);
  r.ifr_flags = static_cast<short>(flags | IFF_NO_PI);
  ASSERT_EQ(ioctl(fd.get(), TUNSETIFF, &r), 0);
  ASSERT_EQ(ioctl(fd.get(), TUNSETOWNER, static_cast<unsigned long>(owner)), 0);
  ASSERT_EQ(ioctl(fd.get(), TUNSETPERSIST, 1UL), 0);
}

#define WEFT_NEED_TUN() \
  WEFT_FRESH_NETNS();   \
  if (access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "needs /dev/net/tun"

TEST(TunSetup, GivesAddressMtuRouteAndRuleAndTakesThemBack) {
  WEFT_NEED_TUN();
  {
    auto t = make({.name = "weft9"}, 1300);
    EXPECT_EQ(t.device.name(), "weft9");
    EXPECT_EQ(t.device.index(), if_nametoindex("weft9"));
    const auto addresses = slurp("/proc/thread-self/net/if_inet6");
    EXPECT_NE(addresses.find("fd000000000000000000000000000001"), std::string::npos);
    EXPECT_EQ(addresses.find("fe80"), std::string::npos) << "no link-local address on the mesh interface";
    EXPECT_NE(slurp("/proc/thread-self/net/ipv6_route").find("fd000000000000000000000000000000 08"),
              std::string::npos);
    EXPECT_TRUE(t.setup.rule_added());
    EXPECT_EQ(mesh_rules(), 1);
    const Fd fd(socket(AF_INET, SOCK_DGRAM, 0));
    ifreq r{};
    std::strcpy(r.ifr_name, "weft9");
    ASSERT_EQ(ioctl(fd.get(), SIOCGIFMTU, &r), 0);
    EXPECT_EQ(r.ifr_mtu, 1300);
  }
  EXPECT_EQ(mesh_rules(), 0);
  EXPECT_EQ(if_nametoindex("weft9"), 0U);
}

TEST(TunSetup, LeavesSomebodyElsesRuleAloneAndTakesOverItsOwnFromACrash) {
  WEFT_NEED_TUN();
  auto t = make();
  {
    auto other = TunDevice::open({.name = "weft1"});
    ASSERT_TRUE(other);
    // The rule of `t` looks like one left behind: same mark, already there.
    auto s = InterfaceSetup::apply({.name = "weft1", .address = mesh(7), .route = false});
    ASSERT_TRUE(s);
    EXPECT_TRUE(s->rule_added());
  }
  EXPECT_EQ(mesh_rules(), 0);
  Netlink nl;
  nlmsghdr* const m = nl.message(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL);
  auto* const body = nl.body<fib_rule_hdr>(m);
  body->family = AF_INET6;
  body->dst_len = 8;
  body->table = RT_TABLE_MAIN;
  body->action = FR_ACT_TO_TBL;
  mnl_attr_put(m, FRA_DST, 16, mesh(0).bytes.data());
  mnl_attr_put_u32(m, FRA_PRIORITY, kRulePriority);
  ASSERT_EQ(nl.request(m), 0);
  {
    auto other = TunDevice::open({.name = "weft1"});
    auto s = InterfaceSetup::apply({.name = "weft1", .address = mesh(7), .route = false});
    ASSERT_TRUE(s);
    // Kernels differ in whether two rules that only differ in their mark may stand side by side.
    EXPECT_EQ(mesh_rules(), s->rule_added() ? 2 : 1);
  }
  EXPECT_EQ(mesh_rules(), 1) << "only the other's rule is left, and it is left";
}

TEST(TunSetup, RefusesASecondMeshRouteAndAnMtuThatIp6CannotUse) {
  WEFT_NEED_TUN();
  auto t = make();
  auto other = TunDevice::open({.name = "weft1"});
  ASSERT_TRUE(other);
  const auto second = InterfaceSetup::apply({.name = "weft1", .address = mesh(7)});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("fd00::/8"), std::string::npos);
  const auto small = InterfaceSetup::apply({.name = "weft1", .address = mesh(7), .mtu = 1279});
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().text.find("1280"), std::string::npos);
  EXPECT_FALSE(InterfaceSetup::apply({.name = "nothere", .address = mesh(7)}));
}

TEST(TunSetup, WithoutTheCapabilitySaysWhichOneIsMissing) {
  WEFT_NEED_TUN();
  auto t = make();
  without_capabilities([] {
    const auto d = TunDevice::open({.name = "weft1"});
    ASSERT_FALSE(d);
    EXPECT_NE(d.error().text.find("CAP_NET_ADMIN"), std::string::npos) << d.error().text;
    const auto s = InterfaceSetup::apply({.name = "weft0", .address = kOwn});
    ASSERT_FALSE(s);
    EXPECT_NE(s.error().text.find("CAP_NET_ADMIN"), std::string::npos) << s.error().text;
  });
}

TEST(TunName, ThatCannotBeOneIsRefused) {
  for (const char* name : {"", "sixteen-letters-", "a/b", "a b", "weft%d", "..", "all"}) {
    const auto d = TunDevice::open({.name = name});
    ASSERT_FALSE(d) << name;
    EXPECT_NE(d.error().text.find("no interface name"), std::string::npos);
  }
}

TEST(TunName, OfSomebodyElseIsAnErrorAndTheInterfaceStays) {
  WEFT_NEED_TUN();
  for (const unsigned queues : {1U, 2U}) {
    const auto mine = TunDevice::open({.name = "weft0", .queues = queues});
    ASSERT_TRUE(mine);
    const auto again = TunDevice::open({.name = "weft0", .queues = 2});
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().text.find("has it open"), std::string::npos) << again.error().text;
  }
  const auto lo = TunDevice::open({.name = "lo"});
  ASSERT_FALSE(lo);
  EXPECT_NE(lo.error().text.find("no TUN interface"), std::string::npos) << lo.error().text;
  make_persistent("weft5", IFF_TUN, geteuid() + 1);
  make_persistent("weft6", IFF_TAP, geteuid());
  EXPECT_FALSE(TunDevice::open({.name = "weft5"}));
  EXPECT_FALSE(TunDevice::open({.name = "weft6"}));
  EXPECT_NE(if_nametoindex("weft5"), 0U);
  EXPECT_NE(if_nametoindex("weft6"), 0U);
}

TEST(TunName, OfOursFromBeforeIsReused) {
  WEFT_NEED_TUN();
  make_persistent("weft7", IFF_TUN, geteuid());
  make_persistent("weft8", IFF_TUN | IFF_MULTI_QUEUE, geteuid());
  {
    auto t = make({.name = "weft7", .queues = 2});
    EXPECT_EQ(t.device.queues().size(), 1U) << "it was made with one queue";
  }
  EXPECT_EQ(slurp("/proc/thread-self/net/if_inet6").find("fd00"), std::string::npos)
      << "left without our address";
  const auto eight = TunDevice::open({.name = "weft8", .queues = 2});
  ASSERT_TRUE(eight);
}

TEST(TunTraffic, TheKernelAnswersAnEchoRequest) {
  WEFT_NEED_TUN();
  for (const bool offload : {true, false}) {
    auto t = make({.offload = offload});
    EXPECT_EQ(t.device.features().vnet_header, offload);
    const auto ping = from_peer(58, {128, 0, 0, 0, 1, 2, 3, 4, 'h', 'i'}, 2);
    ASSERT_EQ(t.q().write(ping), TunStatus::ok);
    offload::VnetHeader vnet;
    const auto packet = t.read(58, vnet);
    auto s = offload::Segmenter::open(vnet, packet);
    ASSERT_TRUE(s);
    Buffer pong(s->max_packet());
    ASSERT_EQ(s->write_next(pong), ping.size());
    EXPECT_EQ(pong[40], 129);
    EXPECT_TRUE(equal(Bytes(pong).subspan(8, 16), kOwn.view()));
    EXPECT_TRUE(equal(Bytes(pong).subspan(44), Bytes(ping).subspan(44)));
    EXPECT_TRUE(sum_is_valid(pong));
  }
}

TEST(TunTraffic, EveryQueueCarriesPackets) {
  WEFT_NEED_TUN();
  auto t = make({.queues = 3});
  ASSERT_EQ(t.device.queues().size(), 3U);
  for (auto& queue : t.device.queues()) {
    ASSERT_EQ(queue.write(from_peer(58, {128, 0, 0, 0, 1, 2, 3, 4}, 2)), TunStatus::ok);
    offload::VnetHeader vnet;
    EXPECT_FALSE(t.read(58, vnet).empty());
  }
}

TEST(TunTraffic, WithoutOffloadPacketsCrossOneByOne) {
  WEFT_NEED_TUN();
  auto t = make({.queues = 2, .offload = false});
  EXPECT_EQ(t.device.features(), TunFeatures{});
  ASSERT_EQ(t.q().write(from_peer(58, {128, 0, 0, 0, 1, 2, 3, 4}, 2)), TunStatus::ok);
  offload::VnetHeader vnet;
  EXPECT_FALSE(t.read(58, vnet).empty());
  EXPECT_EQ(vnet, offload::VnetHeader{});
  const auto ping = from_peer(58, {128, 0, 0, 0, 1, 2, 3, 4}, 2);
  const Bytes view = ping;
  offload::VnetHeader super{
      .flags = 1, .gso_type = offload::kGsoTcp6, .segment_bytes = 1000, .sum_start = 40};
  EXPECT_EQ(t.q().write(super, std::span(&view, 1)), TunStatus::refused)
      << "the header would be taken for a packet";
}

TEST(TunTraffic, RefusalsAreToldApart) {
  WEFT_NEED_TUN();
  auto t = make();
  const auto ping = from_peer(58, {128, 0, 0, 0, 1, 2, 3, 4}, 2);
  offload::VnetHeader nonsense{
      .flags = 1, .gso_type = offload::kGsoTcp6, .segment_bytes = 0, .sum_start = 40};
  const Bytes view = ping;
  EXPECT_EQ(t.q().write(nonsense, std::span(&view, 1)), TunStatus::refused);
  EXPECT_EQ(t.q().write({}, std::vector<Bytes>(256, view)), TunStatus::refused);
  Buffer b(2000);
  while (t.q().read(b).status == TunStatus::ok) continue;
  EXPECT_EQ(t.q().read(b).status, TunStatus::would_block);
  ASSERT_TRUE(set_interface_up("weft0", false));
  EXPECT_EQ(t.q().write(ping), TunStatus::down);
  ASSERT_EQ(delete_link("weft0"), 0);
  EXPECT_EQ(t.q().write(ping), TunStatus::gone);
  EXPECT_EQ(t.q().read(b).status, TunStatus::gone);
}

TEST(TunTraffic, UdpTrainsCrossAsSuperPacketsBothWays) {
  WEFT_NEED_TUN();
  auto t = make();
  if (!t.device.features().udp) GTEST_SKIP() << "this kernel's TUN has no UDP offload";
  auto s = UdpSocket::open({.bind = at(kOwn, 4000)});
  ASSERT_TRUE(s) << s.error().text;
  const auto to = at(kPeer, 5000);
  const std::vector<Buffer> in(20, Buffer(1000, 7));
  ASSERT_EQ(s->send_segments(&to, std::vector<Bytes>(in.begin(), in.end())).sent, 20U);
  offload::VnetHeader vnet;
  const auto super = t.read(17, vnet);
  EXPECT_EQ(vnet.gso_type, offload::kGsoUdp);
  EXPECT_EQ(vnet.segment_bytes, 1000);
  auto apart = offload::Segmenter::open(vnet, super);
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->count(), 20U);

  // Turn each datagram round and give them back as one.
  offload::Coalescer join(true, true);
  std::vector<Buffer> back;
  Buffer p(apart->max_packet());
  while (const auto n = apart->write_next(p)) {
    EXPECT_TRUE(sum_is_valid(Bytes(p).first(n)));
    std::swap_ranges(p.begin() + 8, p.begin() + 24, p.begin() + 24);
    std::swap_ranges(p.begin() + 40, p.begin() + 42, p.begin() + 42);
    back.emplace_back(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(n));
  }
  for (const auto& b : back) join.add(b);
  offload::Coalescer::Write w;
  ASSERT_TRUE(join.next(w));
  EXPECT_EQ(w.packets, 20U);
  ASSERT_EQ(t.q().write(w.vnet, w.pieces), TunStatus::ok);
  EXPECT_FALSE(join.next(w));
  RecvBatch batch(4, 65535);
  std::size_t got = 0;
  while (got < 20) {
    pollfd ready{s->fd(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 1000), 1);
    ASSERT_EQ(s->recv_batch(batch), RecvStatus::ok);
    for (const auto& r : batch.received()) {
      EXPECT_EQ(r.from, to);
      EXPECT_EQ(r.segment, 1000U);
      got += r.data.size() / 1000;
    }
  }
  EXPECT_EQ(got, 20U);
}

// A TCP peer by hand, just enough to get a connection of the kernel going.
struct TcpPeer {
  std::uint32_t next = 7000;  // our next sequence number
  std::uint32_t heard = 0;    // what we have acknowledged
  std::uint16_t client = 0;   // the kernel's port

  Buffer segment(std::uint8_t flags, const Buffer& data = {}, const Buffer& options = {}) {
    Buffer l4;
    Writer w(l4);
    w.be(std::uint16_t{80}).be(client).be(next).be(heard);
    w.u8(static_cast<std::uint8_t>((20 + options.size()) / 4 << 4)).u8(flags).be(std::uint16_t{65535});
    w.be(std::uint32_t{0}).raw(options).raw(data);
    next += static_cast<std::uint32_t>(data.size()) + (flags & 2 ? 1 : 0);
    return from_peer(6, l4, 16);
  }
};

TEST(TunTraffic, ATcpConnectionSpeaksInSuperPacketsBothWays) {
  WEFT_NEED_TUN();
  auto t = make();
  if (!t.device.features().tcp) GTEST_SKIP() << "this kernel's TUN has no TCP offload";
  const Fd fd(socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0));
  SockAddr to;
  const auto length = to_sockaddr(at(kPeer, 80), to);
  ASSERT_EQ(connect(fd.get(), &to.any, length), -1);
  offload::VnetHeader vnet;
  const auto syn = t.read(6, vnet);
  ASSERT_GE(syn.size(), 60U);
  TcpPeer peer;
  peer.client = load_be<std::uint16_t>(syn.data() + 40);
  peer.heard = load_be<std::uint32_t>(syn.data() + 44) + 1;
  ASSERT_EQ(t.q().write(peer.segment(0x12, {}, {2, 4, 1000 >> 8, 1000 & 0xff})), TunStatus::ok);
  ASSERT_FALSE(t.read(6, vnet).empty()) << "the third part of the handshake";

  Buffer text(9000);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::uint8_t>(i * 7);
  ASSERT_EQ(send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  Buffer heard;
  std::size_t supers = 0;
  while (heard.size() < text.size()) {
    const auto super = t.read(6, vnet);
    ASSERT_FALSE(super.empty());
    supers += (vnet.gso_type & ~offload::kGsoEcn) == offload::kGsoTcp6;
    auto apart = offload::Segmenter::open(vnet, super);
    ASSERT_TRUE(apart);
    offload::Segmenter::Segment s;
    while (apart->next(s)) {
      EXPECT_LE(s.payload.size(), 1000U);
      Buffer whole(s.header.begin(), s.header.end());
      whole.insert(whole.end(), s.payload.begin(), s.payload.end());
      EXPECT_TRUE(sum_is_valid(whole));
      EXPECT_EQ(load_be<std::uint32_t>(whole.data() + 44), peer.heard);
      peer.heard += static_cast<std::uint32_t>(s.payload.size());
      heard.insert(heard.end(), s.payload.begin(), s.payload.end());
    }
  }
  EXPECT_EQ(heard, text);
  EXPECT_GT(supers, 0U);

  std::vector<Buffer> packets;
  for (std::size_t i = 0; i < text.size(); i += 1000)
    packets.push_back(peer.segment(0x10, {text.begin() + static_cast<std::ptrdiff_t>(i),
                                          text.begin() + static_cast<std::ptrdiff_t>(i + 1000)}));
  offload::Coalescer join(true, true);
  for (const auto& p : packets) join.add(p);
  offload::Coalescer::Write w;
  ASSERT_TRUE(join.next(w));
  EXPECT_EQ(w.packets, 9U);
  ASSERT_EQ(t.q().write(w.vnet, w.pieces), TunStatus::ok);
  Buffer echo(text.size());
  pollfd ready{fd.get(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 1000), 1);
  ASSERT_EQ(recv(fd.get(), echo.data(), echo.size(), 0), static_cast<ssize_t>(echo.size()));
  EXPECT_EQ(echo, text);
}

TEST(Ip6Check, SaysWhatToSwitchOn) {
  namespace fs = std::filesystem;
  std::string pattern = fs::temp_directory_path() / "weft-io-XXXXXX";
  const fs::path dir = mkdtemp(pattern.data());
  fs::create_directory(dir / "all");
  EXPECT_FALSE(check_ipv6_enabled("all", dir)) << "no such key: a kernel without IPv6";
  std::ofstream(dir / "all/disable_ipv6") << "0\n";
  EXPECT_TRUE(check_ipv6_enabled("all", dir));
  std::ofstream(dir / "all/disable_ipv6") << "1\n";
  const auto off = check_ipv6_enabled("all", dir);
  ASSERT_FALSE(off);
  EXPECT_NE(off.error().text.find("sysctl -w net.ipv6.conf.all.disable_ipv6=0"), std::string::npos);
  fs::remove_all(dir);
}

TEST(NetMonitorOf, TellsLinkAddressAndRouteChangesApartAndIgnoresOurOwn) {
  WEFT_NEED_TUN();
  auto t = make();
  auto all = NetMonitor::open(0);
  auto foreign = NetMonitor::open(t.device.index());
  ASSERT_TRUE(all && foreign);
  EXPECT_FALSE(all->drain().any());
  ASSERT_TRUE(set_interface_up("weft0", false));
  const auto seen = all->drain();
  EXPECT_TRUE(seen.link && seen.address && seen.route);
  EXPECT_FALSE(foreign->drain().any());
  ASSERT_TRUE(set_interface_up("lo", false));
  EXPECT_TRUE(foreign->drain().link);
  EXPECT_FALSE(foreign->drain().any());
}

}  // namespace
}  // namespace weft::io
