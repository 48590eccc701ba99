/// A node of the mesh, without sockets, threads, clock or randomness of its own.
///
/// Inputs   punts from workers, answers to look-ups, operators' wishes, deadlines. Each takes the time and appends what is
///          to be done to an Outbox.
/// Time     `now.mono` never decreases. Call on_deadline() at deadline().
/// Thread   one owner.
#pragma once

#include "acl/acl.h"
#include "config/schema.h"
#include "link/peering.h"
#include "metrics/history.h"
#include "names/dns.h"
#include "names/hosts.h"
#include "node/flow_probe.h"
#include "node/flow_mtu.h"
#include "node/flow_session.h"
#include "node/flow_tree.h"

namespace weft {

struct NodeOptions {
  config::Config config;
  std::uint32_t decrypt_workers = 1;
  std::vector<link::Transport> transports;
  std::vector<config::Peer> kept_peers;  // added at run time, from the file of their own
  std::string hosts_text, allow_text, deny_text;
};

class Node {
 public:
  Node(NodeOptions options, crypto::Identity identity, Rng& rng, Log& log, Now now);
  ~Node();

  void start(Now now, Outbox& out);
  void on_punt(Now now, Punt&& punt, Outbox& out);
  void on_resolved(Now now, std::uint64_t ticket, const std::vector<Endpoint>& endpoints, const std::string& error,
                   Outbox& out);
  void on_network_change(Now now, Outbox& out);
  void on_kernel_drops(Now now, std::uint64_t total, Outbox& out);
  void on_transports(Now now, std::vector<link::Transport> transports, Outbox& out);
  std::optional<Instant> deadline() const;
  void on_deadline(Now now, Outbox& out);
  /// Once a second, for the history. In `totals` are the shell's: traffic, refusals and processor time of its workers,
  /// added up; the node adds its own and fills in the gauges.
  void on_tick(Now now, NodeSample totals);

  // ---- names and lists ---------------------------------------------------------------------------------------------

  /// One DNS query. The identity behind the name is known to the packet path before the reply can leave.
  Result<names::DnsReply, Drop> on_dns(Now now, Bytes query);
  /// The packet path knows whose address this is from now on, as after a DNS query.
  void learn(Now now, const PublicKey& key) { identities_.put(key, now.mono); }
  /// nullptr: nobody has said whose address it is.
  const names::IdentityCache::Entry* identity_of(const MeshAddr& addr) { return identities_.find(addr); }
  void set_hosts(Now now, std::string_view hosts_text);
  void set_acl(Now now, std::string_view allow_text, std::string_view deny_text);
  /// Peers of the configuration, read again.
  void set_peers(Now now, const std::vector<config::Peer>& peers, Outbox& out);

  // ---- operators' wishes. Errors: a sentence ---------------------------------------------------------------------------

  struct Connected {
    PublicKey key;
    bool refreshed = false;  // it was connected already; the address is tried as another path
  };
  Result<Connected, std::string> connect(Now now, std::string_view npub_or_name, std::string_view address,
                                         std::string_view transport, Outbox& out);
  Result<PublicKey, std::string> disconnect(Now now, std::string_view npub_or_name, Outbox& out);
  Result<PublicKey, std::string> add_peer(Now now, const config::Peer& peer, Outbox& out);
  Result<PublicKey, std::string> remove_peer(Now now, std::string_view npub_or_name, Outbox& out);
  /// A probe of this node, for probes() to tell about. Errors: a sentence.
  Result<std::uint64_t, std::string> start_probe(Now now, const PublicKey& key, bool thorough, Outbox& out);
  ProbeFlow& probes() { return probe_flow_; }
  const ProbeFlow& probes() const { return probe_flow_; }
  /// Goodbye to everybody; nothing is dialled or taken any more.
  void drain(Now now, Outbox& out);

  // ---- looking, for the control socket ---------------------------------------------------------------------------------

  const crypto::Identity& identity() const { return identity_; }
  const config::Config& config() const { return config_; }
  Instant started() const { return started_; }
  bool draining() const { return draining_; }
  const link::Links& links() const { return links_; }
  const link::Peering& peering() const { return peering_; }
  const Tree& tree() const { return tree_; }
  const BloomExchange& bloom() const { return bloom_; }
  const Lookups& lookups() const { return lookups_; }
  const CoordCache& coords() const { return coords_; }
  const RouteErrors& route_errors() const { return errors_; }
  const session::Sessions& sessions() const { return sessions_; }
  const names::IdentityCache& identities() const { return identities_; }
  const names::HostMap& hosts() const { return hosts_; }
  /// The hosts file's part of them.
  const names::HostMap& hosts_of_file() const { return hosts_of_file_; }
  const acl::Acl& acl() const { return acl_; }
  const ReportFlow& reports() const { return reports_; }
  const RouteFlow& routes() const { return routes_; }
  const MtuFlow& mtus() const { return mtu_flow_; }
  /// Largest IPv6 packet that some link takes whole, and at least what the configuration gives the interface.
  std::uint16_t interface_mtu() const;
  RouteFlow& routes() { return routes_; }
  const History& history() const { return history_; }
  const DropCounters& drops() const { return drops_; }
  std::uint64_t parent_switches() const { return tree_.counters().parent_switches; }
  /// Name for a person: hosts, alias, short npub, hex.
  std::string display_name(const NodeAddr& addr) const;
  /// npub, host name or alias. Errors: a sentence.
  Result<PublicKey, std::string> find_key(std::string_view npub_or_name) const;

 private:
  void settle(Now now, const TreeFlow::Effects& fx, Outbox& out);
  void take_link_events(Now now, Outbox& out);
  void on_link_message(Now now, const PuntLinkMessage& in, Outbox& out);
  void on_datagram(Now now, PuntDatagram& in, Outbox& out);
  void on_lookups(Now now, const LookupFlow::Results& results, Outbox& out);
  void tell_local(std::uint16_t mtu, Outbox& out);
  void rebuild_wanted(Now now, Outbox& out);
  void rebuild_names(Now now);
  void keep(Outbox& out) const;

  config::Config config_;
  crypto::Identity identity_;
  Rng& rng_;
  Log& log_;
  Instant started_;
  DropCounters drops_;
  std::vector<config::Peer> kept_peers_;
  std::string hosts_text_, allow_text_, deny_text_;
  names::HostMap hosts_, hosts_of_file_;
  acl::Acl acl_;

  // Rooms
  link::Links links_;
  link::Peering peering_;
  Tree tree_;
  BloomExchange bloom_;
  Lookups lookups_;
  CoordCache coords_;
  RouteErrors errors_;
  names::IdentityCache identities_;
  History history_;
  // Conversations, in the order in which they need each other
  RouteFlow routes_;
  session::Sessions sessions_;
  ReportFlow reports_;
  TreeFlow tree_flow_;
  LookupFlow lookup_flow_;
  SessionFlow session_flow_;
  ProbeFlow probe_flow_;
  MtuFlow mtu_flow_;
  bool draining_ = false;
  bool started_up_ = false;
};

}  // namespace weft
