// A file of the reference, of either version, is read as it is: every key it knows is known here.
#include <gtest/gtest.h>

#include "config/inert.h"
#include "config/load.h"

namespace weft::config {
namespace {

// Everything but what one file says differently from the other.
constexpr std::string_view kCommon = R"(
  identity: { persistent: true }
  leaf_only: false
  tick_interval_secs: 1
  base_rtt_ms: 100
  heartbeat_interval_secs: 10
  link_dead_timeout_secs: 30
  log_level: info
  limits: { max_connections: 256, max_peers: 128, max_links: 256, max_pending_inbound: 1000 }
  retry: { max_retries: 5, base_interval_secs: 5, max_backoff_secs: 300 }
  cache: { coord_size: 50000, coord_ttl_secs: 300, identity_size: 10000 }
  tree:
    announce_min_interval_ms: 500
    parent_hysteresis: 0.2
    hold_down_secs: 30
    reeval_interval_secs: 60
    flap_threshold: 4
    flap_window_secs: 60
    flap_dampening_secs: 120
  bloom: { update_debounce_ms: 500, max_inbound_fpr: 0.2 }
  session:
    default_ttl: 64
    pending_packets_per_dest: 16
    pending_max_destinations: 256
    idle_timeout_secs: 90
    coords_warmup_packets: 5
    coords_response_interval_ms: 2000
  buffers: { packet_channel: 1024, tun_channel: 1024, dns_channel: 64 }
  control: { enabled: true, socket_path: /run/fips/control.sock }
  mmp: { mode: full, log_interval_secs: 30, owd_window_size: 32 }
  session_mmp: { mode: lightweight, log_interval_secs: 30, owd_window_size: 32 }
  ecn: { enabled: true, loss_threshold: 0.05, etx_threshold: 3.0 }
  rekey: { enabled: true, after_secs: 120, after_messages: 65536 }
)";
constexpr std::string_view kRates =
    "handshake_burst: 100, handshake_rate: 10.0, handshake_timeout_secs: 30, handshake_resend_interval_ms: "
    "1000, "
    "handshake_resend_backoff: 2.0, handshake_max_resends: 5";
constexpr std::string_view kLookup =
    "ttl: 64, attempt_timeouts_secs: [1, 2, 4, 8], recent_expiry_secs: 10, backoff_base_secs: 0, "
    "backoff_max_secs: 0, "
    "forward_min_interval_secs: 2";
constexpr std::string_view kNostr =
    "enabled: true, advertise: true, advert_relays: [wss://a.example], dm_relays: [wss://b.example], "
    "stun_servers: "
    "[stun:c.example:3478], share_local_candidates: false, app: fips-overlay-v1, signal_ttl_secs: 120, "
    "policy: "
    "configured_only, open_discovery_max_pending: 64, max_concurrent_incoming_offers: 16, "
    "advert_cache_max_entries: 2048, "
    "seen_sessions_max_entries: 2048, attempt_timeout_secs: 10, replay_window_secs: 300, "
    "punch_start_delay_ms: 2000, "
    "punch_interval_ms: 200, punch_duration_ms: 10000, advert_ttl_secs: 3600, advert_refresh_secs: 1800, "
    "startup_sweep_delay_secs: 5, startup_sweep_max_age_secs: 3600, failure_streak_threshold: 5, "
    "extended_cooldown_secs: 1800, "
    "warn_log_interval_secs: 300, failure_state_max_entries: 4096, protocol_mismatch_cooldown_secs: 86400";
constexpr std::string_view kLan = "enabled: false, service_type: _fips._udp.local., scope: floor";

std::string rest(std::string_view ethernet_hears) {
  return R"(
tun: { enabled: true, name: fips0, mtu: 1280 }
dns: { enabled: true, bind_addr: "::1", port: 5354, ttl: 300 }
transports:
  udp:
    main: { bind_addr: "0.0.0.0:2121", mtu: 1280, recv_buf_size: 2097152, send_buf_size: 2097152, advertise_on_nostr: true,
            public: true, external_addr: "192.0.2.1:2121", outbound_only: false, accept_connections: true }
  tcp: { bind_addr: "0.0.0.0:8443", mtu: 1400, connect_timeout_ms: 5000, nodelay: true, keepalive_secs: 30,
         recv_buf_size: 2097152, send_buf_size: 2097152, max_inbound_connections: 256, advertise_on_nostr: false,
         external_addr: "192.0.2.1:8443" }
  tor: { mode: directory, socks5_addr: "127.0.0.1:9050", connect_timeout_ms: 120000, mtu: 1400, control_addr: /run/tor/control,
         control_auth: cookie, cookie_path: /var/run/tor/control.authcookie, max_inbound_connections: 64,
         directory_service: { hostname_file: /var/lib/tor/x/hostname, bind_addr: "127.0.0.1:8443" },
         advertise_on_nostr: false, advertised_port: 443 }
  nym: { socks5_addr: "127.0.0.1:1080", connect_timeout_ms: 300000, mtu: 1400, startup_timeout_secs: 120 }
  ble: { adapter: hci0, psm: 0x85, mtu: 2048, max_connections: 7, connect_timeout_ms: 10000, advertise: true, scan: true,
         auto_connect: false, accept_connections: true, probe_cooldown_secs: 30 }
  ethernet: { interface: eth0, ethertype: 0x2121, mtu: 1497, recv_buf_size: 2097152, send_buf_size: 2097152, )" +
         std::string(ethernet_hears) + R"(: true,
              announce: true, auto_connect: true, accept_connections: true, beacon_interval_secs: 30 }
peers:
  - npub: npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57m
    alias: relay-a
    addresses: [ { transport: udp, addr: "192.0.2.10:2121", priority: 10 }, { transport: tcp, addr: "192.0.2.10:8443" } ]
    connect_policy: auto_connect
    auto_reconnect: true
    via_nostr: true
gateway:
  enabled: true
  pool: "fd01::/112"
  lan_interface: eth0
  dns: { listen: "[::1]:5353", upstream: "[::1]:5354", ttl: 60 }
  pool_grace_period: 60
  conntrack: { tcp_established: 432000, udp_timeout: 30, udp_assured: 180, icmp_timeout: 30 }
  port_forwards: [ { listen_port: 8080, proto: tcp, target: "[fd00::1]:80" } ]
)";
}

std::string with(std::string_view name, std::string_view members) {
  return "  " + std::string(name) + ": { " + std::string(members) + " }\n";
}

std::string released() {  // 0.4.1
  return "node:" + std::string(kCommon) + with("rate_limit", kRates) +
         with("discovery", std::string(kLookup) + ", nostr: { " + std::string(kNostr) + " }, lan: { " +
                               std::string(kLan) + " }") +
         rest("discovery");
}
std::string development() {  // 0.5.0-dev
  return "node:" + std::string(kCommon) + "  drain_timeout_secs: 2\n" +
         with("rate_limit", std::string(kRates) +
                                ", established_handshake_burst: 128, established_handshake_rate: 6.4, "
                                "session_setup_burst: 64, "
                                "session_setup_rate: 16.0") +
         with("lookup", kLookup) +
         with("rendezvous", "nostr: { " + std::string(kNostr) +
                                ", max_concurrent_offers_per_npub: 4 }, lan: { " + std::string(kLan) + " }") +
         with("native_api",
              "enabled: false, socket_path: /run/fips/api.sock, pending_per_flow: 16, backlog: 16, "
              "max_flows: 256, "
              "debug_commands: false") +
         rest("listen");
}

Loaded read(const std::string& text) {
  const Source s{"fips.yaml", text};
  return load(std::span(&s, 1));
}

bool is_about_a_missing_transport(const Complaint& c) {
  return c.severity == Severity::warning && c.text().find("not supported yet") != std::string::npos;
}

TEST(ReferenceFiles, EveryKeyOfTheReleasedVersionIsKnown) {
  const auto l = read(released());
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  for (const auto& c : l.complaints) {
    if (is_about_a_missing_transport(c)) continue;
    // The old names work and are named, with the new one beside each.
    EXPECT_TRUE(c.key.rfind("node.discovery", 0) == 0 || c.key == "transports.ethernet.discovery")
        << c.text();
    EXPECT_NE(c.text().find("node.lookup") != std::string::npos ||
                  c.text().find("rendezvous") != std::string::npos ||
                  c.text().find("listen") != std::string::npos,
              false)
        << c.text();
  }
  EXPECT_FALSE(l.complaints.empty());
  EXPECT_EQ(l.config.node.lookup.attempt_timeouts_secs, (std::vector<std::uint64_t>{1, 2, 4, 8}));
  EXPECT_TRUE(l.config.node.rendezvous.nostr.enabled);
  EXPECT_EQ(l.config.transports.ethernet.size(), 1U);
}

TEST(ReferenceFiles, EveryKeyOfTheDevelopmentVersionIsKnown) {
  const auto l = read(development());
  EXPECT_TRUE(l.ok()) << text_of(l.complaints);
  for (const auto& c : l.complaints) EXPECT_TRUE(is_about_a_missing_transport(c)) << c.text();
  EXPECT_EQ(l.config.node.rate_limit.established_handshake_burst, 128U);
}

TEST(ReferenceFiles, TheOldNameWinsWhereBothAreWritten) {
  const auto l = read("node: { discovery: { ttl: 7 }, lookup: { ttl: 9 } }");
  EXPECT_EQ(l.config.node.lookup.ttl, 7);
}

TEST(ReferenceFiles, ASectionOfRemarksOnlyIsNoMatter) {
  EXPECT_TRUE(read("node:\n  discovery:\n    # nostr:\n  rendezvous:\n").complaints.empty());
}

TEST(ReferenceFiles, AKeyThatNobodyKnowsIsNamedAndDoesNotStopTheNode) {
  const auto l = read("node: { tick_intervall_secs: 1 }");
  EXPECT_TRUE(l.ok());
  ASSERT_EQ(l.complaints.size(), 1U);
  EXPECT_NE(l.complaints[0].text().find("tick_intervall_secs"), std::string::npos);
}

TEST(ReferenceFiles, WhatHasNoEffectIsSaidKeyByKey) {
  const auto l = read(development());
  std::vector<std::string> keys;
  for (const auto& k : inert_keys(l.config, l.places)) {
    EXPECT_FALSE(k.why.empty());
    keys.push_back(k.key);
  }
  for (const char* key :
       {"node.tick_interval_secs", "node.limits.max_links", "node.rendezvous.nostr", "node.native_api",
        "node.buffers", "gateway", "transports.udp.main.public", "via_nostr of peer relay-a"})
    EXPECT_NE(std::find(keys.begin(), keys.end(), key), keys.end()) << key;
  EXPECT_TRUE(inert_keys(Config{}, Places{}).empty());
}

}  // namespace
}  // namespace weft::config
