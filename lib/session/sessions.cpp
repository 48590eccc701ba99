#include "session/sessions.h"

#include "session/peer.h"

namespace weft::session {

Sessions::Sessions(const crypto::Identity& self, const StartupEpoch& epoch, const Settings& settings,
                   Surroundings& around, Rng& rng)
    : self_(self),
      startup_(epoch),
      settings_(settings),
      around_(around),
      rng_(rng),
      pending_(settings.pending_per_dest, settings.pending_dests),
      limiter_(settings) {}

Sessions::~Sessions() = default;

Peer* Sessions::find(const NodeAddr& remote) const {
  const auto it = peers_.find(remote);
  return it == peers_.end() ? nullptr : it->second.get();
}

void Sessions::forget(NodeAddr remote) {
  deadlines_.clear(remote);
  peers_.erase(remote);
}

void Sessions::remove(const NodeAddr& remote, Outbox& out) {
  Peer* p = find(remote);
  if (p == nullptr || !p->current) return;  // a handshake goes on by whatever way there is
  drop_keys(*p, out);
  forget(remote);
  events_.emplace_back(SessionDown{remote, SessionDown::Reason::peer_lost});
}

bool Sessions::established(const NodeAddr& remote) const {
  const Peer* p = find(remote);
  return p != nullptr && p->current && !p->settles_at;
}

std::size_t Sessions::size() const { return peers_.size(); }

View Sessions::view_of(const Peer& p) const {
  View v;
  v.remote = p.remote;
  v.created = p.created;
  v.key = p.key;
  if (p.question) v.resend_count = p.question->resends;
  if (!p.current) {
    v.state = p.question ? State::initiating : State::awaiting_msg3;
    v.is_initiator = p.question.has_value();
    v.last_activity = p.created;
    if (p.question) v.key = p.question->xk.responder();
    else if (!p.answers.empty()) v.resend_count = p.answers.back().resends;
    return v;
  }
  v.state = State::established;
  v.is_initiator = p.initiator;
  v.created = p.up_since;
  v.epoch_start = p.current->start;
  v.last_activity = p.last_activity();
  v.current_k_bit = p.current->k;
  v.is_draining = p.previous != nullptr;
  v.rekey_in_progress = p.question || !p.answers.empty() || p.pending;
  v.warmup_remaining = p.stats->warmup.load(std::memory_order_relaxed);
  v.path_mtu = p.path_mtu;
  v.home = p.home;
  v.stats = p.stats;
  return v;
}

std::optional<View> Sessions::view(const NodeAddr& remote) const {
  const Peer* p = find(remote);
  if (p == nullptr) return std::nullopt;
  return view_of(*p);
}

void Sessions::for_each(const std::function<void(const View&)>& f) const {
  for (const auto& [addr, p] : peers_) f(view_of(*p));
}

}  // namespace weft::session
