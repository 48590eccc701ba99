#include "control/command.h"

#include "names/hosts.h"

namespace weft::control {
namespace {

auto shutting_down() { return bad(std::string("node shutting down")); }

/// Errors: the text of the reply.
Result<config::PeerAddress, std::string> address_of(const Json& j, const std::string& transport) {
  if (j.is_string()) return config::PeerAddress{transport, j.get<std::string>(), 100};
  const Params p(&j);
  const auto addr = p.text("addr");
  if (!addr) return missing("addr");
  const auto priority = p.number("priority").value_or(100);
  if (priority > 255) return bad(std::string("priority must be 0 to 255"));
  return config::PeerAddress{p.text("transport").value_or(transport), *addr,
                             static_cast<std::uint8_t>(priority)};
}

Result<void, std::string> check_address(const config::PeerAddress& a) {
  if (a.kind() != "udp") return bad("transport " + a.transport + " is not supported yet");
  if (const auto e = Endpoint::parse(a.addr); e && e->is_mesh())
    return bad(a.addr + " is an address inside the mesh; give the peer's address on the network below");
  if (!Endpoint::parse(a.addr) && !HostPort::parse(a.addr)) return bad("\"" + a.addr + "\" is not HOST:PORT");
  return {};
}

Result<std::vector<config::PeerAddress>, std::string> addresses_of(const Params& p) {
  const std::string transport = p.text("transport").value_or("udp");
  std::vector<config::PeerAddress> out;
  const auto take = [&](const Json& j) -> Result<void, std::string> {
    auto a = address_of(j, transport);
    if (!a) return bad(a.error());
    if (const auto ok = check_address(*a); !ok) return ok;
    out.push_back(std::move(*a));
    return {};
  };
  if (const auto one = p.text("address"))
    if (const auto ok = take(Json(*one)); !ok) return bad(ok.error());
  if (const Json* many = p.find("addresses"); many != nullptr && many->is_array())
    for (const Json& j : *many)
      if (const auto ok = take(j); !ok) return bad(ok.error());
  return out;
}

}  // namespace

Answer connect(Node& node, Now now, Outbox& out, const Params& p) {
  if (!p.present()) return missing_params("connect");
  const auto npub = p.text("npub");
  if (!npub) return missing("npub");
  const auto address = p.text("address");
  if (!address) return missing("address");
  const auto transport = p.text("transport");
  if (!transport) return missing("transport");
  if (node.draining()) return shutting_down();
  const auto done = node.connect(now, *npub, *address, *transport, out);
  if (!done) return bad(done.error());
  return Json{{"address", *address},
              {"npub", crypto::npub_of(done->key)},
              {"refreshed", done->refreshed},
              {"transport", *transport}};
}

Answer disconnect(Node& node, Now now, Outbox& out, const Params& p) {
  if (!p.present()) return missing_params("disconnect");
  const auto npub = p.text("npub");
  if (!npub) return missing("npub");
  if (node.draining()) return shutting_down();
  const auto done = node.disconnect(now, *npub, out);
  if (!done) return bad(done.error());
  return Json{{"disconnected", true}, {"npub", crypto::npub_of(*done)}};
}

Answer peer_add(Node& node, Now now, Outbox& out, const Params& p) {
  if (!p.present()) return missing_params("peer_add");
  const auto npub = p.text("npub");
  if (!npub) return missing("npub");
  if (node.draining()) return shutting_down();
  auto addresses = addresses_of(p);
  if (!addresses) return bad(addresses.error());
  config::Peer peer;
  const auto key = node.find_key(*npub);
  if (!key) return bad("invalid npub '" + *npub + "': " + key.error());
  peer.npub = crypto::npub_of(*key);
  peer.alias = p.text("alias");
  if (peer.alias && !names::valid_host_name(*peer.alias))
    return bad("\"" + *peer.alias +
               "\" is not a host name: 1 to 63 of A-Z a-z 0-9 and -, no dash at either end");
  peer.addresses = std::move(*addresses);
  if (peer.alias)
    if (const auto* other = node.hosts().find(*peer.alias); other != nullptr && *other != *key)
      return bad("the name \"" + *peer.alias + "\" is taken by " + crypto::npub_of(*other));
  const auto done = node.add_peer(now, peer, out);
  if (!done) return bad(done.error());
  Json list = Json::array();
  for (const auto& a : peer.addresses) list.push_back(a.addr);
  return Json{
      {"addresses", std::move(list)}, {"alias", or_null(peer.alias)}, {"kept", true}, {"npub", peer.npub}};
}

Answer peer_remove(Node& node, Now now, Outbox& out, const Params& p) {
  if (!p.present()) return missing_params("peer_remove");
  const auto npub = p.text("npub");
  if (!npub) return missing("npub");
  if (node.draining()) return shutting_down();
  const auto done = node.remove_peer(now, *npub, out);
  if (!done) return bad(done.error());
  return Json{{"npub", crypto::npub_of(*done)}, {"removed", true}};
}

Result<PublicKey, std::string> target_of(Node& node, std::string_view text) {
  std::string_view name = text;
  if (name.ends_with(".fips")) name.remove_suffix(5);
  const auto ip = parse_ip6(name);
  if (!ip) return node.find_key(name);
  if (!crypto::is_mesh_addr(*ip)) return bad(std::string(text) + " is not an address of the mesh (fd00::/8)");
  MeshAddr mesh;
  mesh.bytes = *ip;
  const auto* id = node.identity_of(mesh);
  if (id == nullptr)
    return bad("no key is known for " + std::string(text) + ": ask by npub or name, or let DNS look it up first");
  return id->key;
}

Answer resolve(Node& node, Now now, Outbox&, const Params& p) {
  if (!p.present()) return missing_params("resolve");
  const auto name = p.text("name");
  if (!name) return missing("name");
  const auto key = target_of(node, *name);
  if (!key) return bad(key.error());
  node.learn(now, *key);
  const NodeAddr addr = crypto::node_addr_of(*key);
  return Json{{"display_name", node.display_name(addr)},
              {"ipv6_addr", text_of(mesh_addr_of(addr))},
              {"is_self", node.identity().is_me(*key)},
              {"node_addr", addr.hex()},
              {"npub", crypto::npub_of(*key)}};
}

}  // namespace weft::control
