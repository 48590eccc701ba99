// What operators and names do to a node. What nodes do to each other is the simulator's to show.
#include "node/node.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace weft {
namespace {

constexpr const char* kB = "npub1tdwa4vjrjl33pcjdpf2t4p027nl86xrx24g4d3avg4vwvayr3g8qhd84le";
constexpr const char* kC = "npub1cld9yay0u24davpu6c35l4vldrhzvaq66pcqtg9a0j2cnjrn9rtsxx2pe6";

struct Lone {
  SeededRng rng{7};
  NullLog log;
  Now now{Instant{} + 100s, 1'700'000'000'000};
  Outbox out;
  Node node;

  explicit Lone(NodeOptions o = options()) : node(std::move(o), identity(), rng, log, now) { node.start(now, out); }
  static crypto::Identity identity() {
    std::array<std::uint8_t, 32> s{};
    s[31] = 1;
    return std::move(*crypto::Identity::from_bytes(s));
  }
  static NodeOptions options() {
    NodeOptions o;
    link::Transport t;
    t.id = TransportId{0};
    t.local = *Endpoint::parse("0.0.0.0:2121");
    o.transports = {t};
    return o;
  }
  template <class E>
  std::vector<E> effects() {
    std::vector<E> found;
    for (auto& e : out.take())
      if (auto* x = std::get_if<E>(&e)) found.push_back(std::move(*x));
    return found;
  }
};

config::Peer peer(const char* npub, const char* addr, const char* alias = nullptr) {
  config::Peer p;
  p.npub = npub;
  if (alias) p.alias = alias;
  p.addresses = {{"udp", addr, 100}};
  return p;
}

TEST(Node, DialsTheConfiguredPeersAtStart) {
  auto o = Lone::options();
  o.config.peers = {peer(kB, "192.0.2.1:2121"), peer(kC, "relay.example.org:2121")};
  Lone n(std::move(o));
  int dials = 0;
  std::vector<std::string> asked;
  for (auto& e : n.out.take()) {
    if (auto* raw = std::get_if<RawSend>(&e)) dials += raw->to == *Endpoint::parse("192.0.2.1:2121") ? 1 : 0;
    if (auto* r = std::get_if<Resolve>(&e)) asked.push_back(r->host);
  }
  EXPECT_EQ(dials, 1);
  EXPECT_EQ(asked, std::vector<std::string>{"relay.example.org"});
}

TEST(Node, AnAnsweredLookUpIsDialledAndAFailedOneIsSaid) {
  auto o = Lone::options();
  o.config.peers = {peer(kC, "relay.example.org:2121")};
  Lone n(std::move(o));
  const auto ticket = n.effects<Resolve>().at(0).ticket;
  n.node.on_resolved(n.now, ticket, {}, "Name or service not known", n.out);
  const auto key = *n.node.find_key(kC);
  EXPECT_NE(n.node.peering().wanted().at(key).trouble.find("cannot resolve"), std::string::npos);
  n.now.mono = *n.node.peering().next_try(key);
  n.node.on_deadline(n.now, n.out);
  const auto again = n.effects<Resolve>();
  ASSERT_EQ(again.size(), 1U) << "for ever";
  n.node.on_resolved(n.now, again[0].ticket, {*Endpoint::parse("192.0.2.7:0")}, "", n.out);
  const auto sent = n.effects<RawSend>();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].to, *Endpoint::parse("192.0.2.7:2121")) << "with the configured port";
}

TEST(Node, PeersAddedAtRunTimeAreDialledNamedAndKept) {
  Lone n;
  n.out.take();
  ASSERT_TRUE(n.node.add_peer(n.now, peer(kB, "192.0.2.1:2121", "relay"), n.out));
  bool dialled = false;
  std::string kept;
  for (auto& e : n.out.take()) {
    dialled |= std::holds_alternative<RawSend>(e);
    if (auto* k = std::get_if<KeepPeers>(&e)) kept = k->text;
  }
  EXPECT_TRUE(dialled);
  const auto back = config::load_peers({"peers.yaml", kept});
  ASSERT_EQ(back.peers.size(), 1U);
  EXPECT_EQ(back.peers[0].npub, kB);
  EXPECT_TRUE(n.node.find_key("RELAY")) << "names ignore case";
  EXPECT_FALSE(n.node.find_key("nobody"));
  ASSERT_TRUE(n.node.remove_peer(n.now, "relay", n.out));
  EXPECT_TRUE(n.node.peering().wanted().empty());
  EXPECT_FALSE(n.node.remove_peer(n.now, kB, n.out)) << "it is gone already";
}

TEST(Node, RefusesWhatCannotBeAPeer) {
  Lone n;
  EXPECT_FALSE(n.node.add_peer(n.now, peer("npub1nonsense", "192.0.2.1:1"), n.out));
  EXPECT_FALSE(n.node.add_peer(n.now, peer(n.node.identity().npub().c_str(), "192.0.2.1:1"), n.out)) << "itself";
  EXPECT_FALSE(n.node.connect(n.now, kB, "[fd00::1]:2121", "udp", n.out)) << "inside the mesh";
  EXPECT_FALSE(n.node.connect(n.now, kB, "192.0.2.1", "udp", n.out)) << "no port";
  EXPECT_FALSE(n.node.connect(n.now, kB, "192.0.2.1:1", "tcp", n.out)) << "no such transport";
  EXPECT_FALSE(n.node.connect(n.now, kB, "[2001:db8::1]:1", "udp", n.out)) << "no transport of this family";
  EXPECT_TRUE(n.node.connect(n.now, kB, "192.0.2.1:1", "udp", n.out));
  EXPECT_FALSE(n.node.disconnect(n.now, kB, n.out)) << "not connected yet";
}

TEST(Node, AHostsFileNamesAndAnAclRefuses) {
  Lone n;
  n.node.set_hosts(n.now, std::string("printer ") + kB + "\n");
  EXPECT_TRUE(n.node.find_key("printer"));
  n.node.set_acl(n.now, "", "printer\n");
  const auto r = n.node.connect(n.now, "printer", "192.0.2.1:2121", "udp", n.out);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().find("peers.deny line 1"), std::string::npos) << r.error();
  n.node.set_acl(n.now, "", "");
  EXPECT_TRUE(n.node.connect(n.now, "printer", "192.0.2.1:2121", "udp", n.out));
}

TEST(Node, ANameQueryMakesThePacketPathKnowTheKey) {
  Lone n;
  const auto addr = crypto::node_addr_of(*crypto::parse_npub(kB));
  EXPECT_EQ(n.node.identities().peek(addr), nullptr);
  Buffer query{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 63};
  for (const char* c = kB; *c; ++c) query.push_back(static_cast<std::uint8_t>(*c));
  query.insert(query.end(), {4, 'f', 'i', 'p', 's', 0, 0, 28, 0, 1});
  const auto reply = n.node.on_dns(n.now, query);
  ASSERT_TRUE(reply);
  EXPECT_NE(n.node.identities().peek(addr), nullptr);
}

TEST(Node, APacketForAnUnknownKeyIsAnsweredUnreachable) {
  Lone n;
  n.out.take();
  Buffer packet(60, 0);
  packet[0] = 0x60;
  packet[6] = 17;
  const auto own = n.node.identity().mesh_addr();
  std::ranges::copy(own.bytes, packet.begin() + 8);
  packet[24] = 0xfd;
  packet[39] = 9;
  n.node.on_punt(n.now, PuntTunPacket{packet}, n.out);
  const auto written = n.effects<WriteTun>();
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].packet[40], 1) << "ICMPv6 destination unreachable";
  EXPECT_EQ(n.node.drops().get(Drop::unknown_destination), 1U);
}

TEST(Node, DrainingRefusesNewWishes) {
  Lone n;
  n.node.drain(n.now, n.out);
  const auto r = n.node.connect(n.now, kB, "192.0.2.1:2121", "udp", n.out);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error(), "node shutting down");
}

TEST(Node, HasADeadlineOnlyWhenSomethingIsToBeDone) {
  Lone n;
  for (int i = 0; i < 50; ++i) {
    const auto d = n.node.deadline();
    if (!d) break;
    n.now.mono = std::max(n.now.mono, *d);
    n.node.on_deadline(n.now, n.out);
  }
  const auto d = n.node.deadline();
  EXPECT_TRUE(!d || *d > n.now.mono) << "a node at rest does not spin";
}

}  // namespace
}  // namespace weft
