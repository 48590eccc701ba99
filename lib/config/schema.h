/// What an operator can say: one plain struct per section of the configuration file, with weft's defaults.
///
/// Names   are the keys of the file, units included; table.h lists every key with its range and meaning.
/// Absent  std::optional where "not written" differs from every value, or where the default is worked out
/// from others. Secret  identity.nsec and a Tor password stay as text here; whoever has used them wipes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/log.h"

namespace weft::config {

struct IdentitySection {
  std::optional<std::string> nsec;  // `nsec1…` or 64 hex digits
  bool persistent = true;
};
struct LimitsSection {
  std::uint32_t max_connections = 256, max_peers = 128, max_links = 256, max_pending_inbound = 1000;
};
struct RateLimitSection {
  std::uint32_t handshake_burst = 100;
  double handshake_rate = 10.0;
  std::uint64_t handshake_timeout_secs = 30, handshake_resend_interval_ms = 1000;
  double handshake_resend_backoff = 2.0;
  std::uint32_t handshake_max_resends = 5;
  std::optional<std::uint32_t> established_handshake_burst;  // absent: limits.max_peers
  std::optional<double> established_handshake_rate;          // absent: see established_rate()
  std::uint32_t session_setup_burst = 64;
  double session_setup_rate = 16.0;
};
struct RetrySection {
  std::uint32_t max_retries = 5;
  std::uint64_t base_interval_secs = 5, max_backoff_secs = 300;
};
struct CacheSection {
  std::uint64_t coord_size = 50000, coord_ttl_secs = 300, identity_size = 10000;
};
struct LookupSection {
  std::uint8_t ttl = 64;
  std::vector<std::uint64_t> attempt_timeouts_secs{1, 2, 4, 8};
  std::uint64_t recent_expiry_secs = 10;
  std::uint64_t backoff_base_secs = 0, backoff_max_secs = 0;  // 0: off
  std::uint64_t forward_min_interval_secs = 2;
};
enum class NostrPolicy : std::uint8_t { disabled, configured_only, open };
struct NostrSection {
  bool enabled = false;
  NostrPolicy policy = NostrPolicy::configured_only;
  bool advertise = true;
  std::vector<std::string> advert_relays{"wss://relay.damus.io", "wss://nos.lol", "wss://offchain.pub"};
  std::vector<std::string> dm_relays{"wss://relay.damus.io", "wss://nos.lol", "wss://offchain.pub"};
  std::vector<std::string> stun_servers{"stun:stun.l.google.com:19302", "stun:stun.cloudflare.com:3478",
                                        "stun:global.stun.twilio.com:3478"};
  bool share_local_candidates = false;
  std::string app = "fips-overlay-v1";
  std::uint64_t signal_ttl_secs = 120;
  std::uint64_t open_discovery_max_pending = 64, max_concurrent_incoming_offers = 16;
  std::uint64_t max_concurrent_offers_per_npub = 4;
  std::uint64_t advert_cache_max_entries = 2048, seen_sessions_max_entries = 2048;
  std::uint64_t attempt_timeout_secs = 10, replay_window_secs = 300;
  std::uint64_t punch_start_delay_ms = 2000, punch_interval_ms = 200, punch_duration_ms = 10000;
  std::uint64_t advert_ttl_secs = 3600, advert_refresh_secs = 1800;
  std::uint64_t startup_sweep_delay_secs = 5, startup_sweep_max_age_secs = 3600;
  std::uint32_t failure_streak_threshold = 5;
  std::uint64_t extended_cooldown_secs = 1800, warn_log_interval_secs = 300, failure_state_max_entries = 4096;
  std::uint64_t protocol_mismatch_cooldown_secs = 86400;
};
struct LanSection {
  bool enabled = false;
  std::string service_type = "_fips._udp.local.";
  std::optional<std::string> scope;
};
struct RendezvousSection {
  NostrSection nostr;
  LanSection lan;
};
struct TreeSection {
  std::uint64_t announce_min_interval_ms = 500;
  double parent_hysteresis = 0.2;
  std::uint64_t hold_down_secs = 30, reeval_interval_secs = 60;  // reeval 0: off
  std::uint32_t flap_threshold = 4;
  std::uint64_t flap_window_secs = 60, flap_dampening_secs = 120;
};
struct BloomSection {
  std::uint64_t update_debounce_ms = 500;
  double max_inbound_fpr = 0.20;
};
struct SessionSection {
  std::uint8_t default_ttl = 64;
  std::uint64_t pending_packets_per_dest = 16, pending_max_destinations = 256;
  std::uint64_t idle_timeout_secs = 90;  // 0: never
  std::uint8_t coords_warmup_packets = 5;
  std::uint64_t coords_response_interval_ms = 2000;
};
enum class MmpMode : std::uint8_t { full, lightweight, minimal };
struct MmpSection {
  MmpMode mode = MmpMode::full;
  std::uint64_t log_interval_secs = 30, owd_window_size = 32;
};
struct EcnSection {
  bool enabled = true;
  double loss_threshold = 0.05, etx_threshold = 3.0;
};
struct RekeySection {
  bool enabled = true;
  std::uint64_t after_secs = 120, after_messages = 65536;
};
struct ControlSection {
  bool enabled = true;
  std::optional<std::string> socket_path;  // absent: the first usable run-time directory
};
struct NativeApiSection {
  bool enabled = false;
  std::optional<std::string> socket_path;
  std::uint64_t pending_per_flow = 16, backlog = 16, max_flows = 256;
  bool debug_commands = false;
};
struct BuffersSection {
  std::uint64_t packet_channel = 1024, tun_channel = 1024, dns_channel = 64;
};
struct NodeSection {
  IdentitySection identity;
  bool leaf_only = false;
  std::uint64_t tick_interval_secs = 1, base_rtt_ms = 100, heartbeat_interval_secs = 10;
  std::uint64_t link_dead_timeout_secs = 30, drain_timeout_secs = 2;
  std::string log_level = "info";  // read it with level_of()
  LimitsSection limits;
  RateLimitSection rate_limit;
  RetrySection retry;
  CacheSection cache;
  LookupSection lookup;
  RendezvousSection rendezvous;
  TreeSection tree;
  BloomSection bloom;
  SessionSection session;
  MmpSection mmp, session_mmp;
  EcnSection ecn;
  RekeySection rekey;
  ControlSection control;
  NativeApiSection native_api;
  BuffersSection buffers;
};

struct TunSection {
  bool enabled = true;
  std::string name = "weft0";
  std::uint16_t mtu = 1280;
};
struct DnsSection {
  bool enabled = true;
  std::string bind_addr = "::1";
  std::uint16_t port = 5354;
  std::uint32_t ttl = 300;  // seconds
};

struct Udp {
  std::string bind_addr = "0.0.0.0:2121";
  std::uint16_t mtu = 1280;
  std::uint64_t recv_buf_size = 2097152, send_buf_size = 2097152;
  bool advertise_on_nostr = false, public_ = false;
  std::optional<std::string> external_addr;
  bool outbound_only = false, accept_connections = true;

  /// What outbound_only makes of the other keys.
  bool advertised() const { return advertise_on_nostr && !outbound_only; }
  std::string_view effective_bind() const {
    return outbound_only ? "0.0.0.0:0" : std::string_view(bind_addr);
  }
};
struct Tcp {
  std::optional<std::string> bind_addr;  // absent: outbound only
  std::uint16_t mtu = 1400;
  std::uint64_t connect_timeout_ms = 5000;
  bool nodelay = true;
  std::uint64_t keepalive_secs = 30;  // 0: off
  std::uint64_t recv_buf_size = 2097152, send_buf_size = 2097152, max_inbound_connections = 256;
  bool advertise_on_nostr = false;
  std::optional<std::string> external_addr;
};
enum class TorMode : std::uint8_t { socks5, control_port, directory };
struct TorDirectory {
  std::string hostname_file = "/var/lib/tor/fips_onion_service/hostname";
  std::string bind_addr = "127.0.0.1:8443";
};
struct Tor {
  TorMode mode = TorMode::socks5;
  std::string socks5_addr = "127.0.0.1:9050";
  std::uint64_t connect_timeout_ms = 120000;
  std::uint16_t mtu = 1400;
  std::string control_addr = "/run/tor/control", control_auth = "cookie";
  std::string cookie_path = "/var/run/tor/control.authcookie";
  std::uint64_t max_inbound_connections = 64;
  TorDirectory directory_service;
  bool advertise_on_nostr = false;
  std::uint16_t advertised_port = 443;
};
struct Ethernet {
  std::string interface;
  std::uint16_t ethertype = 0x2121;
  std::optional<std::uint16_t> mtu;  // absent: the interface's less 3
  std::uint64_t recv_buf_size = 2097152, send_buf_size = 2097152;
  bool listen = true, announce = false, auto_connect = false, accept_connections = false;
  std::uint64_t beacon_interval_secs = 30;
};
struct Ble {
  std::string adapter = "hci0";
  std::uint16_t psm = 0x0085, mtu = 2048;
  std::uint64_t max_connections = 7, connect_timeout_ms = 10000;
  bool advertise = true, scan = true, auto_connect = false, accept_connections = true;
  std::uint64_t probe_cooldown_secs = 30;
};
struct Nym {
  std::string socks5_addr = "127.0.0.1:1080";
  std::uint64_t connect_timeout_ms = 300000;
  std::uint16_t mtu = 1400;
  std::uint64_t startup_timeout_secs = 120;
};

/// One transport instance; without a name where the file has the single form.
template <class T>
struct Instance {
  std::optional<std::string> name;
  T config;
};
/// Instances in the order of the file. Only udp can carry links so far; the others are kept to be shown.
struct TransportsSection {
  std::vector<Instance<Udp>> udp;
  std::vector<Instance<Tcp>> tcp;
  std::vector<Instance<Tor>> tor;
  std::vector<Instance<Ethernet>> ethernet;
  std::vector<Instance<Ble>> ble;
  std::vector<Instance<Nym>> nym;
};
/// What there is without a `transports` key: UDP port 2121 over IPv4 and IPv6, MTU 1280.
TransportsSection default_transports();

struct PeerAddress {
  std::string transport;  // "udp", "tcp", …; "udp/NAME" selects one named instance
  std::string addr;
  std::uint8_t priority = 100;  // lower first

  std::string_view kind() const;                     // before the slash
  std::optional<std::string_view> instance() const;  // after it
};
enum class ConnectPolicy : std::uint8_t { auto_connect, on_demand, manual };
struct Peer {
  std::string npub;
  std::optional<std::string> alias;
  std::vector<PeerAddress> addresses;
  ConnectPolicy connect_policy = ConnectPolicy::auto_connect;
  bool auto_reconnect = true, via_nostr = false;
};

enum class ForwardProto : std::uint8_t { tcp, udp };
struct PortForward {
  std::uint16_t listen_port = 0;
  ForwardProto proto = ForwardProto::tcp;
  std::string target;  // "[v6]:port"
};
struct GatewaySection {
  bool enabled = false;
  std::string pool, lan_interface;
  std::uint64_t pool_grace_period = 60;
  std::string dns_listen = "[::1]:5353", dns_upstream = "[::1]:5354";
  std::uint32_t dns_ttl = 60;
  std::uint64_t tcp_established = 432000, udp_timeout = 30, udp_assured = 180, icmp_timeout = 30;
  std::vector<PortForward> port_forwards;
};

/// The `weft` section: what the reference does not have.
struct DataplaneSection {
  std::optional<std::uint32_t> encrypt_workers;  // absent: one per CPU
  std::optional<std::uint32_t> decrypt_workers;  // absent: one per CPU
  std::optional<bool> shared_threads;            // absent: on two processors or fewer
  bool raise_priority = true;
  bool connected_udp = true;
  bool offload = true;  // false: one packet per call everywhere
  bool mtu_discovery = true;  // towards weft nodes
  bool perf = false;  // print stage timings
};
struct FirewallAllow {
  std::string port;               // "tcp/22", "udp/5000-5010"; see parse_port_rule()
  std::vector<std::string> from;  // npubs, names or mesh addresses; empty: everybody
};
struct FirewallSection {
  std::optional<bool> enabled;  // read it with firewall_on()
  bool forward = false;
  std::vector<FirewallAllow> allow;
};
enum class ResolverHook : std::uint8_t { automatic, resolved, dnsmasq, networkmanager, resolvconf, off };
struct NamesSection {
  ResolverHook resolver = ResolverHook::automatic;
};
/// Where a scraper finds the counters: exactly one of the two.
struct MetricsListen {
  std::optional<Endpoint> endpoint;
  std::string path;  // of a Unix socket, absolute
};
struct MetricsSection {
  std::optional<bool> enabled;       // read it with metrics_on()
  std::optional<std::string> listen;  // read it with parse_metrics_listen()
  bool allow_remote = false;         // any address but loopback takes this
  std::uint32_t peers = 500;         // with series of their own
};
inline constexpr std::string_view kMetricsListen = "[::1]:9121";
struct WeftSection {
  DataplaneSection dataplane;
  FirewallSection firewall;
  NamesSection names;
  MetricsSection metrics;
};

struct Config {
  NodeSection node;
  TunSection tun;
  DnsSection dns;
  TransportsSection transports = default_transports();
  std::vector<Peer> peers;
  std::optional<GatewaySection> gateway;
  WeftSection weft;
  bool has_file = false;          // some file was read
  bool has_weft_section = false;  // and it (or one of them) has a `weft` key
};

/// The mesh-side firewall: as written; else on, unless a file without a `weft` section was read.
bool firewall_on(const Config& c);
/// trace, debug, info, warn, warning, error in any case; nullopt for anything else.
std::optional<Level> level_of(std::string_view text);
/// established_handshake_burst and _rate as written, or as derived from max_peers and rekey.after_secs.
std::uint32_t established_burst(const Config& c);
double established_rate(const Config& c);

/// Ports that mesh peers may reach; both ends included.
struct PortRule {
  ForwardProto proto = ForwardProto::tcp;
  std::uint16_t first = 0, last = 0;

  auto operator<=>(const PortRule&) const = default;
  bool covers(const PortRule& o) const { return proto == o.proto && first <= o.first && o.last <= last; }
  bool overlaps(const PortRule& o) const { return proto == o.proto && first <= o.last && o.first <= last; }
};
/// enabled, or, where that is not said, an address to listen on.
bool metrics_on(const MetricsSection& m);
/// "127.0.0.1:9121", "[::1]:9121", "/run/weft/metrics.sock" or "unix:/run/…".
std::optional<MetricsListen> parse_metrics_listen(std::string_view text);
std::optional<PortRule> parse_port_rule(std::string_view text);
/// "tcp/22", "udp/5000-5010": what parse_port_rule() reads.
std::string text_of(const PortRule& rule);

/// `npub1`, 58 more characters, all of the bech32 set and of one case: what can be said without checking the
/// sum.
bool looks_like_npub(std::string_view text);

}  // namespace weft::config
