#include "node/flow_session.h"

#include "dataplane/icmp6.h"
#include "wire/session_frame.h"

namespace weft {
namespace {

/// Least size that a handshake's envelope is believed: anybody could make a new session crawl with less, and a path that is
/// really narrower says so by MtuExceeded.
constexpr std::uint16_t kLeastGuess = 1280;

}  // namespace

SessionFlow::SessionFlow(const crypto::Identity& self, session::Sessions& sessions, names::IdentityCache& identities,
                         RouteFlow& routes, LookupFlow& lookups, ReportFlow& reports, CoordCache& coords,
                         RouteErrors& errors, Log& log, DropCounters& drops)
    : self_(self), sessions_(sessions), identities_(identities), routes_(routes), lookups_(lookups), reports_(reports),
      coords_(coords), errors_(errors), log_(log), drops_(drops) {}

void SessionFlow::on_tun_packet(Now now, Buffer packet, Outbox& out) {
  if (packet.size() < wire::kIp6Header) return drops_.add(Drop::packet_truncated);
  const MeshAddr dest = MeshAddr::from(Bytes(packet).subspan(24, 16));
  const auto* id = identities_.find(dest);
  if (!id) {
    drops_.add(Drop::unknown_destination);
    return unreachable(now, packet, out);
  }
  const NodeAddr remote = id->addr;
  const PublicKey key = id->key;
  count(sessions_.queue_packet(now.mono, remote, std::move(packet), out));
  if (!sessions_.pending().waits_for(remote)) return take_events(now, out);
  if (sessions_.established(remote)) lookups_.want(now, remote, out);  // there are keys, but no way
  else try_open(now, remote, key, out);
  take_events(now, out);
}

void SessionFlow::try_open(Now now, const NodeAddr& remote, const PublicKey& key, Outbox& out) {
  const auto r = sessions_.open(now.mono, remote, key, out);
  if (r) return;
  if (r.error() == Drop::no_route) return lookups_.want(now, remote, out);
  drops_.add(r.error());
  sessions_.lookup_failed(remote);
}

Result<void, Drop> SessionFlow::open(Now now, const NodeAddr& remote, Outbox& out) {
  const auto* id = identities_.peek(remote);
  if (id == nullptr) return bad(Drop::unknown_destination);
  const auto r = sessions_.open(now.mono, remote, id->key, out);
  take_events(now, out);
  return r;
}

void SessionFlow::on_datagram(Now now, const NodeAddr& via, const wire::Envelope& e, Outbox& out) {
  const auto kind = wire::classify_session_payload(e.payload);
  if (!kind) return drops_.add(kind.error());
  // What came this way whole is the best guess about the way back; the first packets will tell.
  if ((*kind == wire::SessionKind::setup || *kind == wire::SessionKind::ack) && e.path_mtu != wire::kMtuUnknown &&
      e.path_mtu >= kLeastGuess)
    coords_.set_path_mtu(e.from, e.path_mtu);
  switch (*kind) {
    case wire::SessionKind::setup: count(sessions_.on_setup(now.mono, e.from, via, e.payload, out)); break;
    case wire::SessionKind::ack: count(sessions_.on_ack(now.mono, e.from, e.payload, out)); break;
    case wire::SessionKind::msg3: count(sessions_.on_msg3(now.mono, e.from, e.payload, out)); break;
    case wire::SessionKind::signal: {
      const auto bound = [&](const NodeAddr& dest) { return sessions_.view(dest).has_value(); };
      const auto signal = errors_.on_signal(e.from, e.payload, bound);
      if (!signal) return drops_.add(signal.error());
      signals_.push_back({wire::dest_of(*signal), *signal, now.mono});
      if (signals_.size() > kSignals) signals_.pop_front();
      count(sessions_.on_signal(now.mono, e.from, e.payload, out));
      break;
    }
    case wire::SessionKind::sealed: drops_.add(Drop::bad_state); break;  // workers open those
  }
  take_events(now, out);
}

void SessionFlow::on_proven(Now now, const PuntSessionProven& in, Outbox& out) {
  count(sessions_.on_proven(now.mono, in, out));
  take_events(now, out);
}

void SessionFlow::on_coords(Now now, const PuntCoords& in, Outbox& out) {
  routes_.warm(now.mono, in.source, in.source_path);
  routes_.warm(now.mono, in.dest, in.dest_path);
  sessions_.route_appeared(now.mono, in.source, out);
  take_events(now, out);
}

void SessionFlow::on_lookups(Now now, const LookupFlow::Results& results, Outbox& out) {
  for (const auto& f : results.found) {
    if (f.path_mtu >= wire::kMtuFloor) reports_.on_path_mtu_claim(now, f.target, f.path_mtu, out);
    count(sessions_.lookup_succeeded(now.mono, f.target, f.key, out));
  }
  for (const auto& target : results.failed) sessions_.lookup_failed(target);
  take_events(now, out);
}

void SessionFlow::on_link_down(Now now, const NodeAddr& peer, Outbox& out) {
  sessions_.remove(peer, out);
  take_events(now, out);
}

void SessionFlow::on_own_path_changed(Now now, Outbox& out) {
  sessions_.own_path_changed(out);
  take_events(now, out);
}

void SessionFlow::on_routes_changed(Now now, Outbox& out) {
  if (sessions_.pending().destinations() == 0) return;
  std::vector<std::pair<NodeAddr, PublicKey>> waiting;
  for (const auto& [mesh, id] : identities_)
    if (sessions_.pending().waits_for(id.addr)) waiting.emplace_back(id.addr, id.key);
  for (const auto& [remote, key] : waiting) {
    if (sessions_.established(remote)) sessions_.route_appeared(now.mono, remote, out);
    else if (routes_.hop_to(now.mono, remote, out)) try_open(now, remote, key, out);
  }
  take_events(now, out);
}

void SessionFlow::on_deadline(Now now, Outbox& out) {
  sessions_.on_deadline(now.mono, out);
  take_events(now, out);
}

void SessionFlow::take_events(Now now, Outbox& out) {
  for (auto& event : sessions_.take_events()) {
    if (const auto* e = std::get_if<session::SessionUp>(&event)) {
      identities_.put(e->key, now.mono);
      reports_.on_session_up(now, e->remote);
      log_(Level::debug, "session", "session with {}", crypto::short_npub_of(e->key));
    } else if (const auto* down = std::get_if<session::SessionDown>(&event)) {
      reports_.on_session_down(down->remote);
    } else if (const auto* k = std::get_if<session::KeyLearned>(&event)) {
      identities_.put(k->key, now.mono);
    } else if (const auto* r = std::get_if<session::RekeyDone>(&event)) {
      reports_.on_session_rekeyed(now, r->remote, r->epoch_start);
    } else if (const auto* d = std::get_if<session::DropCoords>(&event)) {
      coords_.erase(d->remote);
      reports_.on_path_gone(d->remote, out);
    } else if (const auto* w = std::get_if<session::WantLookup>(&event)) {
      if (identities_.find(w->remote)) lookups_.want(now, w->remote, out);
    } else if (const auto* m = std::get_if<session::PathMtuReport>(&event)) {
      reports_.on_path_mtu_claim(now, m->remote, m->mtu, out);
    } else if (const auto* u = std::get_if<session::Unreachable>(&event)) {
      if (!u->packets.empty()) drops_.add(Drop::pending_expired, u->packets.size());
      for (const auto& p : u->packets) unreachable(now, p, out);
    }
  }
  for (const NodeAddr& dest : routes_.take_unroutable())
    if (identities_.find(dest)) lookups_.want(now, dest, out);
}

void SessionFlow::unreachable(Now now, Bytes packet, Outbox& out) {
  if (!icmp_.take(now.mono)) {
    ++icmp_suppressed_;
    return drops_.add(Drop::icmp_rate);
  }
  IcmpError error;
  const std::size_t size = make_unreachable(error, packet, self_.mesh_addr());
  if (size != 0) out.push(WriteTun{Buffer(error.begin(), error.begin() + static_cast<std::ptrdiff_t>(size))});
}

}  // namespace weft
