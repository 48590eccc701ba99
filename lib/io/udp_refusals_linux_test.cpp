// What the kernel refuses, real where it can be brought about and injected where not; and links' own sockets beside
// listening ones.
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <set>

#include "io/netns_for_test.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

Endpoint ip4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d, std::uint16_t port = 0) {
  return Endpoint::v4({a, b, c, d}, port);
}
Endpoint loopback() { return ip4(127, 0, 0, 1); }

UdpSocket make(UdpOptions o) {
  auto s = UdpSocket::open(o);
  EXPECT_TRUE(s) << (s ? "" : s.error().text);
  return std::move(*s);
}
UdpSocket on_loopback() { return make({.bind = loopback(), .fragments = Fragments::allow}); }

bool readable(const UdpSocket& s, int ms) {
  pollfd p{s.fd(), POLLIN, 0};
  return poll(&p, 1, ms) == 1;
}

// Datagrams that arrive until `want` are there or nothing came for a while.
std::size_t count(UdpSocket& s, std::size_t want, int ms = 1000) {
  RecvBatch batch(16, 65535);
  std::size_t n = 0;
  while (n < want && readable(s, ms)) {
    if (s.recv_batch(batch) != RecvStatus::ok) continue;
    for (const auto& r : batch.received())
      n += r.segment == 0 || r.data.empty() ? 1 : (r.data.size() + r.segment - 1) / r.segment;
  }
  return n;
}

struct Burst {
  explicit Burst(std::size_t n, std::size_t size = 1000)
      : data(n, Buffer(size, 7)), views(data.begin(), data.end()) {}
  std::vector<Buffer> data;
  std::vector<Bytes> views;
};

/// Refuses the next `times` calls (offloaded ones only, if so told) with `error`.
struct Fault final : SendFault {
  int error = 0;
  int times = 0;
  bool offloaded_only = false;
  int asked = 0;
  int refuse(bool offloaded, std::size_t, std::size_t) override {
    ++asked;
    if (times == 0 || (offloaded_only && !offloaded)) return 0;
    --times;
    return error;
  }
};

class Refusals : public testing::TestWithParam<int> {};

TEST_P(Refusals, OfOffloadLoseNothingAndItComesBack) {
  auto a = on_loopback(), b = on_loopback();
  ASSERT_TRUE(a.connect(b.local()));
  Fault fault;
  fault.error = GetParam();
  fault.times = 100;
  fault.offloaded_only = true;
  a.inject(&fault);
  const Burst run(50);
  auto r = a.send_segments(nullptr, run.views);
  EXPECT_EQ(r.status, SendStatus::ok);
  EXPECT_EQ(r.sent, 50U);
  EXPECT_EQ(r.offload_error, GetParam());
  EXPECT_EQ(count(b, 50), 50U);
  EXPECT_TRUE(a.offload_refused());
  fault.asked = 0;
  r = a.send_segments(nullptr, run.views);
  EXPECT_EQ(r.offload_error, 0) << "no second question within a second";
  EXPECT_EQ(fault.asked, 1);
  EXPECT_EQ(count(b, 50), 50U);
  fault.times = 0;  // the cause is gone
  a.hope_for_offload();
  fault.asked = 0;
  EXPECT_EQ(a.send_segments(nullptr, run.views).sent, 50U);
  EXPECT_EQ(fault.asked, 1) << "one call for all of them";
  EXPECT_TRUE(a.can_gso());
  EXPECT_EQ(count(b, 50), 50U);
}
INSTANTIATE_TEST_SUITE_P(Errors, Refusals, testing::Values(EIO, EINVAL, EMSGSIZE, EOPNOTSUPP, ENOPROTOOPT));

TEST(UdpRefusals, ANarrowPathOfOnePeerLeavesOffloadForTheOthers) {
  auto a = on_loopback(), b = on_loopback();
  Fault fault{};
  fault.error = EMSGSIZE;
  fault.times = 1;
  fault.offloaded_only = true;
  a.inject(&fault);
  const auto to = b.local();
  const Burst run(10);
  EXPECT_EQ(a.send_segments(&to, run.views).offload_error, EMSGSIZE);
  EXPECT_TRUE(a.can_gso());
  EXPECT_EQ(count(b, 10), 10U);
}

TEST(UdpRefusals, AFullBufferOrQueueIsSaidAsSuchAndKeepsWhatLeft) {
  auto a = on_loopback(), b = on_loopback();
  const auto to = b.local();
  Fault fault;
  a.inject(&fault);
  const Burst run(3);
  for (const auto& [error, status] : std::vector<std::pair<int, SendStatus>>{
           {ENOBUFS, SendStatus::no_buffers}, {EAGAIN, SendStatus::would_block}}) {
    fault.error = error;
    fault.times = 1;
    auto r = a.send_segments(&to, run.views);
    EXPECT_EQ(r.status, status);
    EXPECT_EQ(r.sent, 0U);
    EXPECT_EQ(r.offload_error, 0);
    EXPECT_EQ(a.send_segments(&to, run.views).sent, 3U);
    EXPECT_EQ(count(b, 3), 3U);
  }
}

TEST(UdpRefusals, AnErrorThatCameBackForAnEarlierDatagramCostsNone) {
  auto a = on_loopback(), b = on_loopback();
  ASSERT_TRUE(a.connect(b.local()));
  Fault fault;
  a.inject(&fault);
  const Burst run(5);
  for (const int error : {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EACCES, EPROTO}) {
    for (const std::size_t n : {1U, 5U}) {  // single and run
      fault.error = error;
      fault.times = 1;
      const auto r = a.send_segments(nullptr, std::span(run.views).first(n));
      EXPECT_EQ(r.status, SendStatus::ok) << error;
      EXPECT_EQ(count(b, n), n);
    }
    fault.times = 100;
    EXPECT_EQ(a.send_segments(nullptr, run.views).status, SendStatus::unreachable) << error;
    fault.times = 0;
  }
  EXPECT_TRUE(a.can_gso());
}

TEST(UdpRefusals, ASocketThatMayNotSumCannotOffloadAndSendsAllTheSame) {
  auto a = on_loopback(), b = on_loopback();
  ASSERT_TRUE(a.connect(b.local()));
  const int on = 1;
  ASSERT_EQ(setsockopt(a.fd(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
  const Burst run(40);
  const auto r = a.send_segments(nullptr, run.views);
  EXPECT_EQ(r.sent, 40U);
  EXPECT_TRUE(r.offload_error == EINVAL || r.offload_error == EIO) << r.offload_error;
  EXPECT_EQ(count(b, 40), 40U);
  const int off = 0;
  ASSERT_EQ(setsockopt(a.fd(), SOL_SOCKET, SO_NO_CHECK, &off, sizeof off), 0);
  a.hope_for_offload();
  EXPECT_EQ(a.send_segments(nullptr, run.views).offload_error, 0);
  EXPECT_TRUE(a.can_gso());
}

void ip(const std::string& command) { ASSERT_EQ(std::system(("ip " + command).c_str()), 0) << command; }

TEST(UdpRefusals, AnInterfaceThatShrinksItsMtuGetsTheSameFramesInFragments) {
  WEFT_FRESH_NETNS();
  ip("link set lo mtu 1500");
  auto a = on_loopback(), b = on_loopback();
  ASSERT_TRUE(a.connect(b.local()));
  const Burst run(30, 1400);
  EXPECT_EQ(a.send_segments(nullptr, run.views).offload_error, 0);
  ip("link set lo mtu 1300");
  const auto r = a.send_segments(nullptr, run.views);
  EXPECT_EQ(r.status, SendStatus::ok);
  EXPECT_NE(r.offload_error, 0);
  EXPECT_EQ(count(b, 60), 60U);
  const Burst small(30, 1200);
  EXPECT_EQ(a.send_segments(nullptr, small.views).offload_error, 0) << "smaller ones go on offloaded";
  ip("link set lo mtu 1500");
  a.hope_for_offload();
  EXPECT_EQ(a.send_segments(nullptr, run.views).offload_error, 0);
  EXPECT_TRUE(a.can_gso());
  EXPECT_EQ(count(b, 60), 60U);
}

TEST(UdpRefusals, ASourceAddressThatVanishedIsUnreachableUntilItIsBack) {
  WEFT_FRESH_NETNS();
  ip("addr add 10.9.9.1/32 dev lo");
  ip("addr add 10.9.9.2/32 dev lo");
  auto b = make({.bind = ip4(10, 9, 9, 2)});
  auto a = make({.bind = ip4(10, 9, 9, 1)});
  ASSERT_TRUE(a.connect(b.local()));
  const Burst run(4);
  EXPECT_EQ(a.send_segments(nullptr, run.views).sent, 4U);
  ip("addr del 10.9.9.1/32 dev lo");
  EXPECT_EQ(a.send_segments(nullptr, run.views).status, SendStatus::unreachable);
  EXPECT_EQ(a.send_segments(nullptr, std::span(run.views).first(1)).status, SendStatus::unreachable);
  EXPECT_NE(source_towards(b.local()).ip, a.local().ip);
  ip("addr add 10.9.9.1/32 dev lo");
  EXPECT_EQ(a.send_segments(nullptr, run.views).sent, 4U);
  EXPECT_EQ(count(b, 8), 8U);
}

TEST(UdpRefusals, NoWayIsUnreachableAndHasNoSource) {
  WEFT_FRESH_NETNS();
  auto a = make({.bind = ip4(0, 0, 0, 0)});
  const auto far = ip4(192, 0, 2, 1, 9);
  EXPECT_EQ(a.send_to(far, Buffer(10, 1)).status, SendStatus::unreachable);
  EXPECT_FALSE(source_towards(far).is_set());
  EXPECT_FALSE(a.connect(far));
}

TEST(UdpRefusals, AFullSendBufferBlocksAndSaysWhatLeft) {
  WEFT_FRESH_NETNS();
  // Nobody answers the question for the neighbour's hardware address: datagrams wait, and stay on the sender's account.
  ip("link add v0 type veth peer name v1");
  ip("addr add 10.9.8.1/24 dev v0");
  ip("link set v0 up");
  ip("link set v1 up");
  UdpOptions o{.bind = ip4(10, 9, 8, 1)};
  o.send_buffer_bytes = 8192;
  auto a = make(o);
  const auto to = ip4(10, 9, 8, 2, 9);
  const Burst run(1);
  SendResult r;
  int sent = 0;
  for (; r.status == SendStatus::ok && sent < 100; ++sent) r = a.send_segments(&to, run.views);
  EXPECT_EQ(r.status, SendStatus::would_block);
  EXPECT_GT(sent, 1);
}

// ---- links' own sockets ---------------------------------------------------------------------------------------------

Buffer frame(std::uint8_t index) {
  Buffer f(40, 0);
  f[4] = index;
  return f;
}

TEST(UdpBeside, OpeningAndClosingLinksSocketsNeverMovesTheListeningOnes) {
  auto first = make({.bind = ip4(0, 0, 0, 0)});
  const auto address = ip4(127, 0, 0, 1, first.local().port);
  auto second = make({.bind = first.local()});
  ASSERT_TRUE(first.steer_by_receiver_index(2));
  auto stranger = on_loopback();
  std::vector<UdpSocket> peers;
  std::vector<UdpSocket> own;
  for (int i = 0; i < 12; ++i) {
    peers.push_back(on_loopback());
    own.push_back(make({.bind = first.local()}));
    ASSERT_TRUE(own.back().connect(peers.back().local()));
    if (i % 3 == 1) own.erase(own.begin() + i / 3);  // early ones go while later ones stay
    for (std::uint8_t index = 0; index < 20; ++index) stranger.send_to(address, frame(index));
    EXPECT_EQ(count(first, 10), 10U);
    EXPECT_EQ(count(second, 10), 10U);
  }
  for (auto& s : own) EXPECT_FALSE(readable(s, 0));
}

TEST(UdpBeside, BetweenBindAndConnectNothingComesToIt) {
  for (const std::size_t listening : {1U, 2U}) {
    std::vector<UdpSocket> group;
    group.push_back(make({.bind = ip4(0, 0, 0, 0)}));
    while (group.size() < listening) group.push_back(make({.bind = group[0].local()}));
    ASSERT_TRUE(group[0].steer_by_receiver_index(static_cast<unsigned>(listening)));
    const auto address = ip4(127, 0, 0, 1, group[0].local().port);
    auto bound = make({.bind = group[0].local()});
    auto peer = on_loopback();
    for (std::uint8_t index = 0; index < 40; ++index) peer.send_to(address, frame(index));
    std::size_t got = 0;
    for (auto& s : group) got += count(s, 40 / listening);
    EXPECT_EQ(got, 40U);
    EXPECT_FALSE(readable(bound, 0));
  }
}

TEST(UdpBeside, AParkedSocketGivesItsPeerBackAndKeepsWhatCameBefore) {
  for (const auto& bind : {ip4(0, 0, 0, 0), loopback()}) {
    auto listening = make({.bind = bind});
    ASSERT_TRUE(listening.steer_by_receiver_index(1));
    const auto address = ip4(127, 0, 0, 1, listening.local().port);
    auto peer = on_loopback();
    auto own = make({.bind = listening.local()});
    ASSERT_TRUE(own.connect(peer.local()));
    for (int i = 0; i < 7; ++i) peer.send_to(address, frame(0));
    ASSERT_TRUE(own.park());
    for (int i = 0; i < 5; ++i) peer.send_to(address, frame(0));
    EXPECT_EQ(count(own, 8, 20), 7U);
    EXPECT_EQ(count(listening, 6, 20), 5U);
    // A successor beside the parked one is the peer's.
    auto next = make({.bind = listening.local()});
    ASSERT_TRUE(next.connect(peer.local()));
    peer.send_to(address, frame(0));
    EXPECT_EQ(count(next, 1), 1U);
    EXPECT_FALSE(readable(own, 0));
  }
}

TEST(UdpBeside, ALinkLocalPeerIsReachedOverItsInterface) {
  WEFT_FRESH_NETNS();
  ip("link add v0 type veth peer name v1");
  for (const std::string end : {"v0", "v1"}) {
    ip("link set " + end + " addrgenmode none");
    ip("link set " + end + " up");
  }
  ip("addr add fe80::1/64 dev v0 nodad");
  ip("addr add fe80::2/64 dev v1 nodad");
  const auto scope = [](const char* name) { return static_cast<std::uint32_t>(if_nametoindex(name)); };
  const auto any = *Endpoint::parse("[::]:0");
  auto here = make({.bind = any}), there = make({.bind = any});
  ASSERT_TRUE(here.steer_by_receiver_index(1));
  ASSERT_TRUE(there.steer_by_receiver_index(1));
  const auto at = [&](const char* address, const char* dev, const UdpSocket& s) {
    return *Endpoint::parse(std::string("[") + address + "%" + std::to_string(scope(dev)) +
                            "]:" + std::to_string(s.local().port));
  };
  const auto peer = at("fe80::2", "v0", there);
  auto own = make({.bind = here.local()});
  ASSERT_TRUE(own.connect(peer));
  EXPECT_EQ(source_towards(peer).ip, own.local().ip);
  for (int i = 0; i < 200 && !readable(there, 10); ++i) own.send_segments(nullptr, Burst(1).views);
  while (count(there, 1, 50) > 0) {
  }  // an interface that has just come up needs a moment to carry anything
  const Burst run(5);
  EXPECT_EQ(own.send_segments(nullptr, run.views).sent, 5U);
  EXPECT_EQ(count(there, 5), 5U);
  const auto back = at("fe80::1", "v1", here);
  EXPECT_EQ(there.send_segments(&back, run.views).sent, 5U);
  EXPECT_EQ(count(own, 5), 5U);
  ASSERT_TRUE(own.park());
  EXPECT_EQ(there.send_segments(&back, run.views).sent, 5U);
  EXPECT_EQ(count(here, 5), 5U);
}

}  // namespace
}  // namespace weft::io
