/// Key epochs: installing, proving, changing over, draining.
///
/// A weft initiator does not change over after two seconds and hope. It seals one CoordsWarmup under the new
/// keys shortly after the third message; that frame makes any responder change over, and the first frame back
/// under the new keys is the proof on which we do. Until then both sides go on with the old keys, so no
/// pattern of loss costs a packet.
#include "session/peer.h"
#include "wire/session_frame.h"

namespace weft::session {

/// The epoch `e` has its keys: the receiving half goes home first, then whatever lets the other side use it.
void Sessions::install(Instant now, Peer& p, std::unique_ptr<Epoch> e, crypto::HandshakeKeys keys,
                       Outbox& out) {
  e->id = EpochId{++last_epoch_};
  e->start = now;
  e->send = std::make_shared<SendKey>(std::move(keys.send));
  const bool first = !p.current;
  if (first) {
    const auto hop = around_.hop_to(now, p.remote, out);
    p.home = hop ? hop->home : WorkerId{};
    p.path_mtu = hop && hop->direct ? hop->mtu : around_.path_mtu_of(p.remote);
    p.stats = std::make_shared<SessionStats>();
  }
  out.home(p.home, AddSessionRecv{{p.remote, e->id, p.initiator, std::move(keys.recv), {}, p.stats}});
  const bool restarted = !first && keys.remote_epoch != p.remote_start;
  p.remote_start = keys.remote_epoch;
  if (first) {
    half_open_ -= p.answers.size();
    p.current = std::move(e);
    if (p.current->initiator) {
      send_msg3(now, p, *p.current, out);
      p.settles_at = now + kSettle;
    }
    come_up(now, p, out);
    return;
  }
  if (p.pending) drop_epoch(p, p.pending, out);
  p.pending = std::move(e);
  if (p.pending->repair) p.pending->repair->heard = p.frames_heard();
  if (p.pending->initiator) send_msg3(now, p, *p.pending, out);
  if (restarted) cut_over(now, p, out);  // it has no older keys: whatever we send under ours is lost
}

void Sessions::come_up(Instant now, Peer& p, Outbox& out) {
  p.up_since = p.drain_from = now;
  p.review_at = now + kReview;
  p.stats->warmup.store(settings_.coords_warmup_packets, std::memory_order_relaxed);
  plan_rekey(now, p, Duration{});
  out.home(p.home, SessionCutover{p.remote, p.current->id});
  events_.emplace_back(SessionUp{p.remote, *p.key, p.initiator, p.stats});
  if (!p.settles_at) settle(now, p, out);
}

/// The other side has its receiving half for sure or very likely: data may go.
void Sessions::settle(Instant now, Peer& p, Outbox& out) {
  p.settles_at.reset();
  emit_session(p, out);
  flush(now, p, out);
}

void Sessions::cut_over(Instant now, Peer& p, Outbox& out) {
  if (p.previous) drop_epoch(p, p.previous, out);
  p.previous = std::move(p.current);
  p.current = std::move(p.pending);
  p.current->k = !p.previous->k;
  p.previous->repair.reset();
  p.drain_from = now;
  p.silent_since.reset();
  p.settles_at.reset();
  out.home(p.home, SessionCutover{p.remote, p.current->id});
  emit_session(p, out);
  plan_rekey(now, p, Duration{});
  events_.emplace_back(RekeyDone{p.remote, p.current->start});
}

Result<void, Drop> Sessions::on_proven(Instant now, const PuntSessionProven& proof, Outbox& out) {
  Peer* p = find(proof.remote);
  if (p == nullptr || !p->current) return bad(Drop::unknown_session);
  const bool next = p->pending && p->pending->id == proof.epoch;
  if (!next && p->current->id != proof.epoch) {
    if (p->previous && p->previous->id == proof.epoch) return {};
    return bad(Drop::bad_state);
  }
  if (next) cut_over(now, *p, out);
  else if (p->settles_at) settle(now, *p, out);
  Epoch& e = *p->current;
  e.repair.reset();
  const bool news = !e.proven;
  e.proven = true;
  // The initiator goes on repairing, and a rekeying one on its old keys, until it hears us under these.
  if (news && !e.initiator) send_warmup(now, *p, out);
  schedule(*p);
  return {};
}

void Sessions::drop_epoch(const Peer& p, std::unique_ptr<Epoch>& e, Outbox& out) {
  if (!e) return;
  out.home(p.home, DropSessionRecv{p.remote, e->id});
  e.reset();
}

void Sessions::drop_keys(Peer& p, Outbox& out) {
  if (!p.current) return;
  drop_epoch(p, p.previous, out);
  drop_epoch(p, p.pending, out);
  drop_epoch(p, p.current, out);
  out.all(DropSession{p.remote});
}

/// Losses are repaired by timer and by repeated acks, so a missing next hop is one loss among others.
void Sessions::send_msg3(Instant now, const Peer& p, Epoch& e, Outbox& out) {
  Buffer payload;
  wire::encode_session_msg3(payload, {e.repair->msg3});
  around_.send_datagram(now, p.remote, std::move(payload), out);
  if (p.current.get() != &e || p.previous) e.repair->probe_at = now + kProbeDelay;
}

/// An empty CoordsWarmup, sealed here because no worker sends under `e` yet. Its counter comes from the same
/// SendKey.
void Sessions::send_probe(Instant now, const Peer& p, const Epoch& e, Outbox& out) {
  const auto hop = around_.hop_to(now, p.remote, out);
  const auto counter = e.send->reserve(1);
  if (!hop || !counter) return;
  static const wire::Path kNone;
  const wire::Path* from = &around_.own_path();
  const std::size_t room = hop->mtu > wire::kFipsOverhead ? hop->mtu - wire::kFipsOverhead : 0;
  if (wire::coords_size(from->size()) + wire::coords_size(0) > room) from = &kNone;
  Buffer f(wire::kSessionHeader);
  wire::write_session_header(f, {true, false, wire::kSessionInner, *counter});
  wire::put_path(f, *from);
  wire::put_path(f, kNone);
  const auto at = f.size();
  f.resize(at + wire::kSessionInner + wire::kTag);
  std::array<std::uint8_t, wire::kSessionInner> inner{};
  wire::write_session_inner(
      inner, {wire_ms(e.start, now), static_cast<std::uint8_t>(wire::SessionMsg::coords_warmup), false, {}});
  crypto::seal_once(crypto::Secret32{e.send->key.view()}, *counter, Bytes{f}.first(wire::kSessionHeader),
                    inner, f.data() + at);
  e.send->bytes.fetch_add(wire::kSessionInner + wire::kTag, std::memory_order_relaxed);
  around_.send_datagram(now, p.remote, std::move(f), out);
}

/// Age counts from the current epoch; the jitter keeps two sides that came up together from crossing each
/// time.
void Sessions::plan_rekey(Instant now, Peer& p, Duration not_before) {
  p.rekey_at = kNever;
  if (!settings_.rekey) return;
  const Duration span = std::min<Duration>(kRekeyJitter, settings_.rekey_after / 4);
  const auto jitter = std::chrono::milliseconds{rng_.between(-to_ms(span), to_ms(span))};
  p.rekey_at = std::max(p.current->start + settings_.rekey_after + jitter, now + not_before);
}

}  // namespace weft::session
