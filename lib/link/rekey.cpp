#include "link/links.h"

namespace weft::link {
namespace {

constexpr Duration kMinAge = 30s;     // younger sessions of the reference take a message 1 for a duplicate
constexpr Duration kDampening = 30s;  // after the peer's rekey
constexpr Duration kDrain = 10s;
constexpr Duration kCountInterval = 10s;  // how often a send counter is compared with rekey.after_messages
constexpr std::int64_t kJitterSecs = 15;
constexpr Duration kSilentAfterAnswer = 2500ms;

}  // namespace

Duration Links::new_jitter() { return std::chrono::seconds(rng_.between(-kJitterSecs, kJitterSecs)); }

// When both sides dial at once, the handshake of the smaller address counts. A message 1 that was answered before our own
// session was proven crossed with it; one that came later was sent by somebody who knew our session, and replaces it.
bool Links::loses_crossing(const Peer& peer, const Candidate& c) const {
  if (c.lost_tiebreak) return true;
  const bool crossed = peer.current.by_us && (!peer.current.proven || c.created < *peer.current.proven);
  return crossed && self_.addr() < peer.addr &&
         c.created < peer.current.started + settings_.handshake_timeout;
}

void Links::cutover(Now now, Peer& peer, Epoch next, bool k, Outbox& out) {
  if (const auto r = rekeys_.find(peer.addr); r != rekeys_.end()) end_dial(r->second);
  if (peer.previous) {
    out.home(peer.home, DropLinkRecv{peer.previous->ours});
    used_.erase(peer.previous->ours);
  }
  next.started = now.mono;
  peer.previous = std::exchange(peer.current, std::move(next));
  peer.k = k;
  peer.jitter = new_jitter();
  ++peer.rekeys;
  out.home(peer.home, LinkCutover{peer.link, peer.current.ours});
  install(peer, out);
  due_.set({Timer::drain, peer.link.value}, now.mono + kDrain);
  due_.set({Timer::silence, peer.link.value}, now.mono + settings_.dead_after);
  due_.set({Timer::rekey, peer.link.value}, now.mono + kMinAge);
  heartbeat(now, peer, out);  // a responder waits for the first frame under the new keys
  events_.push_back(LinkRekeyed{peer.link, peer.addr});
}

void Links::consider_rekey(Now now, Peer& peer, Outbox& out) {
  if (const auto r = rekeys_.find(peer.addr); r != rekeys_.end()) {
    // Message 1 is out. A reference responder whose answer was lost has switched by itself and hears us, but we do not
    // hear it any more: say goodbye under the old keys, which it still reads, and begin anew at once.
    const Dial& d = dials_.at(r->second);
    if (now.mono >= d.started + kSilentAfterAnswer && now.mono >= peer.last_heard() + kSilentAfterAnswer &&
        peer.last_heard() <= d.started + 1500ms) {
      Buffer bye;
      wire::encode_disconnect(bye, {wire::DisconnectReason::timeout});
      say(peer, std::move(bye), out);
      end_dial(r->second);
      start_rekey(now, peer, out);
      return;
    }
    due_.set({Timer::rekey, peer.link.value}, now.mono + 500ms);
    return;
  }
  const auto age = now.mono - peer.current.started;
  const Duration at = std::max<Duration>(kMinAge, settings_.rekey_after + peer.jitter);
  const bool old = age >= at;
  const bool worn =
      age >= kMinAge && peer.current.send->next.load(std::memory_order_relaxed) >= settings_.rekey_messages;
  const bool damped = peer.peer_rekeyed && now.mono < *peer.peer_rekeyed + kDampening;
  const bool waiting = std::ranges::any_of(
      candidates_, [&](const auto& c) { return c.second.addr == peer.addr && !c.second.lost_tiebreak; });
  if (settings_.rekey && (old || worn) && !damped && !waiting && !draining_)
    return start_rekey(now, peer, out);
  Instant next = now.mono + kCountInterval;
  if (!old) next = std::min(next, peer.current.started + at);
  due_.set({Timer::rekey, peer.link.value}, std::max(next, now.mono + 1s));
}

void Links::start_rekey(Now now, Peer& peer, Outbox& out) {
  const auto index = start_dial(now, peer.key, peer.transport, peer.to, peer.link, peer.home, true, out);
  if (!index) {
    due_.set({Timer::rekey, peer.link.value}, now.mono + kCountInterval);
    return;
  }
  rekeys_[peer.addr] = *index;
  due_.set({Timer::rekey, peer.link.value}, now.mono + 500ms);
}

void Links::rekey_unanswered(Now now, Peer& peer, Outbox&) {
  const auto r = rekeys_.find(peer.addr);
  if (r == rekeys_.end()) return;
  log_(Level::debug, "rekey", "no answer to the rekey with {}; the present keys go on",
       crypto::short_npub_of(peer.key));
  end_dial(r->second);
  due_.set({Timer::rekey, peer.link.value}, now.mono + settings_.handshake_timeout);
}

}  // namespace weft::link
