#include "docs/pages.h"

namespace weft::docs {

const std::vector<Item>& files() {
  static const std::vector<Item> all{
      {"/etc/weft/weft.yaml",
       "The configuration, see weft.yaml(5). Without --config also ~/.config/weft/weft.yaml and "
       "./weft.yaml, merged over it key by key."},
      {"/etc/weft/hosts", "Names for nodes, one \"NAME NPUB\" a line; read again when it changes."},
      {"/etc/weft/peers.allow, /etc/weft/peers.deny",
       "Who may link with this node: an npub, a name or ALL a line; read again when they change. The allow "
       "list is "
       "asked first; who is in neither may link."},
      {"/var/lib/weft/weft.key",
       "The secret key, made at the first start; mode 0600. A weft.key or fips.key beside "
       "the configuration is used instead when there is one."},
      {"/var/lib/weft/peers.yaml", "Peers added with \"weft peer add\"."},
      {"/run/weft/control.sock",
       "The control socket, for root and the group weft. Without /run/weft: "
       "$XDG_RUNTIME_DIR/weft/control.sock, else /tmp/weft-UID/control.sock."},
  };
  return all;
}

const std::vector<Item>& environment() {
  static const std::vector<Item> all{
      {"WEFT_LOG, RUST_LOG", "Log level, over node.log_level."},
      {"WEFT_ENCRYPT_WORKERS, WEFT_DECRYPT_WORKERS, WEFT_CONNECTED_UDP, WEFT_PERF, WEFT_OFFLOAD",
       "Over the keys of the same name in weft.dataplane. FIPS_X counts where WEFT_X is not set, but for "
       "WEFT_OFFLOAD."},
      {"STATE_DIRECTORY", "Folder for the key and added peers; the service manager sets it."},
      {"NOTIFY_SOCKET, WATCHDOG_USEC",
       "The service manager's: it is told when weftd is ready, stops, and is alive."},
  };
  return all;
}

const std::vector<Item>& examples() {
  static const std::vector<Item> all{
      {"weft status", "Is this node linked; if not, why, and what to do."},
      {"weft peer add npub1... 192.0.2.10:2121 --name friend", "Want a neighbour, from now on."},
      {"weft ping friend", "Is it there."},
      {"weft stats history peer_count --window 1h --plot", "The last hour in one line."},
  };
  return all;
}

std::string section_of(const std::string& key) {
  const auto dot = key.rfind('.');
  return dot == std::string::npos ? std::string() : key.substr(0, dot);
}

std::string section_meaning(const std::string& section) {
  static const std::vector<Item> all{
      {"node.identity", "Who this node is."},
      {"node", "Timers and the log."},
      {"node.limits", "How much of everything there may be."},
      {"node.rate_limit", "How fast strangers may knock."},
      {"node.retry", "How often a peer that does not answer is dialled."},
      {"node.cache", "What is remembered of other nodes."},
      {"node.lookup", "Finding out where a node is."},
      {"node.rendezvous.nostr",
       "Finding peers through Nostr relays. Read and checked, without effect so far."},
      {"node.rendezvous.lan", "Finding peers on the local network. Read and checked, without effect so far."},
      {"node.tree", "The spanning tree."},
      {"node.bloom", "The summaries of who is behind whom."},
      {"node.session", "End-to-end sessions."},
      {"node.mmp", "Measuring links."},
      {"node.session_mmp", "Measuring sessions."},
      {"node.ecn", "Marking congestion."},
      {"node.rekey", "Fresh keys for links and sessions."},
      {"node.control", "The control socket."},
      {"node.native_api", "Datagrams for programs. Read and checked, without effect so far."},
      {"node.buffers", "Queue sizes."},
      {"tun", "The network interface of the mesh."},
      {"dns", "Names below .fips."},
      {"weft.dataplane", "Threads of the packet path."},
      {"weft.firewall",
       "What mesh peers may reach on this machine. With a weft section, or without any file, it is "
       "on; with a file that has none, it is off."},
      {"weft.names", "Names, and who resolves them on this machine."},
      {"weft.metrics", "Counters for a scraper."},
      {"transports.udp", "UDP. One instance, or several by name: \"udp: { v4: { ... }, v6: { ... } }\"."},
      {"transports.tcp", "TCP. Read and checked, carries nothing so far."},
      {"transports.tor", "Tor. Read and checked, carries nothing so far."},
      {"transports.tor.directory_service", "Being reachable as an onion service."},
      {"transports.ethernet", "Ethernet. Read and checked, carries nothing so far."},
      {"transports.ble", "Bluetooth. Read and checked, carries nothing so far."},
      {"transports.nym", "Nym. Read and checked, carries nothing so far."},
      {"peers[]", "Nodes to dial. A list; peers that dial us need no entry."},
      {"peers[].addresses[]", "Where a peer is. A list; the lowest priority is tried first."},
      {"gateway", "Mesh access for a network without weft. Read and checked, without effect so far."},
      {"gateway.dns", "Its name responder."},
      {"gateway.conntrack", "How long it remembers silent flows."},
      {"gateway.port_forwards[]", "Services of that network, offered to the mesh. A list."},
  };
  for (const auto& s : all)
    if (s.term == section) return s.text;
  return {};
}

}  // namespace weft::docs
