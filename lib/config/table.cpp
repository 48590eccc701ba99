#include "config/table.h"

namespace weft::config {
namespace {

constexpr std::string_view kPolicies[] = {"disabled", "configured_only", "open"};
constexpr std::string_view kModes[] = {"full", "lightweight", "minimal"};
constexpr std::string_view kTorModes[] = {"socks5", "control_port", "directory"};
constexpr std::string_view kConnect[] = {"auto_connect", "on_demand", "manual"};
constexpr std::string_view kProtos[] = {"tcp", "udp"};
constexpr std::string_view kResolvers[] = {"auto", "resolved", "dnsmasq", "networkmanager", "resolvconf", "off"};

constexpr std::uint64_t kMinMtu = 256;      // the least that carries every message of the mesh itself
constexpr std::uint64_t kMinTunMtu = 1280;  // IPv6
constexpr std::uint64_t kMaxWorkers = 1024;
constexpr std::uint64_t kMinRekeySecs = 16;  // the interval varies by up to 15 s either way
constexpr std::uint64_t kMaxOffers = 1U << 20;
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class E>
Choice choice(E& e, std::span<const std::string_view> words) {
  static_assert(std::is_same_v<std::underlying_type_t<E>, std::uint8_t>);
  return {reinterpret_cast<std::uint8_t*>(&e), words};
}

/// Adds rows below one key path. The reference that row() returns lives until the next call.
class Section {
 public:
  Section(Fields& out, std::string at) : out_(out), at_(std::move(at)) {}
  Field& row(std::string_view key, Slot slot, std::string_view meaning) {
    out_.push_back(Field{at_ + "." + std::string(key), slot, meaning});
    return out_.back();
  }

 private:
  Fields& out_;
  std::string at_;
};

void add_node(Fields& out, NodeSection& n) {
  Section id(out, "node.identity");
  id.row("nsec", &n.identity.nsec, "Secret key, as nsec1 text or 64 hex digits; better kept in a key file.")
      .hidden();
  id.row("persistent", &n.identity.persistent, "Keep the key in a file across restarts.")
      .reference_has("false");
  Section s(out, "node");
  s.row("leaf_only", &n.leaf_only, "Carry nobody else's traffic and take no part in the tree.");
  s.row("tick_interval_secs", &n.tick_interval_secs, "Maintenance period.").in(1, 3600);
  s.row("base_rtt_ms", &n.base_rtt_ms, "Round trip assumed for a link before it is measured.");
  s.row("heartbeat_interval_secs", &n.heartbeat_interval_secs, "Pause between heartbeats on a silent link.")
      .at_least(1);
  s.row("link_dead_timeout_secs", &n.link_dead_timeout_secs, "Silence after which a link peer is removed.")
      .at_least(1);
  s.row("drain_timeout_secs", &n.drain_timeout_secs, "Time given to an orderly stop.");
  s.row("log_level", &n.log_level, "trace, debug, info, warn or error; the environment overrides it.");
}

void add_limits(Fields& out, NodeSection& n) {
  Section l(out, "node.limits");
  l.row("max_connections", &n.limits.max_connections, "Handshakes in progress at once.");
  l.row("max_peers", &n.limits.max_peers, "Authenticated link peers.");
  l.row("max_links", &n.limits.max_links, "Links.");
  l.row("max_pending_inbound", &n.limits.max_pending_inbound, "Inbound handshakes without an answer yet.");
  Section r(out, "node.rate_limit");
  auto& x = n.rate_limit;
  r.row("handshake_burst", &x.handshake_burst, "First handshake messages taken at once.").at_least(1);
  r.row("handshake_rate", &x.handshake_rate, "The same per second, lasting.").positive();
  r.row("handshake_timeout_secs", &x.handshake_timeout_secs, "Life of an unfinished handshake.").at_least(1);
  r.row("handshake_resend_interval_ms", &x.handshake_resend_interval_ms, "Wait before the first resend.")
      .at_least(1);
  r.row("handshake_resend_backoff", &x.handshake_resend_backoff, "Each later wait is longer by this factor.")
      .ratio(1.0, kInf);
  r.row("handshake_max_resends", &x.handshake_max_resends, "Resends before giving up.");
  r.row("established_handshake_burst", &x.established_handshake_burst,
        "Handshakes from known links taken at once.")
      .at_least(1)
      .otherwise("node.limits.max_peers");
  r.row("established_handshake_rate", &x.established_handshake_rate, "The same per second, lasting.")
      .positive()
      .otherwise("enough for every peer's rekeys");
  r.row("session_setup_burst", &x.session_setup_burst, "New sessions from one link peer at once.")
      .at_least(1);
  r.row("session_setup_rate", &x.session_setup_rate, "The same per second, lasting.").positive();
  Section y(out, "node.retry");
  y.row("max_retries", &n.retry.max_retries, "Attempts to connect before giving a peer a rest.");
  y.row("base_interval_secs", &n.retry.base_interval_secs, "Wait before the first retry; it doubles.");
  y.row("max_backoff_secs", &n.retry.max_backoff_secs, "Longest wait between retries.");
  Section c(out, "node.cache");
  c.row("coord_size", &n.cache.coord_size, "Coordinates kept.").at_least(1);
  c.row("coord_ttl_secs", &n.cache.coord_ttl_secs, "Their life.").at_least(1);
  c.row("identity_size", &n.cache.identity_size, "Known identities kept.").at_least(1);
}

void add_lookup(Fields& out, NodeSection& n) {
  Section l(out, "node.lookup");
  l.row("ttl", &n.lookup.ttl, "Hops that a lookup may travel.").at_least(1);
  l.row("attempt_timeouts_secs", &n.lookup.attempt_timeouts_secs, "One request per entry, waiting that long.")
      .at_least(1);
  l.row("recent_expiry_secs", &n.lookup.recent_expiry_secs,
        "How long a request is remembered to drop its copies.");
  l.row("backoff_base_secs", &n.lookup.backoff_base_secs,
        "Pause after a failed lookup; it doubles. 0 is off.");
  l.row("backoff_max_secs", &n.lookup.backoff_max_secs, "Longest such pause. 0 is off.");
  l.row("forward_min_interval_secs", &n.lookup.forward_min_interval_secs,
        "Pause between requests for one target passed on.");
  Section lan(out, "node.rendezvous.lan");
  lan.row("enabled", &n.rendezvous.lan.enabled, "Find peers on the local network by mDNS.");
  lan.row("service_type", &n.rendezvous.lan.service_type, "Service name announced and looked for.");
  lan.row("scope", &n.rendezvous.lan.scope, "Only peers that announce the same word.").otherwise("any");
}

void add_nostr(Fields& out, NostrSection& n) {
  Section s(out, "node.rendezvous.nostr");
  s.row("enabled", &n.enabled, "Find peers' addresses through Nostr relays.");
  s.row("policy", choice(n.policy, kPolicies), "Whose adverts lead to a connection.");
  s.row("advertise", &n.advertise, "Publish our own addresses.");
  s.row("advert_relays", &n.advert_relays, "Relays that carry adverts.");
  s.row("dm_relays", &n.dm_relays, "Relays that carry the messages of a NAT traversal.");
  s.row("stun_servers", &n.stun_servers, "Servers asked for our outside address.");
  s.row("share_local_candidates", &n.share_local_candidates, "Tell peers our local addresses too.");
  s.row("app", &n.app, "Name under which adverts are published.");
  s.row("signal_ttl_secs", &n.signal_ttl_secs, "Life of a traversal message.");
  s.row("open_discovery_max_pending", &n.open_discovery_max_pending, "Unknown peers tried at once.");
  s.row("max_concurrent_incoming_offers", &n.max_concurrent_incoming_offers,
        "Traversal offers handled at once.");
  s.row("max_concurrent_offers_per_npub", &n.max_concurrent_offers_per_npub, "The same from one sender.")
      .in(1, kMaxOffers);
  s.row("advert_cache_max_entries", &n.advert_cache_max_entries, "Adverts kept.");
  s.row("seen_sessions_max_entries", &n.seen_sessions_max_entries,
        "Traversal sessions remembered against replay.");
  s.row("attempt_timeout_secs", &n.attempt_timeout_secs, "Life of one traversal attempt.");
  s.row("replay_window_secs", &n.replay_window_secs, "How long a traversal session is remembered.");
  s.row("punch_start_delay_ms", &n.punch_start_delay_ms, "Wait before both sides send.");
  s.row("punch_interval_ms", &n.punch_interval_ms, "Pause between probes.");
  s.row("punch_duration_ms", &n.punch_duration_ms, "How long probes are sent.");
  s.row("advert_ttl_secs", &n.advert_ttl_secs, "Life of an advert.");
  s.row("advert_refresh_secs", &n.advert_refresh_secs, "Pause between adverts.");
  s.row("startup_sweep_delay_secs", &n.startup_sweep_delay_secs, "Wait before stored adverts are read.");
  s.row("startup_sweep_max_age_secs", &n.startup_sweep_max_age_secs, "Oldest stored advert that counts.");
  s.row("failure_streak_threshold", &n.failure_streak_threshold, "Failures in a row before a long pause.");
  s.row("extended_cooldown_secs", &n.extended_cooldown_secs, "That pause.");
  s.row("warn_log_interval_secs", &n.warn_log_interval_secs, "Pause between warnings about one peer.");
  s.row("failure_state_max_entries", &n.failure_state_max_entries, "Failing peers remembered.");
  s.row("protocol_mismatch_cooldown_secs", &n.protocol_mismatch_cooldown_secs,
        "Pause after a peer of another version.");
}

void add_mesh(Fields& out, NodeSection& n) {
  Section t(out, "node.tree");
  t.row("announce_min_interval_ms", &n.tree.announce_min_interval_ms, "Pause between announces to one peer.");
  t.row("parent_hysteresis", &n.tree.parent_hysteresis, "Relative gain needed to change the parent.")
      .ratio(0.0, 1.0);
  t.row("hold_down_secs", &n.tree.hold_down_secs, "Rest after a change of parent.");
  t.row("reeval_interval_secs", &n.tree.reeval_interval_secs,
        "Pause between looks for a better parent. 0 is off.");
  t.row("flap_threshold", &n.tree.flap_threshold,
        "Changes of parent within the window that count as flapping.");
  t.row("flap_window_secs", &n.tree.flap_window_secs, "That window.");
  t.row("flap_dampening_secs", &n.tree.flap_dampening_secs, "Rest after flapping.");
  Section b(out, "node.bloom");
  b.row("update_debounce_ms", &n.bloom.update_debounce_ms,
        "Wait that joins several filter changes into one message.");
  b.row("max_inbound_fpr", &n.bloom.max_inbound_fpr, "Filters with more false matches are refused.")
      .inside(0.0, 1.0);
  Section s(out, "node.session");
  s.row("default_ttl", &n.session.default_ttl, "Hops that a packet may travel.").at_least(1);
  s.row("pending_packets_per_dest", &n.session.pending_packets_per_dest,
        "Packets that wait for one session.");
  s.row("pending_max_destinations", &n.session.pending_max_destinations,
        "Destinations that may have such packets.");
  s.row("idle_timeout_secs", &n.session.idle_timeout_secs, "Silence after which a session ends. 0 is never.");
  s.row("coords_warmup_packets", &n.session.coords_warmup_packets, "First packets that carry coordinates.");
  s.row("coords_response_interval_ms", &n.session.coords_response_interval_ms,
        "Pause between answers to lost coordinates.");
  const auto mmp = [&](std::string at, MmpSection& m, std::string_view of) {
    Section x(out, std::move(at));
    x.row("mode", choice(m.mode, kModes), of);
    x.row("log_interval_secs", &m.log_interval_secs, "Pause between metrics in the log.");
    x.row("owd_window_size", &m.owd_window_size, "Samples that make a trend.").at_least(1);
  };
  mmp("node.mmp", n.mmp, "How much is measured on links.");
  mmp("node.session_mmp", n.session_mmp, "How much is measured on sessions.");
  Section e(out, "node.ecn");
  e.row("enabled", &n.ecn.enabled, "Mark packets that pass a congested link.");
  e.row("loss_threshold", &n.ecn.loss_threshold, "Loss that counts as congestion.").ratio(0.0, 1.0);
  e.row("etx_threshold", &n.ecn.etx_threshold, "Expected transmissions that count as congestion.")
      .ratio(1.0, kInf);
  Section r(out, "node.rekey");
  r.row("enabled", &n.rekey.enabled, "Change keys on our own account; a peer's changes are always followed.");
  r.row("after_secs", &n.rekey.after_secs, "Age of a key that starts a change.").at_least(kMinRekeySecs);
  r.row("after_messages", &n.rekey.after_messages, "Messages under a key that start a change.").at_least(1);
}

void add_local(Fields& out, NodeSection& n) {
  Section c(out, "node.control");
  c.row("enabled", &n.control.enabled, "Listen on the control socket.");
  c.row("socket_path", &n.control.socket_path, "Its path.").otherwise("the first usable run-time directory");
  Section a(out, "node.native_api");
  a.row("enabled", &n.native_api.enabled, "Offer datagrams to local programs without a TUN device.");
  a.row("socket_path", &n.native_api.socket_path, "Its socket.").otherwise("beside the control socket");
  a.row("pending_per_flow", &n.native_api.pending_per_flow, "Datagrams that wait for a flow to be taken.")
      .in(1, 64);
  a.row("backlog", &n.native_api.backlog, "Flows that wait to be taken.").at_least(1);
  a.row("max_flows", &n.native_api.max_flows, "Flows at once.");
  a.row("debug_commands", &n.native_api.debug_commands, "Commands for tests.");
  Section b(out, "node.buffers");
  b.row("packet_channel", &n.buffers.packet_channel, "Received packets that wait for the core.").at_least(1);
  b.row("tun_channel", &n.buffers.tun_channel, "Packets that wait for the TUN device.").at_least(1);
  b.row("dns_channel", &n.buffers.dns_channel, "Resolved identities that wait for the core.").at_least(1);
}

void add_rest(Fields& out, Config& c) {
  Section t(out, "tun");
  t.row("enabled", &c.tun.enabled, "Create the network interface; without it the node only routes.")
      .reference_has("false");
  t.row("name", &c.tun.name, "Its name; macOS chooses its own.").reference_has("fips0");
  t.row("mtu", &c.tun.mtu, "Its MTU.").in(kMinTunMtu, 65535);
  Section d(out, "dns");
  d.row("enabled", &c.dns.enabled, "Answer queries for names under .fips.");
  d.row("bind_addr", &c.dns.bind_addr, "Address to listen on.");
  d.row("port", &c.dns.port, "UDP port to listen on.");
  d.row("ttl", &c.dns.ttl, "Seconds that an answer may be cached.").in(0, 0x7FFFFFFF);
  Section p(out, "weft.dataplane");
  auto& dp = c.weft.dataplane;
  p.row("encrypt_workers", &dp.encrypt_workers,
        "Threads from the interface to the wire; also node.dataplane.encrypt_workers.")
      .in(1, kMaxWorkers)
      .otherwise("one per processor");
  p.row("decrypt_workers", &dp.decrypt_workers, "Threads from the wire; also node.dataplane.decrypt_workers.")
      .in(0, kMaxWorkers)
      .otherwise("one per processor");
  p.row("shared_threads", &dp.shared_threads,
        "Run an encrypt and a decrypt worker on each thread: quicker answers; with many processors one peer gets less.")
      .otherwise("true on two processors or fewer");
  p.row("raise_priority", &dp.raise_priority,
        "Packet threads get a processor before other programs, as the kernel's own packet work does.");
  p.row("connected_udp", &dp.connected_udp, "A socket of its own for every UDP link.");
  p.row(
      "offload", &dp.offload,
      "Let the kernel cut and join packets where it can; off: one by one, for a driver that gets it wrong.");
  p.row("mtu_discovery", &dp.mtu_discovery,
        "Find out what links to other weft nodes carry beyond transports.*.mtu.");
  p.row("perf", &dp.perf, "Print timings of the packet stages.");
  Section f(out, "weft.firewall");
  f.row("enabled", &c.weft.firewall.enabled,
        "Let mesh peers reach only the ports below; answers always pass.")
      .otherwise("true with a weft section or without any file, else false");
  f.row("forward", &c.weft.firewall.forward, "Let this machine pass packets between the mesh and other networks.");
  Section r(out, "weft.names");
  r.row("resolver", choice(c.weft.names.resolver, kResolvers),
        "How weft-resolver makes the system ask us for .fips; auto takes what is running and never resolv.conf.");
  Section m(out, "weft.metrics");
  m.row("enabled", &c.weft.metrics.enabled, "Serve counters to a scraper over HTTP, in Prometheus' format.")
      .otherwise("true where listen is written, else false");
  m.row("listen", &c.weft.metrics.listen, "Address and port for it, or the path of a Unix socket.")
      .otherwise(kMetricsListen);
  m.row("allow_remote", &c.weft.metrics.allow_remote, "Let listen be an address that others can reach.");
  m.row("peers", &c.weft.metrics.peers, "Peers that get series of their own; 0: none.").in(0, 10'000);
}

}  // namespace

Fields fields_of(Config& c) {
  Fields out;
  add_node(out, c.node);
  add_limits(out, c.node);
  add_lookup(out, c.node);
  add_nostr(out, c.node.rendezvous.nostr);
  add_mesh(out, c.node);
  add_local(out, c.node);
  add_rest(out, c);
  return out;
}

Fields fields_of(Udp& t, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("bind_addr", &t.bind_addr, "Address and port to listen on.");
  s.row("mtu", &t.mtu, "Largest datagram sent.").in(kMinMtu, 65535);
  s.row("recv_buf_size", &t.recv_buf_size, "Socket receive buffer, bytes.");
  s.row("send_buf_size", &t.send_buf_size, "Socket send buffer, bytes.");
  s.row("advertise_on_nostr", &t.advertise_on_nostr, "Publish this instance; off when outbound_only.");
  s.row("public", &t.public_, "The address is reachable as it is, no NAT traversal needed.");
  s.row("external_addr", &t.external_addr, "Address or address and port to publish instead.")
      .otherwise("found by asking");
  s.row("outbound_only", &t.outbound_only, "Use any free port and refuse peers that dial in.");
  s.row("accept_connections", &t.accept_connections, "New peers may dial in.");
  return out;
}
Fields fields_of(Tcp& t, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("bind_addr", &t.bind_addr, "Address and port to listen on.").otherwise("outbound only");
  s.row("mtu", &t.mtu, "Largest frame sent.").in(kMinMtu, 65535);
  s.row("connect_timeout_ms", &t.connect_timeout_ms, "Time to connect.");
  s.row("nodelay", &t.nodelay, "Send at once, do not collect.");
  s.row("keepalive_secs", &t.keepalive_secs, "Keep-alive period. 0 is off.");
  s.row("recv_buf_size", &t.recv_buf_size, "Socket receive buffer, bytes.");
  s.row("send_buf_size", &t.send_buf_size, "Socket send buffer, bytes.");
  s.row("max_inbound_connections", &t.max_inbound_connections, "Accepted connections at once.");
  s.row("advertise_on_nostr", &t.advertise_on_nostr, "Publish this instance.");
  s.row("external_addr", &t.external_addr, "Address or address and port to publish instead.")
      .otherwise("bind_addr");
  return out;
}
Fields fields_of(Tor& t, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("mode", choice(t.mode, kTorModes), "How Tor is used.");
  s.row("socks5_addr", &t.socks5_addr, "Tor's SOCKS port.");
  s.row("connect_timeout_ms", &t.connect_timeout_ms, "Time to connect.");
  s.row("mtu", &t.mtu, "Largest frame sent.").in(kMinMtu, 65535);
  s.row("control_addr", &t.control_addr, "Tor's control socket or port.");
  s.row("control_auth", &t.control_auth, "cookie, cookie:PATH or password:SECRET.").hidden();
  s.row("cookie_path", &t.cookie_path, "Tor's cookie file.");
  s.row("max_inbound_connections", &t.max_inbound_connections, "Accepted connections at once.");
  s.row("directory_service.hostname_file", &t.directory_service.hostname_file, "File with our onion name.");
  s.row("directory_service.bind_addr", &t.directory_service.bind_addr, "Where Tor hands connections over.");
  s.row("advertise_on_nostr", &t.advertise_on_nostr, "Publish this instance.");
  s.row("advertised_port", &t.advertised_port, "Port to publish.");
  return out;
}
Fields fields_of(Ethernet& t, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("interface", &t.interface, "Network interface.").must();
  s.row("ethertype", &t.ethertype, "Ethernet type of our frames.");
  s.row("mtu", &t.mtu, "Largest frame sent.").in(kMinMtu, 65535).otherwise("the interface's less 3");
  s.row("recv_buf_size", &t.recv_buf_size, "Socket receive buffer, bytes.");
  s.row("send_buf_size", &t.send_buf_size, "Socket send buffer, bytes.");
  s.row("listen", &t.listen, "Hear other nodes' beacons.");
  s.row("announce", &t.announce, "Send beacons.");
  s.row("auto_connect", &t.auto_connect, "Connect to nodes that are heard.");
  s.row("accept_connections", &t.accept_connections, "New peers may dial in.");
  s.row("beacon_interval_secs", &t.beacon_interval_secs, "Pause between beacons; less than 10 counts as 10.");
  return out;
}
Fields fields_of(Ble& t, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("adapter", &t.adapter, "Bluetooth adapter.");
  s.row("psm", &t.psm, "L2CAP channel number.");
  s.row("mtu", &t.mtu, "Largest frame sent.").in(kMinMtu, 65535);
  s.row("max_connections", &t.max_connections, "Connections at once.");
  s.row("connect_timeout_ms", &t.connect_timeout_ms, "Time to connect.");
  s.row("advertise", &t.advertise, "Be visible.");
  s.row("scan", &t.scan, "Look for others.");
  s.row("auto_connect", &t.auto_connect, "Connect to nodes that are seen.");
  s.row("accept_connections", &t.accept_connections, "New peers may dial in.");
  s.row("probe_cooldown_secs", &t.probe_cooldown_secs, "Pause before a device is tried again.");
  return out;
}
Fields fields_of(Nym& t, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("socks5_addr", &t.socks5_addr, "Nym client's SOCKS port.");
  s.row("connect_timeout_ms", &t.connect_timeout_ms, "Time to connect.");
  s.row("mtu", &t.mtu, "Largest frame sent.").in(kMinMtu, 65535);
  s.row("startup_timeout_secs", &t.startup_timeout_secs, "Time to wait for the client.");
  return out;
}

Fields fields_of(Peer& p, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("npub", &p.npub, "The peer's public key, npub1 text.").must();
  s.row("alias", &p.alias, "A name for it: for people, for DNS and for access lists.").otherwise("none");
  s.row("connect_policy", choice(p.connect_policy, kConnect), "Only auto_connect dials by itself.");
  s.row("auto_reconnect", &p.auto_reconnect, "Dial again after the link is lost.");
  s.row("via_nostr", &p.via_nostr, "Use the addresses that the peer publishes too.");
  return out;
}
Fields fields_of(PeerAddress& a, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("transport", &a.transport, "udp, tcp, ethernet, tor, nym or ble; udp/NAME for one named instance.")
      .must();
  s.row("addr", &a.addr, "HOST:PORT, INTERFACE/MAC or ADAPTER/MAC, as the transport needs.").must();
  s.row("priority", &a.priority, "Lower is tried first.");
  return out;
}
Fields fields_of(FirewallAllow& a, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("port", &a.port, "Port that mesh peers may reach: tcp/22, udp/5000-5010.").must();
  s.row("from", &a.from, "Only these nodes: npubs, names or mesh addresses; empty is everybody.");
  return out;
}
Fields fields_of(GatewaySection& g, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("enabled", &g.enabled, "Lend mesh access to a network without weft.");
  s.row("pool", &g.pool, "Addresses to lend, as a prefix.").must();
  s.row("lan_interface", &g.lan_interface, "Interface of that network.").must();
  s.row("pool_grace_period", &g.pool_grace_period, "Seconds before an unused address is lent again.");
  s.row("dns.listen", &g.dns_listen, "Where the gateway answers names.");
  s.row("dns.upstream", &g.dns_upstream, "Whom it asks.");
  s.row("dns.ttl", &g.dns_ttl, "Seconds that an answer may be cached.");
  s.row("conntrack.tcp_established", &g.tcp_established, "Seconds a silent TCP connection is kept.");
  s.row("conntrack.udp_timeout", &g.udp_timeout, "Seconds a one-way UDP flow is kept.");
  s.row("conntrack.udp_assured", &g.udp_assured, "Seconds a two-way UDP flow is kept.");
  s.row("conntrack.icmp_timeout", &g.icmp_timeout, "Seconds an ICMP exchange is kept.");
  return out;
}
Fields fields_of(PortForward& f, const std::string& at) {
  Fields out;
  Section s(out, at);
  s.row("listen_port", &f.listen_port, "Port on the gateway's mesh address.").in(1, 65535).must();
  s.row("proto", choice(f.proto, kProtos), "Protocol.").must();
  s.row("target", &f.target, "Where it leads, [IPv6]:PORT.").must();
  return out;
}

std::string instance_key(std::string_view type, const std::optional<std::string>& name) {
  std::string out = "transports.";
  out += type;
  if (name) out += "." + *name;
  return out;
}

}  // namespace weft::config
