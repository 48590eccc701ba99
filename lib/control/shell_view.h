/// What only the shell around the node knows, as plain values: filled by the daemon for one request.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/drop.h"
#include "base/ids.h"
#include "base/time.h"
#include "control/shell_actions.h"
#include "dataplane/shard_stats.h"

namespace weft::control {

/// All shards' counters together. One add() per shard.
struct ShardTotals {
  struct Pair {
    std::uint64_t packets = 0, bytes = 0;
  };
  Pair received, decode_error, warm_malformed, ttl_exhausted, delivered, forwarded, drop_no_route,
      drop_mtu_exceeded, drop_send_error, originated;
  std::uint64_t route_tree_up = 0, route_tree_down = 0, route_tree_down_cross = 0,
                route_crosslink_descend = 0, route_crosslink_ascend = 0, route_direct_peer = 0;
  std::uint64_t ce_forwarded = 0, ce_received = 0, congestion_detected = 0;
  std::array<std::uint64_t, kDropCount> drops{};
  std::array<std::uint64_t, Histogram::kSlots> burst_in{}, run_out{};
  std::uint64_t fragmented = 0, mss_clamped = 0, queue_marked = 0, queue_dropped = 0, too_big_sent = 0,
                unreachable_sent = 0, hairpinned = 0, strays = 0;
  struct StageTotal {
    std::uint64_t runs = 0, items = 0, ns = 0;
  };
  std::array<StageTotal, kStages> stages{};

  void add(const ShardStats& s);
  void add(const ForwardingStats& f);
};

/// Sends that did not go as they should, by cause; `count` in runs where nothing was lost, else in frames.
struct SendTroubleView {
  std::string_view cause;
  std::uint64_t count = 0;
  std::string last_error;  // the system's words for the newest; empty: none yet
};

struct TransportView {
  TransportId id;
  std::string kind = "udp";
  std::string name;          // of a named instance
  std::string state = "up";  // configured, starting, up, down, failed
  std::string local_addr;    // as bound; empty: none
  std::uint16_t mtu = 1280;
  bool supported = true;  // false: the section is accepted, the transport does not exist yet
  std::string trouble;    // why it is not up, e.g. "cannot bind 0.0.0.0:2121: address in use"
  std::uint64_t packets_sent = 0, bytes_sent = 0, packets_recv = 0, bytes_recv = 0;
  std::uint64_t send_errors = 0, recv_errors = 0, mtu_exceeded = 0, kernel_drops = 0;
  std::vector<SendTroubleView> send_troubles;
};

/// Whether a link has a socket of its own, beside the transport's listening one that serves otherwise.
struct LinkSocketView {
  bool connected = false;
  std::string local_addr;  // bound to; empty: none
  std::string why;         // it has none
};

/// Links' own sockets, together. Counts since the start.
struct ConnectedUdpView {
  bool on = false;  // by configuration
  std::uint64_t open = 0, opened = 0;
  std::uint64_t moved = 0, readdressed = 0, silent = 0,
                spoiled = 0;              // given up: peer moved, own address changed, …
  std::uint64_t refused = 0, failed = 0;  // not opened: no descriptors left, other errors
};

/// A local socket that the mesh could reach.
struct ListeningSocket {
  std::string proto;  // tcp, udp
  std::string local_addr;
  std::uint16_t port = 0;
  std::int64_t pid = 0;  // 0: unknown
  std::string process;
  std::string filter = "unknown";  // no_firewall, accept, drop, unknown
  bool wildcard_bind = false;
};

/// One worker, or the control thread.
struct WorkerView {
  std::string name;
  Duration cpu{};  // used so far
  std::uint64_t packets = 0, bytes = 0, drops = 0, strays = 0;
  bool broken = false;
};

struct ProcessView {
  Duration cpu{};  // user and system, all threads
  std::uint64_t resident_bytes = 0;
};

enum class TunState : std::uint8_t { disabled, configured, active, failed };

struct ShellView {
  std::string version;  // "0.1.0"
  std::int64_t pid = 0;
  std::int64_t start_unix_ms = 0;
  std::string exe_path;
  std::string control_socket;
  std::vector<std::string> config_files;  // as loaded, lowest priority first; empty: none
  std::string allow_file, deny_file, hosts_file, kept_peers_file;
  bool key_persistent = false;
  std::string key_file;

  TunState tun = TunState::disabled;
  std::string tun_name;  // empty: none
  std::uint16_t tun_mtu = 0;
  std::string tun_trouble;
  bool firewall_on = false;
  bool firewall_by_file = false;  // on or off because a file says so, not by default
  std::string firewall_trouble;
  std::function<FirewallView()> firewall;  // may be empty
  /// Ask the kernel, so they are called only when asked for; may be empty. Packets, by tally and refused in all.
  std::function<FirewallPackets()> firewall_packets;
  std::function<std::uint64_t()> firewall_refused;
  std::string dns_addr;  // "[::1]:5354"; empty: off
  std::string dns_trouble;

  std::vector<TransportView> transports;
  ConnectedUdpView connected_udp;
  std::function<LinkSocketView(LinkId)> link_socket;  // empty: no such thing here
  ShardTotals shards;
  std::uint64_t kernel_drop_events = 0;
  std::uint32_t encrypt_workers = 0, decrypt_workers = 0;
  bool shared_threads = false;
  /// By the kernel, before a worker could read them. A system call; may be empty.
  std::function<std::uint64_t()> interface_queue_dropped;
  std::string aead;                     // back-end in use
  DropCounters* shell_drops = nullptr;  // the shell's own (control socket, DNS); may be null

  /// Sentences about what does not work on this side and is known for certain, newest last.
  std::vector<std::string> troubles;
  /// A system call each, so it is called only when asked for; may be empty.
  std::function<std::vector<WorkerView>()> workers;
  std::function<ProcessView()> process;
  /// Cheap without programs; with them it walks all processes. May be empty.
  std::function<std::vector<ListeningSocket>(bool with_programs)> listening_sockets;
};

}  // namespace weft::control
