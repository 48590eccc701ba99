// Links' own sockets, from both ends: when the control thread opens and gives them up, and how a worker reads them.
#include "weftd/connected_udp.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <thread>

#include "weftd/link_sockets.h"
#include "weftd/sinks.h"

namespace weft::daemon {
namespace {

constexpr auto kLocal = std::array<std::uint8_t, 4>{127, 0, 0, 1};
Instant at(Duration d) { return Instant{} + 1000s + d; }

io::UdpSocket socket_on(const Endpoint& bind) {
  auto s = io::UdpSocket::open({.bind = bind, .fragments = io::Fragments::allow});
  EXPECT_TRUE(s) << (s ? "" : s.error().text);
  return std::move(*s);
}

/// One listening instance, a far end for each link, and what the workers were told.
struct Bench {
  explicit Bench(std::size_t most = 100, bool on = true) {
    UdpPort p;
    p.info.id = TransportId{0};
    p.sockets.push_back(socket_on(Endpoint::v4(kLocal, 0)));
    p.steered = p.sockets[0].steer_by_receiver_index(1).has_value();
    p.options.bind = p.sockets[0].local();
    p.info.local = p.options.bind;
    ports.push_back(std::move(p));
    connected = std::make_unique<ConnectedUdp>(
        ports, ConnectedUdp::Settings{.on = on, .most = most},
        [this](const Broadcast& b) { told.push_back(b); }, log);
  }
  SetLink link(std::uint64_t id, const Endpoint& to) {
    auto& s = stats[id];
    if (!s) s = std::make_shared<LinkStats>();
    LinkSend send{.link = LinkId{id}, .transport = TransportId{0}, .to = to, .stats = s};
    return SetLink{std::move(send)};
  }
  /// The command as the workers get it.
  SetLink pass(Instant now, const SetLink& set) {
    Broadcast b = set;
    connected->pass(now, b);
    return std::get<SetLink>(b);
  }
  void drop(Instant now, std::uint64_t id) {
    Broadcast b = DropLink{LinkId{id}};
    connected->pass(now, b);
  }
  bool has(std::uint64_t id) const { return connected->view(LinkId{id}).connected; }

  NullLog log;
  std::vector<UdpPort> ports;
  std::map<std::uint64_t, std::shared_ptr<LinkStats>> stats;
  std::vector<Broadcast> told;
  std::unique_ptr<ConnectedUdp> connected;
};

TEST(ConnectedUdp, ALinkHasItsSocketFromTheStartAndKeepsItThroughNewKeys) {
  Bench b;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  const auto first = b.pass(at(0s), b.link(1, peer.local()));
  ASSERT_NE(own_socket(first.send), nullptr);
  EXPECT_EQ(own_socket(first.send)->udp.local(), b.ports[0].sockets[0].local());
  const auto again = b.pass(at(1s), b.link(1, peer.local()));
  EXPECT_EQ(again.send.socket, first.send.socket);
  EXPECT_EQ(b.connected->totals().opened, 1U);
  b.drop(at(2s), 1);
  EXPECT_EQ(b.connected->totals().open, 0U);
}

TEST(ConnectedUdp, SwitchedOffNoLinkHasOneAndTheReasonIsSaid) {
  Bench b(100, false);
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  EXPECT_EQ(b.pass(at(0s), b.link(1, peer.local())).send.socket, nullptr);
  EXPECT_NE(b.connected->view(LinkId{1}).why.find("connected_udp"), std::string::npos);
  EXPECT_FALSE(b.connected->totals().on);
}

TEST(ConnectedUdp, APeerThatMovesIsServedByTheListeningSocketUntilItStandsStill) {
  Bench b;
  auto one = socket_on(Endpoint::v4(kLocal, 0)), two = socket_on(Endpoint::v4(kLocal, 0));
  b.pass(at(0s), b.link(1, one.local()));
  EXPECT_EQ(b.pass(at(10s), b.link(1, two.local())).send.socket, nullptr);
  b.connected->on_tick(at(10500ms));
  EXPECT_TRUE(b.told.empty());
  EXPECT_EQ(b.pass(at(10800ms), b.link(1, one.local())).send.socket, nullptr);
  b.connected->on_tick(at(11500ms));
  EXPECT_TRUE(b.told.empty()) << "it moved again meanwhile";
  b.connected->on_tick(at(11800ms));
  ASSERT_EQ(b.told.size(), 1U);
  const auto& send = std::get<SetLink>(b.told[0]).send;
  ASSERT_NE(own_socket(send), nullptr);
  EXPECT_EQ(own_socket(send)->peer, one.local());
  EXPECT_EQ(b.connected->totals().moved, 1U);
}

TEST(ConnectedUdp, ASocketThatFailsIsReplacedAfterAGrowingWait) {
  Bench b;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  auto set = b.pass(at(0s), b.link(1, peer.local()));
  Instant now = at(1s);
  for (const Duration wait : {1s, 2s, 4s}) {
    own_socket(set.send)->trouble = EADDRNOTAVAIL;
    EXPECT_EQ(own_socket(set.send), nullptr);
    b.connected->on_tick(now);
    EXPECT_EQ(std::get<SetLink>(b.told.back()).send.socket, nullptr);
    EXPECT_FALSE(b.connected->view(LinkId{1}).why.empty());
    b.connected->on_tick(now + wait - 1ms);
    EXPECT_FALSE(b.has(1));
    now += wait;
    b.connected->on_tick(now);
    EXPECT_TRUE(b.has(1));
    set = std::get<SetLink>(b.told.back());
  }
  EXPECT_EQ(b.connected->totals().spoiled, 3U);
}

TEST(ConnectedUdp, ASilentPeerGetsTheListeningSocketUntilItIsHeard) {
  Bench b;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  b.pass(at(0s), b.link(1, peer.local()));
  b.stats[1]->last_recv.set(at(5s));
  b.connected->on_tick(at(19s));
  EXPECT_TRUE(b.has(1));
  b.connected->on_tick(at(21s));
  EXPECT_FALSE(b.has(1));
  b.connected->on_tick(at(100s));
  EXPECT_FALSE(b.has(1));
  b.stats[1]->last_recv.set(at(101s));
  b.connected->on_tick(at(102s));
  EXPECT_TRUE(b.has(1));
  EXPECT_EQ(b.connected->totals().silent, 1U);
}

TEST(ConnectedUdp, WithoutDescriptorsLinksShareTheListeningSocketUntilThereAreSome) {
  Bench b(2);
  std::vector<io::UdpSocket> peers;
  for (std::uint64_t i = 0; i < 4; ++i) {
    peers.push_back(socket_on(Endpoint::v4(kLocal, 0)));
    EXPECT_EQ(b.pass(at(0s), b.link(i, peers[i].local())).send.socket != nullptr, i < 2);
  }
  EXPECT_GE(b.connected->totals().refused, 1U);
  b.drop(at(1s), 0);
  b.connected->on_tick(at(2s));
  EXPECT_EQ(b.connected->totals().open, 1U) << "not at every tick";
  for (std::uint64_t i = 1; i < 4; ++i) b.stats[i]->last_recv.set(at(40s));
  b.connected->on_tick(at(40s));
  EXPECT_EQ(b.connected->totals().open, 2U);
}

TEST(ConnectedUdp, TheNewestOfTwoLinksToOneAddressHasTheSocket) {
  Bench b;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  b.pass(at(0s), b.link(1, peer.local()));
  EXPECT_NE(b.pass(at(1s), b.link(2, peer.local())).send.socket, nullptr);
  EXPECT_FALSE(b.has(1));
  ASSERT_EQ(b.told.size(), 1U);
  EXPECT_EQ(std::get<SetLink>(b.told[0]).send.link, LinkId{1});
  for (int i = 0; i < 14; ++i) {  // it stays so while that one is heard
    b.stats[2]->last_recv.set(at(2s + i * 10s));
    b.connected->on_tick(at(2s + i * 10s));
  }
  EXPECT_TRUE(b.has(2));
  EXPECT_FALSE(b.has(1));
}

TEST(ConnectedUdp, ATransportOfAnotherFamilyOrNoneIsNoReasonToFail) {
  Bench b;
  EXPECT_EQ(b.pass(at(0s), b.link(1, *Endpoint::parse("[::1]:9"))).send.socket, nullptr);
  auto set = b.link(2, Endpoint::v4(kLocal, 9));
  set.send.transport = TransportId{7};
  EXPECT_EQ(b.pass(at(0s), set).send.socket, nullptr);
  EXPECT_EQ(b.connected->totals().open, 0U);
}

TEST(ConnectedUdp, LeavesDescriptorsForTheRest) {
  const auto all = descriptors_for_links(0);
  ASSERT_GT(all, 1000U);
  EXPECT_EQ(descriptors_for_links(1000), all - 1000);
  EXPECT_EQ(descriptors_for_links(SIZE_MAX), 0U);
}

// ---- the worker's end -----------------------------------------------------------------------------------------------

struct Home {
  explicit Home(Bench& b) : bench(b), links(poll, 1, WorkerId{0}) {}

  bool command(const SetLink& set) { return links.on_command(Command{set}); }
  bool command(const DropLink& drop) { return links.on_command(Command{drop}); }
  /// One turn of a worker: datagrams that were read from links' sockets.
  std::size_t turn(Instant now) {
    std::size_t got = 0;
    const auto read = [&](LinkSocket& s) {
      if (s.udp.recv_batch(batch) != io::RecvStatus::ok) return false;
      got += batch.received().size();
      return batch.received().size() == batch.slots();
    };
    for (const auto tag : poll.wait(0)) links.ready(tag);
    if (links.retiring()) links.retire(now, read);
    while (links.read_ready(read)) {
    }
    return got;
  }

  Bench& bench;
  io::PollSet poll;
  LinkSockets links;
  io::RecvBatch batch{4, 2048};
};

struct Talk {
  void say(io::UdpSocket& from, const Bench& b, int times) {
    const Buffer d(40, 0);
    for (int i = 0; i < times; ++i) from.send_to(b.ports[0].sockets[0].local(), d);
  }
  std::size_t listening(Bench& b) {
    std::size_t n = 0;
    while (b.ports[0].sockets[0].recv_batch(batch) == io::RecvStatus::ok) n += batch.received().size();
    return n;
  }
  io::RecvBatch batch{16, 2048};
};

TEST(LinkSockets, ANewSocketWaitsForWhatCameToTheListeningOneBefore) {
  Bench b;
  Home home(b);
  Talk talk;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  EXPECT_TRUE(home.command(b.pass(at(0s), b.link(1, peer.local()))));
  talk.say(peer, b, 3);
  EXPECT_EQ(home.turn(at(0s)), 0U);
  home.links.listening_read(TransportId{9}, true);
  home.links.listening_read(TransportId{0}, false);
  EXPECT_EQ(home.turn(at(0s)), 0U);
  home.links.listening_read(TransportId{0}, true);
  EXPECT_EQ(home.turn(at(0s)), 3U);
}

TEST(LinkSockets, AListeningSocketThatNeverRunsEmptyHoldsNobodyBackForEver) {
  Bench b;
  Home home(b);
  Talk talk;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  home.command(b.pass(at(0s), b.link(1, peer.local())));
  talk.say(peer, b, 1);
  for (int i = 0; i < 64; ++i) home.links.listening_read(TransportId{0}, false);
  EXPECT_EQ(home.turn(at(0s)), 1U);
}

TEST(LinkSockets, ARemovedLinksSocketIsReadUntilNobodySendsOnItAndNothingIsLost) {
  Bench b;
  Home home(b);
  Talk talk;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  auto elsewhere = b.pass(at(0s), b.link(1, peer.local()));  // what another worker holds
  home.command(elsewhere);
  home.links.listening_read(TransportId{0}, true);
  b.drop(at(1s), 1);
  home.command(DropLink{LinkId{1}});
  talk.say(peer, b, 5);
  EXPECT_EQ(home.turn(at(1s)), 5U) << "another worker may still send on it, so it stays the peer's";
  EXPECT_TRUE(home.links.retiring());
  EXPECT_GE(home.links.patience(at(1s)), 1);
  elsewhere.send.socket.reset();
  talk.say(peer, b, 2);
  EXPECT_EQ(home.turn(at(1s)), 2U) << "parked, and read to its end";
  talk.say(peer, b, 4);
  EXPECT_EQ(home.turn(at(1s)), 0U);
  EXPECT_EQ(talk.listening(b), 4U);
  EXPECT_TRUE(home.links.retiring());
  home.turn(at(2s));
  EXPECT_FALSE(home.links.retiring());
}

TEST(LinkSockets, OnlyTheHomeReads) {
  Bench b;
  Home home(b);
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  auto set = b.link(1, peer.local());
  set.send.home = WorkerId{1};
  EXPECT_FALSE(home.command(b.pass(at(0s), set)));
  home.links.listening_read(TransportId{0}, true);
  Talk talk;
  talk.say(peer, b, 1);
  EXPECT_EQ(home.turn(at(0s)), 0U);
}

TEST(LinkSockets, AForeignDatagramNeverComesThere) {
  Bench b;
  Home home(b);
  Talk talk;
  auto peer = socket_on(Endpoint::v4(kLocal, 0)), stranger = socket_on(Endpoint::v4(kLocal, 0));
  home.command(b.pass(at(0s), b.link(1, peer.local())));
  home.links.listening_read(TransportId{0}, true);
  talk.say(stranger, b, 3);
  EXPECT_EQ(home.turn(at(0s)), 0U);
  EXPECT_EQ(talk.listening(b), 3U);
}

TEST(LinkSockets, AHubsTurnLooksAtThoseThatHaveSomething) {
  Bench b(1000);
  Home home(b);
  Talk talk;
  std::vector<io::UdpSocket> peers;
  for (std::uint64_t i = 0; i < 250; ++i) {
    peers.push_back(socket_on(Endpoint::v4(kLocal, 0)));
    home.command(b.pass(at(0s), b.link(i, peers[i].local())));
  }
  home.links.listening_read(TransportId{0}, true);
  EXPECT_TRUE(home.poll.wait(0).empty());
  talk.say(peers[249], b, 1);
  EXPECT_EQ(home.poll.wait(0).size(), 1U);
  EXPECT_EQ(home.turn(at(0s)), 1U);
  for (auto& p : peers) talk.say(p, b, 1);
  std::size_t got = 0;
  for (int i = 0; i < 5; ++i) got += home.turn(at(0s));
  EXPECT_EQ(got, 250U);
}

// ---- sending --------------------------------------------------------------------------------------------------------

struct Refusing final : io::SendFault {
  int error = 0;
  int skip = 0;  // calls that pass first
  int times = 0;
  int refuse(bool, std::size_t, std::size_t) override {
    if (skip > 0) return --skip, 0;
    return times-- > 0 ? error : 0;
  }
};

struct Sending {
  Sending()
      : sink(bench.ports, stats, 0), peer(socket_on(Endpoint::v4(kLocal, 0))), frames(6, Buffer(100, 0)) {
    set = bench.pass(at(0s), bench.link(1, peer.local()));
    views.assign(frames.begin(), frames.end());
  }
  std::uint64_t trouble(SendCause c) const {
    return stats[0].troubles[static_cast<std::size_t>(c)].count.get();
  }
  std::size_t arrived() {
    std::size_t n = 0;
    io::RecvBatch batch(16, 65535);
    for (pollfd p{peer.fd(), POLLIN, 0}; ::poll(&p, 1, 50) == 1;)
      if (peer.recv_batch(batch) == io::RecvStatus::ok)
        for (const auto& r : batch.received()) n += r.data.size() / 100;
    return n;
  }

  Bench bench;
  std::vector<PortStats> stats{1};
  PortSink sink;
  io::UdpSocket peer;
  SetLink set;
  std::vector<Buffer> frames;
  std::vector<Bytes> views;
};

TEST(PortSink, AFailedSocketOfALinkCostsNothing) {
  Sending s;
  Refusing fault;
  fault.error = EADDRNOTAVAIL;
  fault.times = 1000;
  own_socket(s.set.send)->udp.inject(&fault);
  EXPECT_EQ(s.sink.send(s.set.send, s.views).lost, 0U);
  EXPECT_EQ(s.arrived(), 6U);
  EXPECT_EQ(own_socket(s.set.send), nullptr) << "nobody tries it again";
  EXPECT_EQ(s.trouble(SendCause::own_socket), 1U);
  EXPECT_EQ(s.sink.send(s.set.send, s.views).lost, 0U);
  EXPECT_EQ(s.arrived(), 6U);
}

TEST(PortSink, ARefusalByThePeersMachineOrAPacketFilterIsNoReasonToGiveUp) {
  Sending s;
  Refusing fault;
  fault.error = ECONNREFUSED;
  fault.times = 1;
  own_socket(s.set.send)->udp.inject(&fault);
  EXPECT_EQ(s.sink.send(s.set.send, s.views).lost, 0U);
  EXPECT_NE(own_socket(s.set.send), nullptr);
  EXPECT_EQ(s.arrived(), 6U);
  fault.error = EPERM;
  fault.times = 100;
  EXPECT_EQ(s.sink.send(s.set.send, s.views).lost, 6U);
  EXPECT_NE(own_socket(s.set.send), nullptr);
}

TEST(PortSink, WhatIsRefusedForItselfIsCountedAndTheRestGoes) {
  Sending s;
  s.set.send.socket.reset();
  Refusing fault;
  fault.error = EPERM;  // a packet filter that takes one
  fault.times = 1;
  s.bench.ports[0].sockets[0].inject(&fault);
  const auto out = s.sink.send(s.set.send, s.views);
  EXPECT_EQ(out.lost, 1U);
  EXPECT_EQ(out.why, Drop::send_failed);
  EXPECT_EQ(s.arrived(), 5U);
  fault.times = 1000;
  EXPECT_EQ(s.sink.send(s.set.send, s.views).lost, 6U);
  EXPECT_GT(fault.times, 990) << "two in a row are about all of them";
  EXPECT_EQ(s.trouble(SendCause::other), 7U);
  EXPECT_EQ(s.stats[0].send_errors.get(), 7U);
}

TEST(PortSink, EachRefusalHasItsName) {
  Sending s;
  s.set.send.socket.reset();
  Refusing fault;
  s.bench.ports[0].sockets[0].inject(&fault);
  const auto send = [&](int error) {
    fault.error = error;
    fault.times = 1000;
    const auto out = s.sink.send(s.set.send, s.views);
    EXPECT_EQ(out.lost, 6U);
    fault.times = 0;
    return out.why;
  };
  EXPECT_EQ(send(EMSGSIZE), Drop::send_too_big);
  EXPECT_EQ(s.stats[0].mtu_exceeded.get(), 6U);
  EXPECT_EQ(send(ENETUNREACH), Drop::send_unreachable);
  EXPECT_EQ(send(ENOBUFS), Drop::send_buffer_full);
  EXPECT_EQ(send(ENOTSOCK), Drop::send_failed);
}

TEST(PortSink, AFullQueueIsWaitedForAndThenGoesOn) {
  Sending s;
  Refusing fault;
  for (const int error : {ENOBUFS, EAGAIN}) {
    fault.error = error;
    fault.times = 2;
    own_socket(s.set.send)->udp.inject(&fault);
    EXPECT_EQ(s.sink.send(s.set.send, s.views).lost, 0U);
    EXPECT_EQ(s.arrived(), 6U);
    EXPECT_NE(own_socket(s.set.send), nullptr);
  }
}

TEST(PortSink, SendingWhileTheSocketIsGivenUpIsSafe) {
  Bench b;
  auto peer = socket_on(Endpoint::v4(kLocal, 0));
  const auto link = b.link(1, peer.local());
  std::atomic<bool> stop{false};
  for (int round = 0; round < 20; ++round) {
    auto set = b.pass(at(round * 10s), link);
    b.stats[1]->last_recv.set(at(round * 10s));
    std::vector<std::thread> senders;
    stop = false;
    for (std::size_t i = 0; i < 3; ++i)
      senders.emplace_back([&, mine = set] {
        std::vector<PortStats> stats(1);
        PortSink sink(b.ports, stats, 0);
        const Buffer frame(100, 1);
        const Bytes view(frame);
        while (!stop) sink.send(mine.send, std::span(&view, 1));
      });
    Home home(b);
    home.command(set);
    home.links.listening_read(TransportId{0}, true);
    set.send.socket.reset();
    b.drop(at(round * 10s + 1s), 1);
    home.command(DropLink{LinkId{1}});
    home.turn(at(round * 10s + 1s));
    EXPECT_TRUE(home.links.retiring());
    stop = true;
    for (auto& t : senders) t.join();
    senders.clear();
    home.turn(at(round * 10s + 1s));
    home.turn(at(round * 10s + 2s));
    EXPECT_FALSE(home.links.retiring());
  }
}

}  // namespace
}  // namespace weft::daemon
