// What people want of a node: names, lists, neighbours, a look at another node, an end.
#include "config/load.h"
#include "node/node.h"

namespace weft {
namespace {

auto is_peer(const PublicKey& key) {
  return [key](const config::Peer& p) {
    const auto k = crypto::parse_npub(p.npub);
    return k && *k == key;
  };
}

}  // namespace

// ---- names and lists ------------------------------------------------------------------------------------------------

Result<names::DnsReply, Drop> Node::on_dns(Now now, Bytes query) {
  auto reply = names::answer_dns(query, config_.dns.ttl, hosts_);
  if (reply && reply->prime) identities_.put(*reply->prime, now.mono);
  if (!reply) drops_.add(reply.error());
  else if (reply->refused) drops_.add(*reply->refused);
  return reply;
}

void Node::rebuild_names(Now now) {
  hosts_ = {};
  const auto alias = [&](const config::Peer& p) {
    if (!p.alias) return;
    if (const auto key = crypto::parse_npub(p.npub); key && !hosts_.put(*p.alias, *key))
      log_(Level::warn, "alias", "alias \"{}\" is not a host name (1 to 63 of A-Z a-z 0-9 -) and is not resolved", *p.alias);
  };
  for (const auto& p : config_.peers) alias(p);
  for (const auto& p : kept_peers_) alias(p);
  const auto file = names::parse_hosts(hosts_text_);
  for (const auto& w : file.warnings) log_(Level::warn, "hosts", "hosts line {}: {}", w.line, w.text);
  hosts_.put_all(file.map);
  hosts_of_file_ = file.map;
  for (const auto& [name, key] : hosts_.entries()) identities_.put(key, now.mono);
  acl_ = acl::Acl::parse(allow_text_, deny_text_,
                         [&](std::string_view name) { return names::resolve_name(hosts_, names::lower_case(name)); });
  for (const auto& w : acl_.warnings()) log_(Level::warn, "acl", "{} line {}: {}", w.file, w.line, w.text);
}

void Node::set_hosts(Now now, std::string_view hosts_text) {
  hosts_text_ = hosts_text;
  rebuild_names(now);
}

void Node::set_acl(Now now, std::string_view allow_text, std::string_view deny_text) {
  allow_text_ = allow_text;
  deny_text_ = deny_text;
  rebuild_names(now);
}

void Node::set_peers(Now now, const std::vector<config::Peer>& peers, Outbox& out) {
  config_.peers = peers;
  rebuild_names(now);
  rebuild_wanted(now, out);
}

void Node::rebuild_wanted(Now now, Outbox& out) {
  std::vector<link::Wanted> wanted;
  const auto add = [&](const config::Peer& p, bool kept) {
    const auto key = crypto::parse_npub(p.npub);
    if (!key) return log_(Level::warn, "peer", "peer \"{}\" skipped: {}", p.npub, key.error());
    if (identity_.is_me(*key)) return log_(Level::warn, "peer", "peer {} skipped: it is this node itself", p.npub);
    if (std::ranges::any_of(wanted, [&](const auto& w) { return w.key == *key; })) return;
    identities_.put(*key, now.mono);
    wanted.push_back({*key, p.alias.value_or(""), p.addresses, p.connect_policy == config::ConnectPolicy::auto_connect,
                      p.auto_reconnect, kept});
  };
  for (const auto& p : config_.peers) add(p, false);
  for (const auto& p : kept_peers_) add(p, true);
  peering_.set(now, std::move(wanted), out);
  take_link_events(now, out);
}

std::string Node::display_name(const NodeAddr& addr) const {
  const auto* id = identities_.peek(addr);
  return names::display_name(hosts_, "", addr, id ? &id->key : nullptr);
}

Result<PublicKey, std::string> Node::find_key(std::string_view text) const {
  if (text.starts_with("npub1")) {
    const auto key = crypto::parse_npub(text);
    if (!key) return bad(std::string(key.error()));
    return *key;
  }
  if (const auto key = names::resolve_name(hosts_, names::lower_case(text))) return *key;
  return bad("\"" + std::string(text) + "\" is neither an npub nor a name in the hosts file or among the peers' aliases");
}

// ---- operators' wishes ----------------------------------------------------------------------------------------------

Result<Node::Connected, std::string> Node::connect(Now now, std::string_view who, std::string_view address,
                                                   std::string_view transport, Outbox& out) {
  if (draining_) return bad(std::string("node shutting down"));
  const auto key = find_key(who);
  if (!key) return bad(key.error());
  const config::PeerAddress a{std::string(transport), std::string(address), 100};
  const auto to = Endpoint::parse(address);
  if (!to) {
    if (!HostPort::parse(address)) return bad("\"" + std::string(address) + "\" is not HOST:PORT");
    // A host name: looked up without blocking, like a peer of the configuration that is tried once.
    link::Wanted once{*key, "", {a}, true, false, false};
    if (peering_.wanted().contains(*key)) once = peering_.wanted().at(*key).want, once.addresses.push_back(a);
    peering_.add(now, std::move(once), out);
    take_link_events(now, out);
    return Connected{*key, links_.find(crypto::node_addr_of(*key)) != nullptr};
  }
  const bool live = links_.find(crypto::node_addr_of(*key)) != nullptr;
  if (to->is_mesh()) return bad(std::string("an address inside the mesh (fd00::/8) cannot carry a link; give the peer's address on the network below"));
  const auto t = peering_.transport_for(a.kind(), a.instance(), *to);
  if (!t) return bad("no transport is up for " + a.transport + " to " + to->text());
  identities_.put(*key, now.mono);
  if (const auto link = links_.dial(now, *key, *t, *to, out); !link) return bad(link.error());
  return Connected{*key, live};
}

Result<PublicKey, std::string> Node::disconnect(Now now, std::string_view who, Outbox& out) {
  const auto key = find_key(who);
  if (!key) return bad("invalid npub '" + std::string(who) + "': " + key.error());
  if (!links_.disconnect(now, crypto::node_addr_of(*key), wire::DisconnectReason::configuration_change,
                         link::End::operator_asked, out))
    return bad("peer not found: " + std::string(who));
  take_link_events(now, out);
  return *key;
}

Result<PublicKey, std::string> Node::add_peer(Now now, const config::Peer& peer, Outbox& out) {
  const auto key = crypto::parse_npub(peer.npub);
  if (!key) return bad(std::string(key.error()));
  if (identity_.is_me(*key)) return bad(std::string("that is this node's own key"));
  const auto is_it = is_peer(*key);
  if (std::ranges::any_of(config_.peers, is_it)) return bad(std::string("this peer is in the configuration file already; change it there"));
  std::erase_if(kept_peers_, is_it);
  kept_peers_.push_back(peer);
  rebuild_names(now);
  rebuild_wanted(now, out);
  keep(out);
  return *key;
}

Result<PublicKey, std::string> Node::remove_peer(Now now, std::string_view who, Outbox& out) {
  const auto key = find_key(who);
  if (!key) return bad(key.error());
  const auto is_it = is_peer(*key);
  if (std::erase_if(kept_peers_, is_it) == 0) {
    if (std::ranges::any_of(config_.peers, is_it))
      return bad(std::string("this peer is in the configuration file; remove it there and reload"));
    return bad("peer not found: " + std::string(who));
  }
  peering_.remove(*key);
  links_.disconnect(now, crypto::node_addr_of(*key), wire::DisconnectReason::configuration_change, link::End::operator_asked, out);
  take_link_events(now, out);
  rebuild_names(now);
  rebuild_wanted(now, out);
  keep(out);
  return *key;
}

Result<std::uint64_t, std::string> Node::start_probe(Now now, const PublicKey& key, bool thorough, Outbox& out) {
  if (draining_) return bad(std::string("node shutting down"));
  if (identity_.is_me(key)) return bad(std::string("cannot probe this node"));
  learn(now, key);  // else its answer to a lookup could not be checked
  return probe_flow_.start(now, key, thorough, out);
}

void Node::keep(Outbox& out) const { out.push(KeepPeers{config::peers_text(kept_peers_)}); }

void Node::drain(Now now, Outbox& out) {
  draining_ = true;
  peering_.stop();
  links_.drain(now, out);
  take_link_events(now, out);
}

}  // namespace weft
