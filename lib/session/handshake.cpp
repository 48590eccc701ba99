/// Setup, answer, third message: for first contact and for rekeys alike.
#include "session/peer.h"
#include "wire/session_frame.h"

namespace weft::session {

Result<void, Drop> Sessions::open(Instant now, const NodeAddr& remote, const PublicKey& key, Outbox& out) {
  if (remote == self_.addr()) return bad(Drop::own_source);
  Peer* p = find(remote);
  if (p != nullptr && (p->current || p->question)) return {};
  if (p != nullptr) {
    const auto asked = ask(now, *p, key, out);
    schedule(*p);
    return asked;
  }
  if (peers_.size() >= kMaxSessions) return bad(Drop::setup_table_full);
  auto fresh = std::make_unique<Peer>(remote, now);
  if (const auto asked = ask(now, *fresh, key, out); !asked) return asked;
  schedule(*fresh);
  peers_.emplace(remote, std::move(fresh));
  return {};
}

/// Begins a handshake of ours beside whatever there is. Kept only when it could be sent.
Result<void, Drop> Sessions::ask(Instant now, Peer& p, const PublicKey& key, Outbox& out) {
  auto xk = crypto::XkInitiator::start(key, rng_);
  if (!xk) return bad(xk.error());
  p.question.emplace(
      Question{std::move(*xk), now + settings_.resend_interval, now + settings_.handshake_timeout});
  // They asked first: their handshake gets the time of one resend before ours crosses it.
  if (!p.answers.empty()) return {};
  if (send_setup(now, p, out)) return {};
  p.question.reset();
  return bad(Drop::no_route);
}

/// The same noise bytes each time, under the coordinates of the moment.
bool Sessions::send_setup(Instant now, const Peer& p, Outbox& out) {
  wire::SessionSetup m;
  m.from = around_.own_path();
  const auto* to = around_.coords_of(p.remote);
  m.to = to != nullptr && !to->empty() ? *to : m.from;
  m.noise = p.question->xk.msg1();
  Buffer payload;
  wire::encode_session_setup(payload, m);
  return around_.send_datagram(now, p.remote, std::move(payload), out);
}

Result<void, Drop> Sessions::on_setup(Instant now, const NodeAddr& src, const NodeAddr& via, Bytes payload,
                                      Outbox& out) {
  const auto setup = wire::decode_session_setup(payload);
  if (!setup) return bad(setup.error());
  if (src == self_.addr()) return bad(Drop::own_source);
  Peer* p = find(src);
  if (!limiter_.take(now, via, p != nullptr && p->current)) return bad(Drop::setup_rate);
  if (p == nullptr) {
    if (peers_.size() >= kMaxSessions) return bad(Drop::setup_table_full);
    auto fresh = std::make_unique<Peer>(src, now);
    if (const auto ok = answer(now, *fresh, via, *setup, out); !ok) return ok;
    schedule(*fresh);
    peers_.emplace(src, std::move(fresh));
    return {};
  }
  for (const auto& a : p->answers)
    if (a.asked == setup->noise) {
      if (!around_.send_datagram(now, src, a.ack, out)) return bad(Drop::no_route);
      return {};
    }
  if (p->last_asked == setup->noise) return bad(Drop::duplicate_handshake);
  if (p->question && self_.addr() < src) return bad(Drop::rekey_tiebreak);
  if (p->pending && now - p->pending->start < settings_.handshake_timeout) return bad(Drop::rekey_pending);
  if (const auto ok = answer(now, *p, via, *setup, out); !ok) return ok;
  if (p->current) p->asked_again = now;
  schedule(*p);
  return {};
}

/// Answers a setup. A question of ours that loses the tie-break stays: the setup may be forged, and the other
/// side drops ours if it is not.
Result<void, Drop> Sessions::answer(Instant now, Peer& p, const NodeAddr& via,
                                    const wire::SessionSetup& setup, Outbox& out) {
  auto xk = crypto::XkResponder::read_msg1(self_, setup.noise, startup_, rng_);
  if (!xk) return bad(xk.error());
  if (!p.current)
    if (const auto room = make_room(p.remote, via); !room) return room;
  Buffer ack;
  wire::encode_session_ack(ack, {around_.own_path(), setup.from, xk->msg2()});
  if (!around_.send_datagram(now, p.remote, ack, out)) return bad(Drop::no_route);

  if (p.answers.size() >= kMaxAnswers) {
    p.answers.erase(p.answers.begin());
    if (!p.current) --half_open_;
  }
  p.answers.push_back(Answer{std::move(*xk), setup.noise, via, std::move(ack), now,
                             now + settings_.resend_interval, now + settings_.handshake_timeout});
  if (!p.current) ++half_open_;
  return {};
}

/// A place for one more half-open stranger. A full share gives up its oldest: an honest handshake needs one
/// round trip, a flood's never end.
Result<void, Drop> Sessions::make_room(const NodeAddr& src, const NodeAddr& via) {
  if (half_open_ < kMaxHalfOpenPerVia) return {};
  std::size_t of_via = 0;
  Peer* oldest = nullptr;
  std::size_t which = 0;
  for (const auto& [addr, p] : peers_) {
    if (p->current || addr == src) continue;
    for (std::size_t i = 0; i < p->answers.size(); ++i) {
      if (p->answers[i].via != via) continue;
      ++of_via;
      if (oldest != nullptr && oldest->answers[which].made <= p->answers[i].made) continue;
      oldest = p.get();
      which = i;
    }
  }
  if (half_open_ < kMaxHalfOpen && of_via < kMaxHalfOpenPerVia) return {};
  if (oldest == nullptr) return bad(Drop::setup_table_full);
  oldest->answers.erase(oldest->answers.begin() + static_cast<std::ptrdiff_t>(which));
  --half_open_;
  if (oldest->empty()) forget(oldest->remote);
  return {};
}

Result<void, Drop> Sessions::on_ack(Instant now, const NodeAddr& src, Bytes payload, Outbox& out) {
  const auto ack = wire::decode_session_ack(payload);
  if (!ack) return bad(ack.error());
  Peer* p = find(src);
  if (p == nullptr) return bad(Drop::unknown_session);
  for (Epoch* e : {p->pending.get(), p->current.get()})
    if (e != nullptr && e->repair && e->repair->answered == ack->noise) return repeat_msg3(now, *p, *e, out);
  if (!p->question) return bad(Drop::bad_state);
  if (!ack_reads_.take(now)) return bad(Drop::setup_rate);
  auto done = p->question->xk.read_msg2(self_, ack->noise, startup_);
  if (!done) return bad(Drop::ack_failed);

  const PublicKey key = p->question->xk.responder();
  p->question.reset();
  auto e = std::make_unique<Epoch>();
  e->initiator = true;
  e->repair.emplace();
  e->repair->answered = ack->noise;
  e->repair->msg3 = done->msg3;
  e->repair->resend_at = kNever;
  e->repair->expires = now + settings_.handshake_timeout;
  e->repair->not_before = now + kMsg3Pace;
  const bool first = !p->current;
  if (first) {
    p->key = key;
    p->initiator = true;
  } else {
    e->repair->resend_at = now + settings_.resend_interval;
  }
  install(now, *p, std::move(e), std::move(done->keys), out);
  schedule(*p);
  return {};
}

Result<void, Drop> Sessions::repeat_msg3(Instant now, Peer& p, Epoch& e, Outbox& out) {
  if (now < e.repair->not_before) return bad(Drop::duplicate_handshake);
  e.repair->not_before = now + kMsg3Pace;
  send_msg3(now, p, e, out);
  return {};
}

Result<void, Drop> Sessions::on_msg3(Instant now, const NodeAddr& src, Bytes payload, Outbox& out) {
  const auto m = wire::decode_session_msg3(payload);
  if (!m) return bad(m.error());
  Peer* p = find(src);
  if (p == nullptr) return bad(Drop::unknown_session);
  if (p->current && p->last_msg3 == m->noise) return reassure(now, *p, out);
  if (p->answers.empty()) return bad(Drop::bad_state);
  for (std::size_t i = 0; i < p->answers.size(); ++i) {
    auto keys = p->answers[i].xk.read_msg3(m->noise);
    if (!keys) continue;
    const PublicKey key = keys->remote();
    if (crypto::node_addr_of(key) != src || (p->current && p->key && *p->key != key)) {
      // Somebody finished a handshake under an address that is not theirs. Others may be in flight.
      p->answers.erase(p->answers.begin() + static_cast<std::ptrdiff_t>(i));
      if (!p->current) --half_open_;
      if (p->empty()) forget(src);
      else schedule(*p);
      return bad(Drop::key_mismatch);
    }
    p->last_asked = p->answers[i].asked;
    p->last_msg3 = m->noise;
    forget_answers(*p);
    p->question.reset();
    if (!p->current) {
      p->key = key;
      p->initiator = false;
      events_.emplace_back(KeyLearned{src, key});
    }
    install(now, *p, std::make_unique<Epoch>(), std::move(*keys), out);
    schedule(*p);
    return {};
  }
  return bad(Drop::msg3_failed);
}

/// A repeated third message. Anybody can repeat one, so at the pace of signals.
Result<void, Drop> Sessions::reassure(Instant now, Peer& p, Outbox& out) {
  if (!p.current->proven || p.pending || now < p.warmup_not_before) return bad(Drop::duplicate_handshake);
  if (send_warmup(now, p, out)) p.warmup_not_before = now + kWarmupPace;
  return {};
}

void Sessions::forget_answers(Peer& p) {
  if (!p.current) half_open_ -= p.answers.size();
  p.answers.clear();
}

}  // namespace weft::session
