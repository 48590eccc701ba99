#include <chrono>

#include "control/rig_test.h"

namespace weft::control {
namespace {

using rig::Json;
using rig::Pair;

class Requests : public testing::Test {
 protected:
  std::string message(std::string_view line) {
    const Json j = side.ask(now, line);
    EXPECT_EQ(j["status"], "error") << j.dump();
    EXPECT_FALSE(j.contains("data"));
    return j.value("message", "");
  }
  std::deque<rig::Flight> wire;
  Instant now{1000s};
  rig::Side side{7, {}, wire, now};
  std::string other = [] {
    SeededRng rng(77);
    return crypto::Identity::generate(rng).npub();
  }();
};

TEST_F(Requests, ErrorsBeginWithTheWordsThatScriptsLookFor) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "empty request"},
      {"  ", "empty request"},
      {"hello", "invalid request: "},
      {"{", "invalid request: "},
      {"[]", "invalid request: "},
      {"{}", "invalid request: "},
      {R"({"command":5})", "invalid request: "},
      {R"({"command":"nope"})", "unknown command: nope"},
      {R"({"command":"show_"})", "unknown command: show_"},
      {R"({"command":"connect"})", "missing params for connect"},
      {R"({"command":"connect","params":null})", "missing params for connect"},
      {R"({"command":"connect","params":{}})", "missing 'npub' parameter"},
      {R"({"command":"connect","params":{"npub":5}})", "missing 'npub' parameter"},
      {R"({"command":"connect","params":[1]})", "missing 'npub' parameter"},
      {R"({"command":"connect","params":{"npub":"x"}})", "missing 'address' parameter"},
      {R"({"command":"connect","params":{"npub":"x","address":"1.2.3.4:5"}})",
       "missing 'transport' parameter"},
      {R"({"command":"disconnect"})", "missing params for disconnect"},
      {R"({"command":"disconnect","params":{"npub":"npub1x"}})", "invalid npub 'npub1x': "},
      {R"({"command":"disconnect","params":{"npub":")" + other + R"("}})", "peer not found: " + other},
      {R"({"command":"peer_add","params":{}})", "missing 'npub' parameter"},
      {R"({"command":"peer_remove","params":{"npub":")" + other + R"("}})", "peer not found: "},
      {R"({"command":"resolve","params":{}})", "missing 'name' parameter"},
      {R"({"command":"show_stats_history"})", "missing params for show_stats_history"},
      {R"({"command":"show_stats_history","params":{}})", "missing 'metric' parameter"},
      {R"({"command":"show_stats_history","params":{"metric":"x"}})", "unknown metric: x"},
      {R"({"command":"show_stats_history","params":{"metric":"srtt_ms"}})", "unknown metric: srtt_ms"},
      {R"({"command":"show_stats_history_all_peers","params":{"metric":"mesh_size"}})",
       "unknown peer metric: mesh_size"},
      {R"({"command":"show_stats_history","params":{"metric":"mesh_size","granularity":"2s"}})",
       "unknown granularity"},
      {R"({"command":"show_stats_history","params":{"metric":"mesh_size","window":""}})", "empty duration"},
      {R"({"command":"show_stats_history","params":{"metric":"mesh_size","window":"-5m"}})",
       "invalid duration: -5m"},
      {R"({"command":"show_stats_history","params":{"metric":"mesh_size","window":"10"}})", ""},
      {R"({"command":"show_stats_history","params":{"metric":"mesh_size","window":"99999999999h"}})",
       "invalid duration: "},
      {R"({"command":"show_stats_history","params":{"metric":"mesh_size","window":"10é"}})",
       "unknown duration unit"},
      {R"({"command":"show_stats_history","params":{"metric":"srtt_ms","peer":"npub1x"}})",
       "invalid peer npub: "},
      {R"({"command":"show_stats_history","params":{"metric":"srtt_ms","peer":")" + other + R"("}})",
       "peer not tracked in stats history: "},
  };
  for (const auto& [line, begins] : rows) {
    const std::string m = message(line);
    EXPECT_TRUE(m.starts_with(begins)) << line << " gave: " << m;
  }
}

TEST_F(Requests, ConnectRefusesWhatCannotCarryALink) {
  const auto connect = [&](const std::string& npub, const std::string& address,
                           const std::string& transport) {
    return message(Json{{"command", "connect"},
                        {"params", {{"npub", npub}, {"address", address}, {"transport", transport}}}}
                       .dump());
  };
  EXPECT_NE(connect(other, "[fd00::1]:2121", "udp"), "");
  EXPECT_NE(connect(side.node.identity().npub(), "192.0.2.9:2121", "udp"), "");
  EXPECT_NE(connect(other, "192.0.2.9:2121", "tcp"), "");
  EXPECT_NE(connect(other, "192.0.2.9", "udp"), "");
  EXPECT_TRUE(side.node.links().dials().empty());
}

TEST_F(Requests, ConnectBeginsAHandshakeAndSaysSo) {
  const Json d =
      side.data(now, "connect", {{"npub", other}, {"address", "192.0.2.9:2121"}, {"transport", "udp"}});
  EXPECT_EQ(
      d, (Json{{"address", "192.0.2.9:2121"}, {"npub", other}, {"refreshed", false}, {"transport", "udp"}}));
  ASSERT_EQ(wire.size(), 1U);
  EXPECT_EQ(wire[0].to.text(), "192.0.2.9:2121");
}

TEST_F(Requests, DisconnectEndsTheLinkAndSaysGoodbye) {
  Pair p;
  p.run(2s);
  ASSERT_EQ(p.a->node.links().peers().size(), 1U);
  const Json d = p.a->data(p.now, "disconnect", {{"npub", p.b->node.identity().npub()}});
  EXPECT_EQ(d["disconnected"], true);
  p.run(1s);
  EXPECT_TRUE(p.a->node.links().peers().empty());
  EXPECT_TRUE(p.b->node.links().peers().empty());
}

TEST_F(Requests, APeerAddedAtRunTimeIsDialledListedAndKept) {
  side.data(now, "peer_add", {{"npub", other}, {"alias", "far"}, {"addresses", {"192.0.2.9:2121"}}});
  EXPECT_NE(side.kept.find(other), std::string::npos);
  EXPECT_EQ(wire.size(), 1U);
  const Json listed = side.data(now, "show_wanted_peers")["peers"];
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["alias"], "far");
  EXPECT_EQ(listed[0]["kept"], true);
  EXPECT_EQ(side.data(now, "resolve", {{"name", "far.fips"}})["npub"], other);
  SeededRng rng(78);
  const std::string third = crypto::Identity::generate(rng).npub();
  EXPECT_NE(message(Json{{"command", "peer_add"}, {"params", {{"npub", third}, {"alias", "far"}}}}.dump())
                .find("is taken"),
            std::string::npos);
  side.data(now, "peer_remove", {{"npub", "far"}});
  EXPECT_TRUE(side.data(now, "show_wanted_peers")["peers"].empty());
  EXPECT_EQ(side.kept.find(other), std::string::npos);
}

TEST_F(Requests, APeerWithABadAddressIsNotAdded) {
  for (const char* address : {"nowhere", "[fd00::1]:2121", "1.2.3.4:99999"})
    EXPECT_NE(
        message(
            Json{{"command", "peer_add"}, {"params", {{"npub", other}, {"addresses", {address}}}}}.dump()),
        "");
  EXPECT_NE(
      message(Json{{"command", "peer_add"}, {"params", {{"npub", other}, {"alias", "no good"}}}}.dump()), "");
  EXPECT_TRUE(side.data(now, "show_wanted_peers")["peers"].empty());
}

TEST_F(Requests, ResolvingByNpubTeachesThePacketPathTheKey) {
  const Json d = side.data(now, "resolve", {{"name", other}});
  const auto key = crypto::parse_npub(other);
  EXPECT_EQ(d["ipv6_addr"], text_of(mesh_addr_of(crypto::node_addr_of(*key))));
  EXPECT_NE(side.node.identities().peek(crypto::node_addr_of(*key)), nullptr);
  EXPECT_EQ(side.data(now, "resolve", {{"name", d["ipv6_addr"]}})["npub"], other);
  EXPECT_NE(message(R"({"command":"resolve","params":{"name":"fd12::1"}})"), "");
  EXPECT_NE(message(R"({"command":"resolve","params":{"name":"2001:db8::1"}})"), "");
}

TEST_F(Requests, AMutationWhileShuttingDownIsRefused) {
  Outbox out;
  side.node.drain(rig::Side::at(now), out);
  EXPECT_EQ(message(R"({"command":"connect","params":{"npub":")" + other +
                    R"(","address":"192.0.2.9:1","transport":"udp"}})"),
            "node shutting down");
  EXPECT_EQ(message(R"({"command":"disconnect","params":{"npub":")" + other + R"("}})"),
            "node shutting down");
  EXPECT_EQ(side.data(now, "show_status")["state"], "draining");
}

TEST_F(Requests, JunkIsRefusedWithOneLine) {
  EXPECT_EQ(message(std::string(4096, 'a')), "read error: request too large");
  EXPECT_TRUE(message("\xff\xfe{}").starts_with("read error: "));
  EXPECT_TRUE(message(std::string("\0\0\0", 3)).starts_with("invalid request: "));
  EXPECT_TRUE(message(std::string(4000, '[')).starts_with("invalid request: "));
  EXPECT_TRUE(message(R"({"command":"show_status","params":)" + std::string(30, '{'))
                  .starts_with("invalid request: "));
  std::string nested =
      R"({"command":"show_status","x":)" + std::string(500, '[') + std::string(500, ']') + "}";
  EXPECT_TRUE(message(nested).starts_with("invalid request: "));
}

TEST_F(Requests, UnknownMembersAndALineEndAreIgnored) {
  EXPECT_EQ(side.ask(now, "{\"command\":\"show_status\",\"id\":1,\"params\":{\"x\":[[]]}}\r\n")["status"],
            "ok");
}

TEST_F(Requests, AWindowOfNothingIsAnEmptySeries) {
  EXPECT_TRUE(
      side.data(now, "show_stats_history", {{"metric", "mesh_size"}, {"window", "0s"}})["values"].empty());
}

TEST_F(Requests, FiveHundredEntriesAreAnsweredFast) {
  SeededRng rng(3);
  for (int i = 0; i < 500; ++i) side.node.learn(rig::Side::at(now), crypto::Identity::generate(rng).key());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(side.data(now, "show_identity_cache")["entries"].size(), 500U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));  // with sanitizers
  EXPECT_EQ(side.data(now, "show_identity_cache", {{"limit", 10}})["entries"].size(), 10U);
}

}  // namespace
}  // namespace weft::control
