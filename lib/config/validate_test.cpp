#include "config/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace weft::config {
namespace {

const std::string kNpubA = "npub1" + std::string(58, 'q');
const std::string kNpubB = "npub1" + std::string(58, 'p');

Loaded load_one(const std::string& text) {
  const Source s{"weft.yaml", text};
  return load(std::span(&s, 1));
}
std::string peer(const std::string& npub, const std::string& rest) {
  return "  - npub: " + npub + "\n" + rest;
}
std::string at(const std::string& transport, const std::string& addr) {
  return "    addresses: [{ transport: \"" + transport + "\", addr: \"" + addr + "\" }]\n";
}
/// The keys with errors, in order.
std::vector<std::string> errors(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& c : load_one(text).complaints)
    if (c.severity == Severity::error) out.push_back(c.key);
  return out;
}
using Keys = std::vector<std::string>;

TEST(Validate, AdvertisingNeedsNostr) {  // refusal 1
  EXPECT_EQ(errors("transports: { udp: { advertise_on_nostr: true } }\n"),
            Keys{"transports.udp.advertise_on_nostr"});
  EXPECT_EQ(errors("transports: { tcp: { advertise_on_nostr: true } }\n"),
            Keys{"transports.tcp.advertise_on_nostr"});
  EXPECT_EQ(errors("transports: { tor: { advertise_on_nostr: true } }\n"),
            Keys{"transports.tor.advertise_on_nostr"});
  EXPECT_TRUE(errors("transports: { udp: { advertise_on_nostr: true, outbound_only: true } }\n").empty())
      << "outbound_only turns advertising off";
}

TEST(Validate, ViaNostrNeedsNostr) {  // refusal 2
  EXPECT_EQ(errors("peers:\n" + peer(kNpubA, "    via_nostr: true\n")), Keys{"peers[0].via_nostr"});
  EXPECT_TRUE(errors("node: { rendezvous: { nostr: { enabled: true } } }\npeers:\n" +
                     peer(kNpubA, "    via_nostr: true\n"))
                  .empty());
}

TEST(Validate, APeerNeedsAnAddress) {  // refusal 3
  EXPECT_EQ(errors("peers:\n" + peer(kNpubA, "")), Keys{"peers[0]"});
  EXPECT_EQ(errors("peers:\n" + peer(kNpubA, "    addresses: []\n")), Keys{"peers[0]"});
}

TEST(Validate, AdvertisingBehindNatNeedsRelaysAndStun) {  // refusal 4
  const std::string nostr =
      "node: { rendezvous: { nostr: { enabled: true, dm_relays: [], stun_servers: [] } } }\n";
  EXPECT_EQ(errors(nostr + "transports: { udp: { advertise_on_nostr: true } }\n"),
            (Keys{"node.rendezvous.nostr.dm_relays", "node.rendezvous.nostr.stun_servers"}));
  EXPECT_TRUE(errors(nostr + "transports: { udp: { advertise_on_nostr: true, public: true } }\n").empty());
}

TEST(Validate, ALoopbackSocketCannotReachPeersElsewhere) {  // refusal 5
  const std::string far = "peers:\n" + peer(kNpubA, at("udp", "192.0.2.1:1"));
  const std::string near = "peers:\n" + peer(kNpubA, at("udp", "127.0.0.1:1"));
  for (const std::string bind : {"127.0.0.1:2121", "[::1]:2121", "127.9.9.9:1", "localhost:2121"})
    EXPECT_EQ(errors("transports: { udp: { bind_addr: \"" + bind + "\" } }\n" + far),
              Keys{"transports.udp.bind_addr"})
        << bind;
  EXPECT_TRUE(errors("transports: { udp: { bind_addr: \"127.0.0.1:1\" } }\n" + near).empty());
  EXPECT_TRUE(
      errors("transports: { udp: { bind_addr: \"127.0.0.1:1\", outbound_only: true } }\n" + far).empty());
  EXPECT_TRUE(errors("transports: { udp: { lan: { bind_addr: \"127.0.0.1:1\" } } }\npeers:\n" +
                     peer(kNpubA, at("udp/lan", "192.0.2.1:1")))
                  .empty())
      << "only addresses whose transport is exactly udp count";
}

TEST(Validate, AnInstanceNameMustExistAndOnlyUdpHasThem) {  // refusal 6
  const std::string named = "transports: { udp: { lan: {}, wan: {} } }\n";
  EXPECT_TRUE(errors(named + "peers:\n" + peer(kNpubA, at("udp/lan", "192.0.2.1:1"))).empty());
  EXPECT_EQ(errors(named + "peers:\n" + peer(kNpubA, at("udp/lam", "192.0.2.1:1"))),
            Keys{"peers[0].addresses[0].transport"});
  EXPECT_EQ(errors("transports: { udp: {} }\npeers:\n" + peer(kNpubA, at("udp/lan", "192.0.2.1:1"))),
            Keys{"peers[0].addresses[0].transport"});
  EXPECT_EQ(errors(named + "peers:\n" + peer(kNpubA, at("tcp/lan", "192.0.2.1:1"))),
            Keys{"peers[0].addresses[0].transport"});
}

TEST(Validate, RekeyTriggersMustNotFireAtOnce) {  // refusal 7
  EXPECT_EQ(errors("node: { rekey: { enabled: false, after_messages: 0 } }\n"),
            Keys{"node.rekey.after_messages"});
  EXPECT_EQ(errors("node: { rekey: { after_secs: 15 } }\n"), Keys{"node.rekey.after_secs"});
  EXPECT_TRUE(errors("node: { rekey: { after_secs: 16, after_messages: 18446744073709551615 } }\n").empty());
}

TEST(Validate, BucketsMustHoldAndRefill) {  // refusals 8 and 9
  EXPECT_EQ(errors("node: { rate_limit: { established_handshake_burst: 0 } }\n"),
            Keys{"node.rate_limit.established_handshake_burst"});
  EXPECT_EQ(errors("node: { rate_limit: { session_setup_burst: 0 } }\n"),
            Keys{"node.rate_limit.session_setup_burst"});
  for (const std::string v : {"0", "-1.5", ".inf", ".nan"}) {
    EXPECT_EQ(errors("node: { rate_limit: { established_handshake_rate: " + v + " } }\n"),
              Keys{"node.rate_limit.established_handshake_rate"})
        << v;
    EXPECT_EQ(errors("node: { rate_limit: { session_setup_rate: " + v + " } }\n"),
              Keys{"node.rate_limit.session_setup_rate"})
        << v;
  }
}

TEST(Validate, TraversalMessagesMustNotOutliveTheirMemory) {  // refusals 10 and 11
  const auto nostr = [](const std::string& s) {
    return errors("node: { rendezvous: { nostr: { " + s + " } } }\n");
  };
  EXPECT_EQ(nostr("signal_ttl_secs: 180"), Keys{"node.rendezvous.nostr.signal_ttl_secs"});
  EXPECT_TRUE(nostr("signal_ttl_secs: 179").empty());
  EXPECT_EQ(nostr("signal_ttl_secs: 18446744073709551615"), Keys{"node.rendezvous.nostr.signal_ttl_secs"});
  EXPECT_EQ(nostr("max_concurrent_offers_per_npub: 0"),
            Keys{"node.rendezvous.nostr.max_concurrent_offers_per_npub"});
  EXPECT_EQ(nostr("max_concurrent_offers_per_npub: 18446744073709551615"),
            Keys{"node.rendezvous.nostr.max_concurrent_offers_per_npub"});
}

TEST(Validate, NativeApiQueuesMustHoldSomethingSendable) {  // refusal 12
  EXPECT_EQ(errors("node: { native_api: { backlog: 0 } }\n"), Keys{"node.native_api.backlog"});
  EXPECT_EQ(errors("node: { native_api: { pending_per_flow: 0 } }\n"),
            Keys{"node.native_api.pending_per_flow"});
  EXPECT_EQ(errors("node: { native_api: { pending_per_flow: 65 } }\n"),
            Keys{"node.native_api.pending_per_flow"});
}

TEST(Validate, ValuesThatMakeNoSenseAreRefusedToo) {
  const std::pair<const char*, const char*> cases[] = {
      {"tun: { mtu: 1279 }\n", "tun.mtu"},
      {"tun: { name: sixteen-letters-x }\n", "tun.name"},
      {"tun: { name: \"a/b\" }\n", "tun.name"},
      {"transports: { udp: { mtu: 255 } }\n", "transports.udp.mtu"},
      {"node: { tick_interval_secs: 0 }\n", "node.tick_interval_secs"},
      {"node: { tree: { parent_hysteresis: 1.5 } }\n", "node.tree.parent_hysteresis"},
      {"node: { bloom: { max_inbound_fpr: 0 } }\n", "node.bloom.max_inbound_fpr"},
      {"node: { bloom: { max_inbound_fpr: 1.0 } }\n", "node.bloom.max_inbound_fpr"},
      {"node: { ecn: { loss_threshold: -0.1 } }\n", "node.ecn.loss_threshold"},
      {"node: { rate_limit: { handshake_resend_backoff: 0.5 } }\n",
       "node.rate_limit.handshake_resend_backoff"},
      {"node: { lookup: { attempt_timeouts_secs: [] } }\n", "node.lookup.attempt_timeouts_secs"},
      {"weft: { firewall: { allow: [ssh] } }\n", "weft.firewall.allow[0]"},
      {"weft: { firewall: { allow: [tcp/22, tcp/0] } }\n", "weft.firewall.allow[1]"},
      {"weft: { firewall: { allow: [{ port: tcp/1-0 }] } }\n", "weft.firewall.allow[0].port"},
      {"weft: { firewall: { allow: [{ from: box }] } }\n", "weft.firewall.allow[0].port"},
      {"weft: { firewall: { allow: [{ port: tcp/1, from: [] }] } }\n", "weft.firewall.allow[0].from"},
      {"weft: { firewall: { allow: [{ port: tcp/1, from: '2001:db8::1' }] } }\n", "weft.firewall.allow[0].from"},
      {"weft: { firewall: { allow: tcp/1 } }\n", "weft.firewall.allow"},
      {"weft: { names: { resolver: bind } }\n", "weft.names.resolver"},
  };
  for (const auto& [text, key] : cases) EXPECT_EQ(errors(text), Keys{key}) << text;
}

TEST(Validate, OneBadPeerIsSkippedAndTheOthersStay) {
  const auto l = load_one("peers:\n" + peer("npub1short", at("udp", "192.0.2.1:1")) +
                          peer(std::string(64, 'a'), at("udp", "192.0.2.1:1")) +
                          peer(kNpubA, at("udp", "192.0.2.1")) + peer(kNpubB, at("udp", "192.0.2.1:1")));
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  ASSERT_EQ(l.config.peers.size(), 1U);
  EXPECT_EQ(l.config.peers[0].npub, kNpubB);
  ASSERT_GE(l.complaints.size(), 3U);
  EXPECT_EQ(l.complaints[0].place.line, 2U);
  EXPECT_EQ(l.complaints[0].key, "peers[0].npub");
}

TEST(Validate, AnInjectedCheckDecidesAboutNpubs) {
  const Source s{"weft.yaml", "peers:\n" + peer(kNpubA, at("udp", "192.0.2.1:1"))};
  EXPECT_TRUE(load(std::span(&s, 1), [](std::string_view) { return false; }).config.peers.empty());
}

TEST(Validate, ABadAddressGoesButAnotherKeepsThePeer) {
  const auto l = load_one("peers:\n" + peer(kNpubA,
                                            "    addresses:\n      - { transport: pigeon, addr: x }\n"
                                            "      - { transport: ethernet, addr: \"eth0/aa:bb\" }\n"
                                            "      - { transport: udp, addr: \"host.example:2121\" }\n"));
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  ASSERT_EQ(l.config.peers.size(), 1U);
  ASSERT_EQ(l.config.peers[0].addresses.size(), 1U);
  EXPECT_EQ(l.config.peers[0].addresses[0].addr, "host.example:2121");
  EXPECT_EQ(l.complaints[0].key, "peers[0].addresses[0].transport");
  EXPECT_EQ(l.complaints[1].key, "peers[0].addresses[1].addr");
}

TEST(Validate, AddressesOfEveryTransportAreKnown) {
  for (const auto& [transport, addr] :
       {std::pair("udp", "[2001:db8::1]:2121"), std::pair("tcp", "h.example:443"),
        std::pair("tor", "abc.onion:443"), std::pair("ethernet", "eth0/aa:bb:cc:dd:ee:ff"),
        std::pair("ble", "hci0/AA:BB:CC:DD:EE:FF"), std::pair("nym", "h.example:1")}) {
    const auto l = load_one("peers:\n" + peer(kNpubA, at(transport, addr)));
    EXPECT_EQ(l.config.peers.size(), 1U) << transport << text_of(l.complaints);
  }
}

TEST(Validate, APeerListedTwiceIsOnePeerWithAllAddresses) {
  const auto l =
      load_one("peers:\n" + peer(kNpubA, at("udp", "192.0.2.1:1")) + peer(kNpubA, at("udp", "192.0.2.2:1")));
  EXPECT_TRUE(l.ok());
  EXPECT_EQ(l.complaints.size(), 1U);
  ASSERT_EQ(l.config.peers.size(), 1U);
  EXPECT_EQ(l.config.peers[0].addresses.size(), 2U);
}

TEST(Validate, AMeshAddressWherePeersHaveANetworkAddressIsAsked) {
  const auto l = load_one("peers:\n" + peer(kNpubA, at("udp", "[fd12::1]:2121")));
  EXPECT_TRUE(l.ok());
  EXPECT_EQ(l.complaints.size(), 1U);
}

TEST(Validate, OurOwnKeyIsNoPeer) {
  auto l =
      load_one("peers:\n" + peer(kNpubA, at("udp", "192.0.2.1:1")) + peer(kNpubB, at("udp", "192.0.2.1:1")));
  EXPECT_EQ(drop_self(l.config, kNpubA).size(), 1U);
  ASSERT_EQ(l.config.peers.size(), 1U);
  EXPECT_EQ(l.config.peers[0].npub, kNpubB);
}

TEST(Validate, PortForwardsAreUniqueAndLeadSomewhere) {
  const std::string g = "gateway:\n  pool: fd01::/112\n  lan_interface: e\n  port_forwards:\n";
  EXPECT_EQ(errors(g + "    - { listen_port: 80, proto: tcp, target: \"[fd01::1]:1\" }\n"
                       "    - { listen_port: 80, proto: tcp, target: \"[fd01::2]:1\" }\n"),
            Keys{"gateway.port_forwards[1]"});
  EXPECT_EQ(errors(g + "    - { listen_port: 80, proto: udp, target: \"192.0.2.1:1\" }\n"),
            Keys{"gateway.port_forwards[0].target"});
}

TEST(DifferingDefaults, AreNamedUnlessWritten) {
  const Loaded none = load({});
  const auto lines = differing_defaults(none.config, none.places);
  EXPECT_EQ(lines.size(), 5U);
  EXPECT_NE(std::ranges::find(lines, "tun.enabled: true (the reference: false)"), lines.end());
  const Loaded l = load_one(
      "node: { identity: { persistent: false } }\ntun: { enabled: false, name: x }\ntransports: { udp: {} "
      "}\n");
  EXPECT_TRUE(differing_defaults(l.config, l.places).empty());
}

TEST(Describe, EveryKeyHasTypeDefaultAllowedAndMeaning) {
  const auto rows = describe();
  EXPECT_GT(rows.size(), 150U);
  std::set<std::string> keys;
  for (const auto& r : rows) {
    EXPECT_TRUE(keys.insert(r.key).second) << r.key;
    for (const auto* s : {&r.type, &r.default_, &r.allowed, &r.meaning})
      EXPECT_TRUE(!s->empty() || r.key.starts_with("transports")) << r.key;
    EXPECT_TRUE(r.meaning.ends_with('.')) << r.key;
  }
  const auto row = std::ranges::find(rows, "node.limits.max_peers", &KeyRow::key);
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->default_, "128");
  EXPECT_EQ(row->allowed, "a whole number, 0 to 4294967295");
}

TEST(PortRule, ReadsOnePortOrARange) {
  EXPECT_EQ(parse_port_rule("tcp/22")->last, 22);
  EXPECT_EQ(parse_port_rule("UDP/5000-5010")->first, 5000);
  for (const auto* s : {"", "tcp", "tcp/", "tcp/0", "tcp/70000", "tcp/9-8", "sctp/1", "tcp/1-", "tcp/-1"})
    EXPECT_FALSE(parse_port_rule(s)) << s;
}

TEST(Npub, ShapeIsCheckedWithoutTheSum) {
  EXPECT_TRUE(looks_like_npub(kNpubA));
  EXPECT_FALSE(looks_like_npub(kNpubA + "q"));
  EXPECT_FALSE(looks_like_npub("npub1" + std::string(58, 'b'))) << "b is not in the alphabet";
  EXPECT_FALSE(looks_like_npub(std::string(64, '0')));
}

}  // namespace
}  // namespace weft::config
