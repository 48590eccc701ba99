#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "io/netns_for_test.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

Endpoint loopback(bool v6, std::uint16_t port = 0) {
  auto e = Endpoint::v4({127, 0, 0, 1}, port);
  if (!v6) return e;
  e.family = Endpoint::Family::v6;
  e.ip = {};
  e.ip[15] = 1;
  return e;
}

UdpSocket make(UdpOptions o) {
  auto s = UdpSocket::open(o);
  EXPECT_TRUE(s) << (s ? "" : s.error().text);
  return std::move(*s);
}

bool readable(const UdpSocket& s, int ms = 1000) {
  pollfd p{s.fd(), POLLIN, 0};
  return poll(&p, 1, ms) == 1;
}

struct Got {
  Endpoint from;
  Buffer data;
};

// Datagrams, with trains taken apart.
std::vector<Got> receive(UdpSocket& s, std::size_t want, RecvBatch& batch) {
  std::vector<Got> out;
  while (out.size() < want && readable(s)) {
    if (s.recv_batch(batch) != RecvStatus::ok) continue;
    for (const auto& r : batch.received()) {
      EXPECT_FALSE(r.truncated);
      std::size_t at = 0;
      do {
        const auto n = std::min(std::max<std::size_t>(r.segment, 1), r.data.size() - at);
        out.push_back({r.from, Buffer(r.data.begin() + static_cast<std::ptrdiff_t>(at),
                                      r.data.begin() + static_cast<std::ptrdiff_t>(at + n))});
        at += n;
      } while (at < r.data.size());
    }
  }
  return out;
}

std::vector<Buffer> numbered(std::size_t n, std::size_t size, std::size_t last) {
  std::vector<Buffer> out;
  for (std::size_t i = 0; i < n; ++i)
    out.emplace_back(i + 1 == n ? last : size, static_cast<std::uint8_t>(i));
  return out;
}
std::vector<Bytes> views(const std::vector<Buffer>& in) { return {in.begin(), in.end()}; }

class UdpFamilies : public testing::TestWithParam<bool> {};

TEST_P(UdpFamilies, ATrainArrivesAsItsDatagrams) {
  auto a = make({.bind = loopback(GetParam())});
  auto b = make({.bind = loopback(GetParam())});
  EXPECT_EQ(a.can_gso(), probe_udp().gso);
  EXPECT_EQ(b.can_gro(), probe_udp().gro);
  const auto to = b.local();
  RecvBatch batch(8, 65535);
  // 150 datagrams: more than one call carries, with a shorter one at the end and one in the middle.
  auto in = numbered(100, 1200, 1200);
  in[69].resize(300);
  for (auto& more : numbered(50, 1200, 7)) in.push_back(more);
  const auto sent = a.send_segments(&to, views(in));
  EXPECT_EQ(sent.status, SendStatus::ok);
  EXPECT_EQ(sent.sent, in.size());
  const auto out = receive(b, in.size(), batch);
  ASSERT_EQ(out.size(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(out[i].data, in[i]) << i;
    EXPECT_EQ(out[i].from, a.local());
  }
}

TEST_P(UdpFamilies, AConnectedPairTalksWithoutAddresses) {
  auto a = make({.bind = loopback(GetParam())});
  auto b = make({.bind = loopback(GetParam())});
  ASSERT_TRUE(a.connect(b.local()));
  EXPECT_TRUE(a.is_connected());
  const auto in = numbered(5, 100, 50);
  // One contiguous run and one of separate buffers are the same to the receiver.
  Buffer run;
  std::vector<Bytes> pieces;
  for (const auto& d : in) run.insert(run.end(), d.begin(), d.end());
  for (std::size_t at = 0; at < run.size(); at += 100)
    pieces.push_back(Bytes(run).subspan(at, std::min<std::size_t>(100, run.size() - at)));
  EXPECT_EQ(a.send_segments(nullptr, pieces).sent, 5U);
  RecvBatch batch(4, 65535);
  const auto out = receive(b, 5, batch);
  ASSERT_EQ(out.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(out[i].data, in[i]);
}

TEST_P(UdpFamilies, ABatchGoesToManyDestinations) {
  auto a = make({.bind = loopback(GetParam())});
  std::vector<UdpSocket> to;
  for (int i = 0; i < 3; ++i) to.push_back(make({.bind = loopback(GetParam())}));
  const auto in = numbered(150, 20, 20);
  std::vector<Datagram> out;
  for (std::size_t i = 0; i < in.size(); ++i) out.push_back({to[i % 3].local(), in[i]});
  EXPECT_EQ(a.send_batch(out).sent, 150U);
  RecvBatch batch(64, 2048);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto got = receive(to[i], 50, batch);
    ASSERT_EQ(got.size(), 50U);
    for (std::size_t k = 0; k < 50; ++k) EXPECT_EQ(got[k].data[0], 3 * k + i);
  }
}

TEST_P(UdpFamilies, WhatMustStayWholeIsRefusedWhereItDoesNotFitAndAllElseIsCut) {
  WEFT_FRESH_NETNS();
  ASSERT_TRUE(set_interface_mtu("lo", 1500));
  for (const bool connected : {false, true}) {
    auto a = make({.bind = loopback(GetParam()), .fragments = Fragments::allow});
    auto b = make({.bind = loopback(GetParam())});
    const auto to = b.local();
    if (connected) {
      ASSERT_TRUE(a.connect(to));
    }
    const Endpoint* const where = connected ? nullptr : &to;
    const std::size_t fits = 1500 - (GetParam() ? 48 : 28);
    RecvBatch batch(8, 65535);
    const Buffer small(fits, 1), large(fits + 1, 2), longest(65507 - (GetParam() ? 20 : 0), 3);
    EXPECT_EQ(a.send_whole(where, small).status, SendStatus::ok);
    EXPECT_EQ(a.send_whole(where, large).status, SendStatus::too_big);
    const std::array<Bytes, 2> rest{large, longest};
    for (const Bytes one : rest) EXPECT_EQ(a.send_segments(where, std::span(&one, 1)).status, SendStatus::ok);
    // Segments that are larger than the device takes: cut as well, and none lost.
    const auto train = numbered(5, fits + 500, 10);
    EXPECT_EQ(a.send_segments(where, views(train)).sent, 5U);
    const auto got = receive(b, 8, batch);
    ASSERT_EQ(got.size(), 8U);
    EXPECT_EQ(got[0].data, small);
    EXPECT_EQ(got[1].data, large);
    EXPECT_EQ(got[2].data, longest);
    for (std::size_t i = 0; i < train.size(); ++i) EXPECT_EQ(got[3 + i].data, train[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Ip, UdpFamilies, testing::Bool(),
                         [](const auto& i) { return i.param ? "v6" : "v4"; });

TEST(Udp, AnEmptyDatagramIsReceivedAsOne) {
  auto a = make({.bind = loopback(false)});
  RecvBatch batch(4, 100);
  ASSERT_EQ(a.send_to(a.local(), {}).status, SendStatus::ok);
  ASSERT_TRUE(readable(a));
  ASSERT_EQ(a.recv_batch(batch), RecvStatus::ok);
  ASSERT_EQ(batch.received().size(), 1U);
  EXPECT_EQ(batch.received()[0].data.size(), 0U);
  EXPECT_EQ(a.recv_batch(batch), RecvStatus::would_block);
  EXPECT_TRUE(batch.received().empty());
}

TEST(Udp, ADatagramLargerThanItsBufferIsMarkedTruncated) {
  auto a = make({.bind = loopback(false)});
  RecvBatch batch(2, 100);
  Buffer own(40);
  batch.set_buffer(0, own);
  const Buffer big(101, 1);
  ASSERT_EQ(a.send_to(a.local(), big).status, SendStatus::ok);
  ASSERT_EQ(a.send_to(a.local(), Bytes(big).first(100)).status, SendStatus::ok);
  ASSERT_TRUE(readable(a));
  ASSERT_EQ(a.recv_batch(batch), RecvStatus::ok);
  ASSERT_EQ(batch.received().size(), 2U);
  EXPECT_TRUE(batch.received()[0].truncated);
  EXPECT_EQ(batch.received()[0].data.data(), own.data());
  EXPECT_EQ(batch.received()[0].data.size(), 40U);
  EXPECT_FALSE(batch.received()[1].truncated);
}

TEST(Udp, AnotherFamilyIsUnreachableAndSaysWhichDatagram) {
  auto a = make({.bind = loopback(false)});
  const Buffer d(10, 1);
  const std::vector<Datagram> in{{a.local(), d}, {loopback(true, 9), d}, {a.local(), d}};
  const auto r = a.send_batch(in);
  EXPECT_EQ(r.status, SendStatus::unreachable);
  EXPECT_EQ(r.sent, 1U);
  EXPECT_FALSE(a.connect(loopback(true, 9)));
}

TEST(Udp, ARefusalByTheFarHostCostsNoLaterDatagram) {
  auto a = make({.bind = loopback(false)});
  Endpoint dead;
  {
    auto b = make({.bind = loopback(false), .share_port = false});
    dead = b.local();
  }
  ASSERT_TRUE(a.connect(dead));
  const Buffer d(10, 1);
  EXPECT_EQ(a.send_batch(std::vector<Datagram>{{{}, d}}).status, SendStatus::ok);
  auto b = make({.bind = dead});  // alive again; the refusal is still pending on a
  EXPECT_EQ(a.send_batch(std::vector<Datagram>{{{}, d}}).status, SendStatus::ok);
  RecvBatch batch(2, 100);
  EXPECT_EQ(receive(b, 1, batch).size(), 1U);
  EXPECT_EQ(a.recv_batch(batch), RecvStatus::would_block);
}

TEST(Udp, ATakenPortIsAFailureWithARemedy) {
  auto a = make({.bind = loopback(false), .share_port = false});
  const auto b = UdpSocket::open({.bind = a.local()});
  ASSERT_FALSE(b);
  EXPECT_NE(b.error().text.find(a.local().text()), std::string::npos);
  EXPECT_NE(b.error().text.find("ss -ulpn"), std::string::npos);
  EXPECT_FALSE(UdpSocket::open({}));
}

TEST(Udp, BuffersSmallerThanAskedForAreAWarning) {
  std::vector<std::string> warnings;
  UdpOptions o{.bind = loopback(false)};
  o.receive_buffer_bytes = o.send_buffer_bytes = 1 << 16;
  ASSERT_TRUE(UdpSocket::open(o, &warnings));
  EXPECT_TRUE(warnings.empty());
  o.receive_buffer_bytes = 1 << 29;
  if (!without_capabilities([&] { EXPECT_TRUE(UdpSocket::open(o, &warnings)); }))
    GTEST_SKIP() << "needs root";
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("net.core.rmem_max"), std::string::npos);
}

TEST(Udp, CountsWhatTheKernelDropped) {
  UdpOptions o{.bind = loopback(false)};
  o.receive_buffer_bytes = 4096;
  auto b = make(o);
  auto a = make({.bind = loopback(false)});
  const Buffer d(1000, 1);
  for (int i = 0; i < 200; ++i) a.send_to(b.local(), d);
  RecvBatch batch(64, 2048);
  std::size_t got = 0;
  while (readable(b, 50) && b.recv_batch(batch) == RecvStatus::ok) got += batch.received().size();
  EXPECT_LT(got, 200U);
  EXPECT_EQ(b.kernel_drops_now(), 200U - got);
  a.send_to(b.local(), d);
  ASSERT_TRUE(readable(b));
  ASSERT_EQ(b.recv_batch(batch), RecvStatus::ok);
  EXPECT_EQ(b.kernel_drops(), 200U - got);
}

void set_mtu(const char* name, int mtu) {
  const Fd fd(socket(AF_INET, SOCK_DGRAM, 0));
  ifreq r{};
  std::strncpy(r.ifr_name, name, IFNAMSIZ - 1);
  r.ifr_mtu = mtu;
  ASSERT_EQ(ioctl(fd.get(), SIOCSIFMTU, &r), 0);
}

TEST(Udp, WhatIsLargerThanThePathIsTooBigAndNothingOfItLeaves) {
  WEFT_FRESH_NETNS();
  set_mtu("lo", 1500);
  for (const bool v6 : {false, true}) {
    auto a = make({.bind = loopback(v6)});
    auto b = make({.bind = loopback(v6)});
    const auto to = b.local();
    EXPECT_EQ(a.send_to(to, Buffer(1600, 1)).status, SendStatus::too_big);
    const auto big = numbered(4, 1600, 1600);
    const auto r = a.send_segments(&to, views(big));
    EXPECT_EQ(r.status, SendStatus::too_big);
    EXPECT_EQ(r.sent, 0U);
    EXPECT_TRUE(a.can_gso()) << "an oversize train says nothing about the offload";
    const auto fits = numbered(4, 1400, 1400);
    EXPECT_EQ(a.send_segments(&to, views(fits)).sent, 4U);
    RecvBatch batch(8, 65535);
    EXPECT_EQ(receive(b, 4, batch).size(), 4U);
    auto c = make({.bind = loopback(v6), .fragments = Fragments::allow});
    EXPECT_EQ(c.send_segments(&to, views(big)).sent, 4U);
    EXPECT_EQ(receive(b, 4, batch).size(), 4U);
  }
}

TEST(Udp, ADatagramOverTheProtocolsLimitIsTooBig) {
  auto a = make({.bind = loopback(false)});
  const Buffer huge(65508, 1);
  EXPECT_EQ(a.send_to(a.local(), huge).status, SendStatus::too_big);
  const auto to = a.local();
  const std::vector<Bytes> one{huge, huge};
  EXPECT_EQ(a.send_segments(&to, one).status, SendStatus::too_big);
}

TEST(Udp, EstablishedFramesGoToTheSocketOfTheirReceiverIndex) {
  for (const bool v6 : {false, true}) {
    auto first = make({.bind = loopback(v6)});
    auto second = make({.bind = first.local()});
    ASSERT_TRUE(first.steer_by_receiver_index(2));
    auto late = make({.bind = first.local()});  // bound later: never chosen
    auto a = make({.bind = loopback(v6)});
    std::size_t expected[2] = {0, 0};
    for (int index = 0; index < 100; ++index) {
      Buffer frame(40, 0);
      frame[4] = static_cast<std::uint8_t>(index);
      frame[5] = 0xff;
      a.send_to(first.local(), frame);
      ++expected[index % 2];
      frame[0] = 1;  // a handshake
      a.send_to(first.local(), frame);
      ++expected[0];
    }
    a.send_to(first.local(), Buffer(3, 0));  // too short to have an index
    ++expected[0];
    RecvBatch batch(64, 65535);
    const auto in_first = receive(first, expected[0], batch);
    const auto in_second = receive(second, expected[1], batch);
    EXPECT_EQ(in_first.size(), expected[0]);
    EXPECT_EQ(in_second.size(), expected[1]);
    for (const auto& g : in_second) EXPECT_EQ(g.data[4] % 2, 1);
    EXPECT_FALSE(readable(late, 20));
    EXPECT_FALSE(first.steer_by_receiver_index(0));
  }
}

TEST(Udp, AConnectedSocketBesideTheListenerTakesItsPeersDatagrams) {
  auto listener = make({.bind = loopback(false)});
  ASSERT_TRUE(listener.steer_by_receiver_index(1));
  auto peer = make({.bind = loopback(false)});
  auto other = make({.bind = loopback(false)});
  auto connected = make({.bind = listener.local()});
  ASSERT_TRUE(connected.connect(peer.local()));
  const Buffer d(40, 0);
  peer.send_to(listener.local(), d);
  other.send_to(listener.local(), d);
  RecvBatch batch(4, 65535);
  const auto a = receive(connected, 1, batch);
  ASSERT_EQ(a.size(), 1U);
  EXPECT_EQ(a[0].from, peer.local());
  const auto b = receive(listener, 1, batch);
  ASSERT_EQ(b.size(), 1U);
  EXPECT_EQ(b[0].from, other.local());
}

}  // namespace
}  // namespace weft::io
