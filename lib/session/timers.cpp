/// Everything that happens because time passed. One deadline per remote node: the earliest of its reasons.
#include <cmath>

#include "session/peer.h"

namespace weft::session {
namespace {

Instant drained_at(const Peer& p) { return std::max(p.drain_from, p.stats->older_epoch_recv.get()) + kDrain; }

Instant due(const Repair& r) { return std::min({r.resend_at, r.probe_at, r.expires}); }

}  // namespace

Duration Sessions::backoff(unsigned count) const {
  const double factor = std::pow(std::max(settings_.resend_backoff, 1.0), std::min(count, 16U));
  return Duration{
      static_cast<Duration::rep>(static_cast<double>(settings_.resend_interval.count()) * factor)};
}

std::optional<Instant> Sessions::deadline() const { return earlier(deadlines_.next(), pending_.deadline()); }

void Sessions::on_deadline(Instant now, Outbox& out) {
  std::vector<NodeAddr> due;
  while (auto addr = deadlines_.pop_due(now)) due.push_back(*addr);
  for (const auto& addr : due) {
    Peer* p = find(addr);
    if (p == nullptr) continue;
    on_due(now, *p, out);
    if (p->empty()) forget(addr);
    else schedule(*p);
  }
  while (auto old = pending_.take_expired(now))
    events_.emplace_back(Unreachable{old->first, Unreachable::Why::waited_too_long, std::move(old->second)});
}

void Sessions::schedule(const Peer& p) {
  Instant next = kNever;
  const auto also = [&](Instant t) { next = std::min(next, t); };
  if (p.question) also(std::min(p.question->resend_at, p.question->expires));
  for (const auto& a : p.answers) also(std::min(a.resend_at, a.expires));
  if (p.current) {
    if (p.settles_at) also(*p.settles_at);
    if (p.current->repair) also(due(*p.current->repair));
    if (p.pending && p.pending->repair) also(due(*p.pending->repair));
    if (p.previous) also(drained_at(p));
    if (settings_.idle_timeout > Duration{}) also(p.last_activity() + settings_.idle_timeout);
    also(p.review_at);
    also(rekey_moment(p));
  }
  if (next == kNever) deadlines_.clear(p.remote);
  else deadlines_.set(p.remote, next);
}

void Sessions::on_due(Instant now, Peer& p, Outbox& out) {
  if (p.question) question_due(now, p, out);
  answers_due(now, p, out);
  if (!p.current) return;
  if (settings_.idle_timeout > Duration{} && p.last_activity() + settings_.idle_timeout <= now) {
    p.question.reset();
    forget_answers(p);
    drop_keys(p, out);
    events_.emplace_back(SessionDown{p.remote, SessionDown::Reason::idle});
    return;
  }
  if (p.settles_at && *p.settles_at <= now) settle(now, p, out);
  if (p.current->repair) repair_due(now, p, *p.current, out);
  if (p.pending && p.pending->repair) repair_due(now, p, *p.pending, out);
  if (p.previous && drained_at(p) <= now) drop_epoch(p, p.previous, out);
  if (p.review_at <= now) review_due(now, p);
  if (rekey_moment(p) <= now) rekey_due(now, p, out);
}

void Sessions::question_due(Instant now, Peer& p, Outbox& out) {
  Question& q = *p.question;
  if (q.expires <= now) {
    p.question.reset();
    if (p.current) {
      plan_rekey(now, p, kRekeyDampening);
      return;
    }
    if (!p.answers.empty()) return;  // theirs may yet succeed; packets wait for it
    events_.emplace_back(Unreachable{p.remote, Unreachable::Why::handshake_timeout, pending_.take(p.remote)});
    return;
  }
  if (q.resend_at > now) return;
  if (q.resends >= settings_.max_resends) {
    q.resend_at = kNever;
    return;
  }
  if (send_setup(now, p, out)) q.resend_at = now + backoff(++q.resends);
  else q.resend_at = now + settings_.resend_interval;
}

void Sessions::answers_due(Instant now, Peer& p, Outbox& out) {
  const auto gone = std::erase_if(p.answers, [now](const Answer& a) { return a.expires <= now; });
  if (!p.current) half_open_ -= gone;
  for (auto& a : p.answers) {
    if (a.resend_at > now) continue;
    if (a.resends >= settings_.max_resends) a.resend_at = kNever;
    else if (around_.send_datagram(now, p.remote, a.ack, out)) a.resend_at = now + backoff(++a.resends);
    else a.resend_at = now + settings_.resend_interval;
  }
}

/// The third message again, or the frame that proves it, or the end of trying.
void Sessions::repair_due(Instant now, Peer& p, Epoch& e, Outbox& out) {
  Repair& r = *e.repair;
  const bool live = p.current.get() == &e;
  if (r.expires <= now) {
    // Nothing proved a rekey. Frames under the old keys since the last try: the peer never took the new ones.
    // None at all: it may have, and whoever answers under them is heard either way.
    const bool took_none = p.frames_heard() != r.heard;
    e.repair.reset();
    if (live) return;
    if (!took_none) return cut_over(now, p, out);
    drop_epoch(p, p.pending, out);
    return plan_rekey(now, p, kRekeyDampening);
  }
  if (r.probe_at <= now) {
    r.probe_at = kNever;
    send_probe(now, p, e, out);
  }
  if (r.resend_at > now) return;
  r.resend_at = kNever;
  if (r.resends >= settings_.max_resends) return;
  r.resend_at = now + backoff(++r.resends);
  r.heard = p.frames_heard();
  send_msg3(now, p, e, out);
}

/// What the workers' counters say: a used-up key, or a peer that hears nothing of what we send.
void Sessions::review_due(Instant now, Peer& p) {
  p.review_at = now + kReview;
  const auto sent = p.stats->packets_sent.get();
  const auto heard = p.frames_heard();
  if (heard != p.heard_seen) {
    p.silent_since.reset();
    // What a rekey makes them say is no sign that they report.
    if (!p.question && !p.pending && now - p.drain_from > kDrain) p.patience = kSilence;
  } else if (sent != p.sent_seen && !p.silent_since) {
    p.silent_since = now - kReview;
  }
  p.sent_seen = sent;
  p.heard_seen = heard;
  const bool silent = p.silent_since && now - *p.silent_since >= p.patience;
  const bool used_up =
      settings_.rekey && now - p.current->start >= kRekeyMinAge &&
      p.current->send->next.load(std::memory_order_relaxed) >= settings_.rekey_after_messages;
  if (!silent && !used_up) return;
  if (silent) {
    p.silent_since = now;
    p.patience = std::min(2 * p.patience, kMaxSilence);
  }
  p.rekey_at = std::min(p.rekey_at, now);
}

/// When a rekey of ours is to begin, all holds considered; kNever while one is under way.
Instant Sessions::rekey_moment(const Peer& p) const {
  if (p.question || p.rekey_at == kNever) return kNever;
  Instant at = p.rekey_at;
  if (p.asked_again)
    at = std::max(at, std::min(*p.asked_again + kRekeyDampening, p.rekey_at + kDampeningOverride));
  if (!p.pending) return at;
  if (p.pending->initiator) return kNever;  // ends in a cutover or is given up
  return std::max(at, p.pending->start + 2 * settings_.handshake_timeout);
}

void Sessions::rekey_due(Instant now, Peer& p, Outbox& out) {
  if (ask(now, p, *p.key, out)) return;
  p.rekey_at = now + kRekeyRetry;
}

}  // namespace weft::session
