#include "control/advice.h"

#include "control/rig_test.h"

namespace weft::control {
namespace {

Situation::Peer silent(const char* name) {
  Situation::Peer p;
  p.name = name;
  p.addresses = {"192.0.2.9:2121"};
  p.failures = 2;
  p.next_try = 12s;
  return p;
}
Situation usual() {
  Situation s;
  s.transport_up = true;
  s.udp_ports = {2121};
  s.own_npub = "npub1me";
  s.datagrams_received = 10;
  return s;
}
bool any(const std::vector<std::string>& lines, std::string_view part) {
  return std::ranges::any_of(lines, [&](const auto& l) { return l.find(part) != std::string::npos; });
}
std::size_t place(const std::vector<std::string>& lines, std::string_view part) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].find(part) != std::string::npos) return i;
  ADD_FAILURE() << "no line with " << part;
  return 0;
}

TEST(Advice, ALinkedNodeSaysSoFirst) {
  auto s = usual();
  s.links = 2;
  s.root = "relay-a";
  s.depth = 1;
  s.mesh_size = 12;
  const auto a = advise(s);
  EXPECT_TRUE(a.linked);
  EXPECT_EQ(a.headline, "linked: 2 peers, root relay-a, depth 1, about 12 nodes in the mesh");
  EXPECT_TRUE(a.next_steps.empty());
}

TEST(Advice, WithoutPeersItSaysHowToAddOneFromEitherSide) {
  const auto a = advise(usual());
  EXPECT_FALSE(a.linked);
  EXPECT_TRUE(a.headline.starts_with("not linked: no peers are configured"));
  EXPECT_TRUE(any(a.next_steps, "weft peer add NPUB HOST:PORT"));
  EXPECT_TRUE(any(a.next_steps, "weft peer add npub1me THIS_HOST:2121"));
}

TEST(Advice, WithoutATransportNothingElseMatters) {
  auto s = usual();
  s.transport_up = false;
  s.transport_troubles = {"cannot bind 0.0.0.0:2121: address in use"};
  s.wanted = {silent("bee")};
  const auto a = advise(s);
  EXPECT_EQ(a.headline, "not linked: no transport is up (cannot bind 0.0.0.0:2121: address in use)");
  ASSERT_EQ(a.next_steps.size(), 1U);
}

TEST(Advice, WhatIsKnownForCertainIsSaidAsSuch) {
  auto s = usual();
  s.wanted = {silent("bee")};
  s.wanted[0].trouble = "cannot resolve bee.example:2121: no such host";
  auto a = advise(s);
  EXPECT_EQ(a.headline, "not linked: bee: cannot resolve bee.example:2121: no such host; next try in 12 s");
  EXPECT_TRUE(any(a.next_steps, "getent"));
  EXPECT_FALSE(any(a.next_steps, "firewall"));
  s.wanted[0].trouble = "no transport is up for udp to [2001:db8::1]:2121";
  a = advise(s);
  EXPECT_TRUE(any(a.next_steps, "address family"));
}

TEST(Advice, ARefusalHereNamesTheRule) {
  auto s = usual();
  s.wanted = {silent("bee")};
  s.wanted[0].refused = "denied by peers.deny line 3 (ALL)";
  const auto a = advise(s);
  EXPECT_EQ(a.headline, "not linked: bee: refused here: denied by peers.deny line 3 (ALL)");
  EXPECT_TRUE(any(a.next_steps, "admit bee"));
}

TEST(Advice, ALinkEndedByTheOperatorIsNoSilence) {
  auto s = usual();
  s.wanted = {silent("bee")};
  s.wanted[0].parked = true;
  const auto a = advise(s);
  EXPECT_NE(a.headline.find("`weft connect bee 192.0.2.9:2121`"), std::string::npos) << a.headline;
  EXPECT_FALSE(any(a.next_steps, "firewall"));
}

TEST(Advice, SilenceIsExplainedInOrderOfLikelihood) {
  auto s = usual();
  s.wanted = {silent("bee")};
  const auto a = advise(s);
  EXPECT_EQ(a.headline, "not linked: bee (192.0.2.9:2121): no answer (2 attempts in vain); next try in 12 s");
  const auto& n = a.next_steps;
  EXPECT_LT(place(n, "not running"), place(n, "firewall"));
  EXPECT_LT(place(n, "firewall"), place(n, "bad_handshake"));
  EXPECT_LT(place(n, "bad_handshake"), place(n, "refuses us"));
  EXPECT_LT(place(n, "refuses us"), place(n, "NAT"));
  EXPECT_FALSE(any(n, "nothing at all has arrived"));
}

TEST(Advice, WhenNothingEverArrivedTheWayIsSuspectedFirst) {
  auto s = usual();
  s.datagrams_received = 0;
  s.wanted = {silent("bee")};
  EXPECT_EQ(place(advise(s).next_steps, "nothing at all has arrived"), 0U);
}

TEST(Advice, ManyPeersAreSummedUp) {
  auto s = usual();
  for (int i = 0; i < 20; ++i) s.wanted.push_back(silent("p"));
  auto a = advise(s);
  EXPECT_EQ(a.headline, "not linked: none of 20 peers answers");
  EXPECT_EQ(a.why.size(), 9U);
  s.wanted[19].trouble = "cannot resolve x";
  a = advise(s);
  EXPECT_TRUE(a.headline.starts_with("not linked: of 20 peers, 1 cannot"));
  EXPECT_TRUE(a.why[0].find("cannot resolve x") != std::string::npos);
}

TEST(Advice, StrangersWithTheWrongKeyOrAnotherVersionAreMentioned) {
  auto s = usual();
  s.foreign_handshakes = 3;
  s.other_version = 1;
  const auto a = advise(s);
  EXPECT_TRUE(any(a.why, "3 handshakes arrived that are not for our key"));
  EXPECT_TRUE(any(a.why, "protocol version"));
}

TEST(Advice, AnOffInterfaceAndAnOpenFirewallAreNotes) {
  auto s = usual();
  s.links = 1;
  s.tun_wanted = false;
  EXPECT_TRUE(any(advise(s).notes, "tun.enabled"));
  s.tun_wanted = true;
  s.tun_active = false;
  s.tun_trouble = "no /dev/net/tun";
  EXPECT_TRUE(any(advise(s).notes, "no /dev/net/tun"));
  s.firewall_on = false;
  EXPECT_TRUE(any(advise(s).notes, "firewall is off"));
}

TEST(Advice, ALinkedNodeStillNamesThePeersThatAreMissing) {
  auto s = usual();
  s.links = 1;
  s.wanted = {silent("bee"), silent("far")};
  s.wanted[0].up = true;
  const auto a = advise(s);
  EXPECT_TRUE(a.linked);
  EXPECT_EQ(a.why.size(), 1U);
  EXPECT_TRUE(any(a.why, "far"));
}

TEST(Advice, StatusOfRealNodesSaysWhoRefusedWhom) {
  rig::Pair p("ALL\n");
  p.run(5s);
  const auto b = p.b->data(p.now, "show_status")["weft"];
  EXPECT_EQ(b["linked"], false);
  ASSERT_FALSE(b["refusals"].empty()) << b.dump();
  EXPECT_NE(b["refusals"][0].get<std::string>().find("peers.deny line 1"), std::string::npos) << b.dump();
  EXPECT_NE(b["why"].dump().find("peers.deny line 1"), std::string::npos);
  const auto rows = p.b->data(p.now, "show_refusals")["refusals"];
  EXPECT_EQ(rows[0]["npub"], p.a->node.identity().npub());
  EXPECT_EQ(rows[0]["reason"], "acl_denied");
  const auto a = p.a->data(p.now, "show_status")["weft"];
  EXPECT_EQ(a["linked"], false);
  EXPECT_NE(a["headline"].get<std::string>().find("bee"), std::string::npos);
  EXPECT_NE(a["next_steps"].dump().find("refuses us"), std::string::npos);
}

TEST(Advice, StatusOfALinkedPairIsLinked) {
  rig::Pair p;
  p.run(5s);
  for (auto* s : {p.a.get(), p.b.get()}) {
    const auto w = s->data(p.now, "show_status")["weft"];
    EXPECT_EQ(w["linked"], true) << w.dump();
    EXPECT_TRUE(w["headline"].get<std::string>().starts_with("linked: 1 peer, root ")) << w.dump();
  }
}

}  // namespace
}  // namespace weft::control
