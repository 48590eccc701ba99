/// Coordinates that sessions carry, and the signals that ask for them.
#include "session/peer.h"
#include "wire/route_error.h"
#include "wire/session_frame.h"

namespace weft::session {

Result<void, Drop> Sessions::on_signal(Instant now, const NodeAddr& src, Bytes payload, Outbox& out) {
  const auto e = wire::decode_route_error(payload);
  if (!e) return bad(e.error());
  const NodeAddr dest = wire::dest_of(*e);
  if (dest == self_.addr() || src == dest) return bad(Drop::forged_signal);
  Peer* p = find(dest);
  if (p == nullptr || (!p->current && !p->question)) return bad(Drop::unbound_signal);
  if (const auto* big = std::get_if<wire::MtuExceeded>(&*e)) {
    if (big->mtu < kMtuFloor) return bad(Drop::mtu_below_floor);
    events_.emplace_back(PathMtuReport{dest, big->mtu});
    return {};
  }
  if (p->current) {
    if (now >= p->warmup_not_before) {
      if (refresh_coords(*p)) emit_session(*p, out);
      if (send_warmup(now, *p, out)) p->warmup_not_before = now + kWarmupPace;
    }
    rewarm(*p, out);
  }
  if (std::holds_alternative<wire::PathBroken>(*e)) events_.emplace_back(DropCoords{dest});
  events_.emplace_back(WantLookup{dest});
  return {};
}

bool Sessions::send_warmup(Instant now, Peer& p, Outbox& out) {
  const auto hop = p.settles_at ? std::nullopt : around_.hop_to(now, p.remote, out);
  if (!hop) return false;
  out.home(
      p.home,
      SendSession{p.remote, hop->link, static_cast<std::uint8_t>(wire::SessionMsg::coords_warmup), true, {}});
  return true;
}

bool Sessions::send_coords(Instant now, const NodeAddr& remote, Outbox& out) {
  Peer* p = find(remote);
  return p != nullptr && p->current && send_warmup(now, *p, out);
}

/// The next data packets carry coordinates again, the present ones.
void Sessions::rewarm(Peer& p, Outbox& out) {
  if (refresh_coords(p)) emit_session(p, out);
  p.stats->warmup.store(settings_.coords_warmup_packets, std::memory_order_relaxed);
}

/// True when the workers' copy is out of date.
bool Sessions::refresh_coords(Peer& p) {
  const auto own = own_shared();
  const auto* dest = around_.coords_of(p.remote);
  if (dest != nullptr && dest->empty()) dest = nullptr;
  const bool same_dest = dest == nullptr ? !p.dest_coords : p.dest_coords && *p.dest_coords == *dest;
  if (same_dest && p.own_coords == own) return false;
  p.own_coords = own;
  if (!same_dest) p.dest_coords = dest == nullptr ? nullptr : std::make_shared<const wire::Path>(*dest);
  return true;
}

/// One copy of our path for all sessions.
std::shared_ptr<const wire::Path> Sessions::own_shared() {
  const wire::Path& own = around_.own_path();
  if (!own_shared_ || *own_shared_ != own) own_shared_ = std::make_shared<const wire::Path>(own);
  return own_shared_;
}

void Sessions::emit_session(Peer& p, Outbox& out) {
  if (p.settles_at) return;  // all of it follows then
  refresh_coords(p);
  out.all(SetSession{{p.remote, p.current->send, p.current->k, p.current->start, p.path_mtu, p.own_coords,
                      p.dest_coords, p.home, p.stats}});
}

void Sessions::set_path_mtu(const NodeAddr& remote, std::uint16_t mtu, Outbox& out) {
  Peer* p = find(remote);
  if (p == nullptr || !p->current || p->path_mtu == mtu) return;
  p->path_mtu = mtu;
  emit_session(*p, out);
}

void Sessions::own_path_changed(Outbox& out) {
  for (auto& [addr, p] : peers_)
    if (p->current && p->stats->warmup.load(std::memory_order_relaxed) > 0 && refresh_coords(*p))
      emit_session(*p, out);
}

void Sessions::coords_changed(const NodeAddr& remote, Outbox& out) {
  Peer* p = find(remote);
  if (p == nullptr || !p->current || p->stats->warmup.load(std::memory_order_relaxed) == 0) return;
  if (refresh_coords(*p)) emit_session(*p, out);
}

// ---- waiting packets ----

Result<void, Drop> Sessions::queue_packet(Instant now, const NodeAddr& remote, Buffer packet, Outbox& out) {
  const bool room = pending_.put(now, remote, std::move(packet));
  route_appeared(now, remote, out);
  if (!room) return bad(Drop::pending_overflow);
  return {};
}

void Sessions::route_appeared(Instant now, const NodeAddr& remote, Outbox& out) {
  if (Peer* p = find(remote); p != nullptr && p->current) flush(now, *p, out);
}

void Sessions::flush(Instant now, Peer& p, Outbox& out) {
  if (p.settles_at || !pending_.waits_for(p.remote) || !around_.hop_to(now, p.remote, out)) return;
  for (auto& packet : pending_.take(p.remote)) out.encrypt(InjectTun{std::move(packet)});
}

Result<void, Drop> Sessions::lookup_succeeded(Instant now, const NodeAddr& remote, const PublicKey& key,
                                              Outbox& out) {
  Peer* p = find(remote);
  if (p != nullptr && p->current) {
    rewarm(*p, out);
    flush(now, *p, out);
    return {};
  }
  if (p != nullptr && p->question) {
    if (!send_setup(now, *p, out)) return bad(Drop::no_route);
    return {};
  }
  if (!pending_.waits_for(remote)) return {};
  return open(now, remote, key, out);
}

void Sessions::lookup_failed(const NodeAddr& remote) {
  if (auto packets = pending_.take(remote); !packets.empty())
    events_.emplace_back(Unreachable{remote, Unreachable::Why::lookup_failed, std::move(packets)});
}

}  // namespace weft::session
