#include "config/load.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/validate.h"

namespace weft::config {
namespace {

const std::string kNpubA = "npub1" + std::string(58, 'q');
const std::string kNpubB = "npub1" + std::string(58, 'p');

Loaded load_one(const std::string& text) {
  const Source s{"weft.yaml", text};
  return load(std::span(&s, 1));
}
Loaded load_two(const std::string& low, const std::string& high) {
  const Source s[] = {{"low.yaml", low}, {"high.yaml", high}};
  return load(s);
}
const Complaint* about(const Complaints& all, std::string_view key) {
  for (const auto& c : all)
    if (c.key == key) return &c;
  return nullptr;
}

TEST(Load, FirewallOpeningsAreWordsOrMappingsAndKnowTheirLines) {
  const auto l = load_one(
      "weft:\n  firewall:\n    allow:\n      - tcp/22\n      - { port: udp/5000-5010, from: [box, far] }\n"
      "      - port: tcp/80\n        from: fd00::1\n");
  ASSERT_TRUE(l.ok()) << text_of(l.complaints);
  const auto& allow = l.config.weft.firewall.allow;
  ASSERT_EQ(allow.size(), 3U);
  EXPECT_EQ(allow[0].port, "tcp/22");
  EXPECT_TRUE(allow[0].from.empty());
  EXPECT_EQ(allow[1].from, (std::vector<std::string>{"box", "far"}));
  EXPECT_EQ(allow[2].from, std::vector<std::string>{"fd00::1"});
  EXPECT_EQ(l.places.find("weft.firewall.allow[2]").line, 6U);
}

TEST(Load, NoFileGivesWeftsDefaultsWithTheFirewallOn) {
  const Loaded l = load({});
  EXPECT_TRUE(l.complaints.empty()) << text_of(l.complaints);
  EXPECT_TRUE(l.config.tun.enabled);
  EXPECT_TRUE(l.config.dns.enabled);
  EXPECT_TRUE(l.config.node.identity.persistent);
  ASSERT_EQ(l.config.transports.udp.size(), 2U);
  EXPECT_EQ(l.config.transports.udp[0].config.bind_addr, "0.0.0.0:2121");
  EXPECT_EQ(l.config.transports.udp[1].config.bind_addr, "[::]:2121");
  EXPECT_EQ(l.config.transports.udp[1].config.mtu, 1280);
  EXPECT_TRUE(firewall_on(l.config));
  EXPECT_DOUBLE_EQ(established_rate(l.config), 6.4);
  EXPECT_EQ(established_burst(l.config), 128U);
}

TEST(Load, AnEmptyFileIsAllDefaultsButLeavesTheFirewallOff) {
  for (const auto* text : {"", "\n", "# nothing\n", "---\n", "\xEF\xBB\xBF"}) {
    const Loaded l = load_one(text);
    EXPECT_TRUE(l.complaints.empty()) << text_of(l.complaints);
    EXPECT_FALSE(firewall_on(l.config));
    EXPECT_EQ(l.config.tun.name, "weft0");
  }
}

TEST(Load, AWeftSectionTurnsTheFirewallOnAndCanTurnItOff) {
  EXPECT_TRUE(firewall_on(load_one("weft: {}\n").config));
  EXPECT_TRUE(firewall_on(load_one("weft:\n").config));
  EXPECT_FALSE(firewall_on(load_one("weft: { firewall: { enabled: false } }\n").config));
}

TEST(Load, TheShippedExampleLoadsWithoutAComplaint) {
  std::ifstream in(WEFT_SOURCE_DIR "/config/example.yaml");
  ASSERT_TRUE(in);
  std::stringstream text;
  text << in.rdbuf();
  const Loaded l = load_one(text.str());
  EXPECT_TRUE(l.complaints.empty()) << text_of(l.complaints);
  EXPECT_TRUE(firewall_on(l.config));
  EXPECT_EQ(l.config.transports.udp.size(), 2U);
}

TEST(Load, TheReferencesMinimalFileLoads) {
  const Loaded l = load_one(
      "node:\n  identity: { persistent: true }\ntun: { enabled: true }\ntransports:\n"
      "  udp: { bind_addr: \"0.0.0.0:2121\" }\npeers:\n  - npub: " +
      kNpubA +
      "\n    alias: relay-a\n    addresses:\n      - { transport: udp, addr: \"192.0.2.10:2121\" }\n");
  EXPECT_TRUE(l.complaints.empty()) << text_of(l.complaints);
  ASSERT_EQ(l.config.peers.size(), 1U);
  EXPECT_EQ(l.config.peers[0].alias, "relay-a");
  EXPECT_EQ(l.config.peers[0].addresses[0].priority, 100);
  ASSERT_EQ(l.config.transports.udp.size(), 1U);
  EXPECT_FALSE(l.config.transports.udp[0].name);
}

TEST(Load, ReadsEverySortOfValue) {
  const Loaded l = load_one(
      "node:\n  leaf_only: yes\n  rate_limit: { handshake_rate: 2.5, established_handshake_rate: 3 }\n"
      "  lookup: { ttl: 0x20, attempt_timeouts_secs: [1, 0x2] }\n"
      "  rendezvous: { nostr: { policy: open, dm_relays: [] } }\n  mmp: { mode: minimal }\n"
      "dns: { port: 0x14ea }\ntransports:\n  ethernet: { interface: eth0, ethertype: 0x2121, mtu: 1400 }\n  "
      "udp: {}\n");
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  EXPECT_TRUE(l.config.node.leaf_only);
  EXPECT_DOUBLE_EQ(l.config.node.rate_limit.handshake_rate, 2.5);
  EXPECT_DOUBLE_EQ(*l.config.node.rate_limit.established_handshake_rate, 3.0);
  EXPECT_EQ(l.config.node.lookup.ttl, 32);
  EXPECT_EQ(l.config.node.lookup.attempt_timeouts_secs, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(l.config.node.rendezvous.nostr.policy, NostrPolicy::open);
  EXPECT_TRUE(l.config.node.rendezvous.nostr.dm_relays.empty());
  EXPECT_EQ(l.config.node.mmp.mode, MmpMode::minimal);
  EXPECT_EQ(l.config.dns.port, 5354);
  EXPECT_EQ(l.config.transports.ethernet[0].config.mtu, 1400);
}

TEST(Load, LaterFilesWinKeyByKey) {
  const Loaded l = load_two(
      "node:\n  limits: { max_peers: 5, max_links: 6 }\n  lookup: { attempt_timeouts_secs: [1, 2, 3] }\ntun: "
      "{ enabled: true }\n",
      "node:\n  limits: { max_peers: 7 }\n  lookup: { attempt_timeouts_secs: [9] }\ntun: { enabled: false "
      "}\ndns:\n");
  EXPECT_TRUE(l.complaints.empty()) << text_of(l.complaints);
  EXPECT_EQ(l.config.node.limits.max_peers, 7U);
  EXPECT_EQ(l.config.node.limits.max_links, 6U);
  EXPECT_EQ(l.config.node.lookup.attempt_timeouts_secs, std::vector<std::uint64_t>{9});
  EXPECT_FALSE(l.config.tun.enabled);
  EXPECT_EQ(l.places.find("node.limits.max_peers").file, "high.yaml");
  EXPECT_EQ(l.places.find("node.limits.max_links").file, "low.yaml");
}

TEST(Load, ATransportThatChangesItsFormIsReplacedNotMixed) {
  const Loaded l = load_two("transports: { udp: { bind_addr: \"0.0.0.0:1\" } }\n",
                            "transports: { udp: { lan: { bind_addr: \"0.0.0.0:2\" } } }\n");
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  ASSERT_EQ(l.config.transports.udp.size(), 1U);
  EXPECT_EQ(l.config.transports.udp[0].name, "lan");
}

TEST(Load, OldNamesAreReadWithOneWarningAndWinOverNewOnes) {
  const Loaded l = load_one(
      "node:\n  discovery:\n    ttl: 9\n    lan: { enabled: true }\n    nostr: { app: mine }\n  lookup: { "
      "ttl: 8, recent_expiry_secs: 3 }\n"
      "transports:\n  udp: {}\n  ethernet: { interface: eth0, discovery: false }\n");
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  EXPECT_EQ(l.config.node.lookup.ttl, 9);
  EXPECT_EQ(l.config.node.lookup.recent_expiry_secs, 3U);
  EXPECT_TRUE(l.config.node.rendezvous.lan.enabled);
  EXPECT_EQ(l.config.node.rendezvous.nostr.app, "mine");
  EXPECT_FALSE(l.config.transports.ethernet[0].config.listen);
  std::size_t about_discovery = 0;
  for (const auto& c : l.complaints) about_discovery += c.key == "node.discovery" ? 1U : 0U;
  EXPECT_EQ(about_discovery, 1U);
}

TEST(Load, NodeDataplaneIsAnotherNameOfWeftDataplane) {
  EXPECT_EQ(load_one("node: { dataplane: { encrypt_workers: 3 } }\n").config.weft.dataplane.encrypt_workers,
            3U);
  const Loaded both =
      load_one("node: { dataplane: { encrypt_workers: 3 } }\nweft: { dataplane: { encrypt_workers: 4 } }\n");
  EXPECT_EQ(both.config.weft.dataplane.encrypt_workers, 4U);
  EXPECT_FALSE(firewall_on(load_one("node: { dataplane: { encrypt_workers: 3 } }\n").config))
      << "only a weft section that was written says that the file is ours";
}

TEST(Load, UnknownKeysWarnWhereTheReferencePassesThemOver) {
  const Loaded l = load_one(
      "nodes: {}\nnode:\n  limits:\n    max_peer: 5\n  max_links: 3\ntun: { mtus: 1 }\ntransports: { udpp: "
      "{}, udp: {} }\n");
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  ASSERT_NE(about(l.complaints, "node.limits.max_peer"), nullptr);
  EXPECT_EQ(about(l.complaints, "node.limits.max_peer")->nearest, "max_peers");
  EXPECT_EQ(about(l.complaints, "node.limits.max_peer")->place.line, 4U);
  EXPECT_EQ(about(l.complaints, "nodes")->nearest, "node");
  EXPECT_EQ(about(l.complaints, "node.max_links")->nearest, "node.limits.max_links");
  EXPECT_EQ(about(l.complaints, "tun.mtus")->nearest, "mtu");
  EXPECT_EQ(about(l.complaints, "transports.udpp")->nearest, "udp");
}

TEST(Load, UnknownKeysAreErrorsWhereTheReferenceRejectsThem) {
  const std::string peer = "peers:\n  - npub: " + kNpubA + "\n";
  for (const std::string& text : {
           std::string("transports: { udp: { bind_adr: x } }\n"),
           std::string("transports: { udp: { lan: { bind_adr: x } } }\n"),
           std::string("transports: { tor: { directory_service: { hostname: x } } }\n"),
           std::string("node: { rendezvous: { nostr: { enable: true } } }\n"),
           peer + "    alais: x\n    addresses: [{ transport: udp, addr: \"192.0.2.1:1\" }]\n",
           peer + "    addresses: [{ transport: udp, addr: \"192.0.2.1:1\", prio: 3 }]\n",
           std::string("weft: { firewal: { enabled: true } }\n"),
           std::string("weft: { firewall: { enabld: true } }\n"),
       })
    EXPECT_FALSE(load_one(text).ok()) << text;
  const auto l = load_one("transports:\n  udp:\n    mtu: 1280\n    bind_adr: \"0.0.0.0:1\"\n");
  ASSERT_NE(about(l.complaints, "transports.udp.bind_adr"), nullptr);
  EXPECT_EQ(about(l.complaints, "transports.udp.bind_adr")->text(),
            "weft.yaml:4: error: transports.udp.bind_adr: unknown key; did you mean bind_addr?");
}

TEST(Load, TellsSingleFromNamedInstances) {
  const auto named = load_one("transports:\n  udp:\n    a: { mtu: 1300 }\n    b: {}\n");
  ASSERT_EQ(named.config.transports.udp.size(), 2U);
  EXPECT_EQ(named.config.transports.udp[0].name, "a");
  EXPECT_EQ(named.config.transports.udp[0].config.mtu, 1300);
  const auto empty = load_one("transports: { udp: {} }\n");
  ASSERT_EQ(empty.config.transports.udp.size(), 1U);
  EXPECT_FALSE(empty.config.transports.udp[0].name);
  const auto tor =
      load_one("transports: { udp: {}, tor: { directory_service: { bind_addr: \"127.0.0.1:1\" } } }\n");
  EXPECT_TRUE(tor.ok()) << text_of(tor.complaints);
  ASSERT_EQ(tor.config.transports.tor.size(), 1U);
  EXPECT_FALSE(tor.config.transports.tor[0].name);
  const auto odd = load_one("transports: { udp: { mtu: { bind_addr: \"0.0.0.0:9\" } } }\n");
  ASSERT_EQ(odd.config.transports.udp.size(), 1U)
      << "a mapping under a key that takes none can only be a name";
  EXPECT_EQ(odd.config.transports.udp[0].name, "mtu");
}

TEST(Load, TransportsWeDoNotHaveParseAndWarnOnce) {
  const auto l = load_one(
      "transports:\n  udp: {}\n  tcp: { bind_addr: \"0.0.0.0:8443\" }\n  nym: {}\n  ble: { psm: 0x85 }\n"
      "  ethernet: { lan0: { interface: eth0, announce: true }, lan1: { interface: eth1 } }\n");
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  EXPECT_EQ(l.complaints.size(), 4U) << text_of(l.complaints);
  EXPECT_EQ(l.config.transports.tcp[0].config.bind_addr, "0.0.0.0:8443");
  EXPECT_EQ(l.config.transports.ethernet[1].config.interface, "eth1");
}

TEST(Load, ComplainsAboutEverythingAtOnceWithFileLineAndKey) {
  const auto l = load_one("dns:\n  port: 70000\ntun:\n  mtu: lots\npeers:\n  - npub: " + kNpubA +
                          "\n    addresses:\n      - { transport: udp, addr: \"192.0.2.1:1\", priority: 300 "
                          "}\nnode:\n  leaf_only: 3\n"
                          "  log_level: [info]\n  mmp: { mode: Full }\n");
  const std::pair<const char*, unsigned> wanted[] = {
      {"dns.port", 2},        {"tun.mtu", 4},         {"peers[0].addresses[0].priority", 8},
      {"node.leaf_only", 10}, {"node.log_level", 11}, {"node.mmp.mode", 12}};
  EXPECT_EQ(l.complaints.size(), std::size(wanted)) << text_of(l.complaints);
  for (const auto& [key, line] : wanted) {
    const auto* c = about(l.complaints, key);
    ASSERT_NE(c, nullptr) << key;
    EXPECT_EQ(c->severity, Severity::error);
    EXPECT_EQ(c->place.line, line) << key;
    EXPECT_FALSE(c->allowed.empty()) << key;
  }
  EXPECT_EQ(about(l.complaints, "dns.port")->allowed, "a whole number, 0 to 65535");
  EXPECT_EQ(about(l.complaints, "node.mmp.mode")->nearest, "full");
}

TEST(Load, NumbersThatDoNotFitAreRefused) {
  for (const auto* v :
       {"-1", "65536", "99999999999999999999", "1.5", "\"53\"", "0x", "1e3", "0x10000", "ten"})
    EXPECT_FALSE(load_one(std::string("dns: { port: ") + v + " }\n").ok()) << v;
  for (const auto* v : {"0", "+53", "0x35", "0o65", "65535"})
    EXPECT_TRUE(load_one(std::string("dns: { port: ") + v + " }\n").ok()) << v;
}

TEST(Load, NeverShowsASecret) {
  const std::string nsec = "nsec1" + std::string(58, 'z');
  const auto l =
      load_one("node:\n  identity:\n    nsec: [" + nsec + "]\n    nsecs: " + nsec + "\ntun: { mtu: " + nsec +
               " }\ntransports: { udp: {}, tor: { control_auth: [\"password:hush\"] } }\n");
  EXPECT_FALSE(l.ok());
  EXPECT_EQ(text_of(l.complaints).find("zzzz"), std::string::npos);
  EXPECT_EQ(text_of(l.complaints).find("hush"), std::string::npos);
}

TEST(Load, TheDocumentAndItsSectionsMustBeMappings) {
  for (const auto* text :
       {"[1, 2]\n", "hello\n", "node: 3\n", "transports: [udp]\n", "transports: { udp: 3 }\n", "peers: {}\n",
        "peers: [3]\n", "gateway: []\n", "node: { limits: [] }\n"})
    EXPECT_FALSE(load_one(text).ok()) << text;
}

TEST(Load, AGatewayNeedsItsPoolAndInterface) {
  EXPECT_FALSE(load_one("gateway: { enabled: true }\n").ok());
  const auto l = load_one(
      "gateway:\n  pool: fd01::/112\n  lan_interface: eth1\n  dns: { ttl: 30 }\n  conntrack: { udp_timeout: "
      "5 }\n"
      "  port_forwards:\n    - { listen_port: 80, proto: tcp, target: \"[fd01::1]:8080\" }\n");
  EXPECT_TRUE(l.complaints.empty()) << text_of(l.complaints);
  ASSERT_TRUE(l.config.gateway);
  EXPECT_EQ(l.config.gateway->dns_ttl, 30U);
  EXPECT_EQ(l.config.gateway->udp_timeout, 5U);
  EXPECT_EQ(l.config.gateway->port_forwards[0].listen_port, 80);
}

TEST(Peers, TheFileOfAddedPeersReadsBackAsItWasWritten) {
  std::vector<Peer> peers(2);
  peers[0].npub = kNpubA;
  peers[0].alias = "we: \"ird\" \\ # name";
  peers[0].addresses = {{"udp/lan", "192.0.2.1:2121", 7}, {"ethernet", "eth0/aa:bb:cc:dd:ee:ff", 100}};
  peers[0].connect_policy = ConnectPolicy::manual;
  peers[0].auto_reconnect = false;
  peers[1].npub = kNpubB;
  peers[1].via_nostr = true;
  const auto back = load_peers({"peers.yaml", peers_text(peers)});
  EXPECT_TRUE(back.complaints.empty()) << text_of(back.complaints);
  ASSERT_EQ(back.peers.size(), 2U);
  EXPECT_EQ(back.peers[0].alias, peers[0].alias);
  EXPECT_EQ(back.peers[0].addresses[0].transport, "udp/lan");
  EXPECT_EQ(back.peers[0].addresses[0].priority, 7);
  EXPECT_EQ(back.peers[0].connect_policy, ConnectPolicy::manual);
  EXPECT_FALSE(back.peers[0].auto_reconnect);
  EXPECT_TRUE(back.peers[1].via_nostr);
  EXPECT_EQ(peers_text(back.peers), peers_text(peers));
  EXPECT_TRUE(load_peers({"peers.yaml", peers_text({})}).peers.empty());
}

TEST(Peers, AddedPeersBringOnlyWhatIsNew) {
  Config c;
  c.peers = {{kNpubA, "mine", {{"udp", "192.0.2.1:1", 5}}, ConnectPolicy::manual, true, false}};
  std::vector<Peer> more = {
      {kNpubA, "other", {{"udp", "192.0.2.1:1", 9}, {"udp", "192.0.2.2:1", 9}}, {}, true, false},
      {kNpubB, {}, {{"udp", "192.0.2.3:1", 1}}, {}, true, false}};
  add_peers(c, more);
  ASSERT_EQ(c.peers.size(), 2U);
  EXPECT_EQ(c.peers[0].alias, "mine");
  ASSERT_EQ(c.peers[0].addresses.size(), 2U);
  EXPECT_EQ(c.peers[0].addresses[0].priority, 5);
}

TEST(SearchPath, GoesFromTheSystemOverTheUserToHere) {
  EXPECT_EQ(
      search_path({"/home/u", {}, "/srv"}),
      (std::vector<std::string>{"/etc/weft/weft.yaml", "/home/u/.config/weft/weft.yaml", "/srv/weft.yaml"}));
  EXPECT_EQ(search_path({"/home/u", "/x", "/srv"})[1], "/x/weft/weft.yaml");
  EXPECT_EQ(search_path({"/home/u", "relative", "/srv"})[1], "/home/u/.config/weft/weft.yaml");
  EXPECT_EQ(search_path({{}, {}, "/etc/weft"}), std::vector<std::string>{"/etc/weft/weft.yaml"})
      << "each file once";
}

TEST(Environment, OursWinsOverTheReferencesOverTheFile) {
  Config c = load_one("weft: { dataplane: { encrypt_workers: 1, decrypt_workers: 1 } }\n").config;
  const std::map<std::string, std::string> env = {{"WEFT_ENCRYPT_WORKERS", "3"},
                                                  {"FIPS_ENCRYPT_WORKERS", "4"},
                                                  {"FIPS_DECRYPT_WORKERS", "0"},
                                                  {"FIPS_CONNECTED_UDP", "off"},
                                                  {"WEFT_OFFLOAD", "0"},
                                                  {"WEFT_PERF", "1"},
                                                  {"RUST_LOG", "warn,fips=debug,tokio=trace"}};
  const auto complaints = apply_environment(c, [&](const std::string& name) -> std::optional<std::string> {
    const auto it = env.find(name);
    return it == env.end() ? std::nullopt : std::optional(it->second);
  });
  EXPECT_TRUE(complaints.empty()) << text_of(complaints);
  EXPECT_EQ(c.weft.dataplane.encrypt_workers, 3U);
  EXPECT_EQ(c.weft.dataplane.decrypt_workers, 0U);
  EXPECT_FALSE(c.weft.dataplane.connected_udp);
  EXPECT_FALSE(c.weft.dataplane.offload);
  EXPECT_TRUE(c.weft.dataplane.perf);
  EXPECT_EQ(level_of(c.node.log_level), Level::debug);
}

TEST(Environment, WhatDoesNotParseIsIgnoredWithAWarning) {
  Config c;
  const auto complaints = apply_environment(c, [](const std::string& name) -> std::optional<std::string> {
    if (name == "FIPS_DECRYPT_WORKERS") return "abc";
    if (name == "WEFT_ENCRYPT_WORKERS") return "0";
    if (name == "FIPS_ENCRYPT_WORKERS") return "2";
    if (name == "WEFT_LOG") return "loud";
    return std::nullopt;
  });
  EXPECT_EQ(complaints.size(), 3U) << text_of(complaints);
  EXPECT_FALSE(has_errors(complaints));
  EXPECT_FALSE(c.weft.dataplane.decrypt_workers);
  EXPECT_EQ(c.weft.dataplane.encrypt_workers, 2U) << "the reference's name still counts when ours is useless";
  EXPECT_EQ(c.node.log_level, "info");
}

}  // namespace
}  // namespace weft::config
