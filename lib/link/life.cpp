#include "link/links.h"

namespace weft::link {
namespace {

constexpr Duration kJudgeAfter = 1500ms;  // a sign of life asked for after a network change must come by then
constexpr Duration kMinRekeyAge = 30s;
constexpr Duration kHelloWait = 1s;

}  // namespace

Peer& Links::promote(Now now, Peer fresh, Outbox& out) {
  fresh.up_since = now.mono;
  fresh.up_since_unix_ms = now.unix_ms;
  fresh.current.started = now.mono;
  fresh.jitter = new_jitter();
  if (const Transport* t = transport(fresh.transport)) fresh.mtu = t->mtu;
  std::vector<SessionIndex> siblings;  // other dials to the same node have lost
  for (const auto& [index, d] : dials_)
    if (d.addr == fresh.addr && (fresh.current.by_us || fresh.addr < self_.addr())) siblings.push_back(index);
  for (const auto index : siblings) end_dial(index);

  const NodeAddr addr = fresh.addr;
  by_link_[fresh.link] = addr;
  prospects_.erase(addr);
  Peer& peer = peers_.insert_or_assign(addr, std::move(fresh)).first->second;
  out.home(peer.home, LinkCutover{peer.link, peer.current.ours});
  install(peer, out);
  due_.set({Timer::silence, peer.link.value}, now.mono + settings_.dead_after);
  due_.set({Timer::rekey, peer.link.value}, now.mono + kMinRekeyAge);
  heartbeat(now, peer, out);
  if (peer.initiator) ask_hello(now, peer, out);
  else due_.set({Timer::hello, peer.link.value}, now.mono + kHelloWait);  // it asks first, if it ever does
  log_(Level::info, "link", "linked with {} at {}", crypto::short_npub_of(peer.key), peer.to.text());
  events_.push_back(LinkUp{peer.link, peer.addr, peer.key});
  return peer;
}

void Links::install(const Peer& peer, Outbox& out) const {
  out.all(SetLink{LinkSend{.link = peer.link,
                           .peer = peer.addr,
                           .key = peer.current.send,
                           .their_index = peer.current.theirs,
                           .k = peer.k,
                           .epoch_start = peer.current.started,
                           .transport = peer.transport,
                           .to = peer.to,
                           .mtu = peer.mtu,
                           .congested = peer.congested,
                           .same_kind = peer.has(wire::kWideWindow),
                           .home = peer.home,
                           .stats = peer.stats}});
}

void Links::move(Peer& peer, TransportId to_transport, const Endpoint& to) const {
  const bool other = peer.transport != to_transport;
  peer.transport = to_transport;
  peer.to = to;
  if (const Transport* t = transport(to_transport); t && other) peer.mtu = t->mtu;
}

void Links::set_mtu(LinkId link, std::uint16_t mtu, Outbox& out) {
  Peer* peer = peer_of(link);
  if (!peer || peer->mtu == mtu) return;
  peer->mtu = mtu;
  install(*peer, out);
}

void Links::say(const Peer& peer, Buffer message, Outbox& out) const {
  out.home(peer.home, SendLink{peer.link, std::move(message)});
}

void Links::heartbeat(Now now, Peer& peer, Outbox& out) {
  Buffer beat;
  wire::encode_heartbeat(beat);
  say(peer, std::move(beat), out);
  due_.set({Timer::heartbeat, peer.link.value}, now.mono + settings_.heartbeat);
}

void Links::check_silence(Now now, Peer& peer, Outbox& out) {
  const Instant dead = peer.last_heard() + settings_.dead_after;
  if (now.mono < dead) return due_.set({Timer::silence, peer.link.value}, dead);
  Buffer bye;  // it may hear us though we do not hear it
  wire::encode_disconnect(bye, {wire::DisconnectReason::timeout});
  say(peer, std::move(bye), out);
  remove(now, peer, End::silent, out);
}

void Links::remove(Now now, Peer& peer, End why, Outbox& out) {
  log_(Level::info, "link", "link with {} ended: {}", crypto::short_npub_of(peer.key), name_of(why));
  const NodeAddr addr = peer.addr;
  const LinkId link = peer.link;
  if (const auto r = rekeys_.find(addr); r != rekeys_.end()) end_dial(r->second);
  std::vector<SessionIndex>
      gone;  // dials begun as a second path would be finished as rekeys of a link that is no more
  for (const auto& [index, d] : dials_)
    if (d.link == link) gone.push_back(index);
  for (const auto index : gone) end_dial(index);
  std::vector<SessionIndex> waiting;
  for (const auto& [index, c] : candidates_)
    if (c.link == link) waiting.push_back(index);
  for (const auto index : waiting) drop_candidate(index, out);
  out.home(peer.home, DropLinkRecv{peer.current.ours});
  used_.erase(peer.current.ours);
  if (peer.previous) {
    out.home(peer.home, DropLinkRecv{peer.previous->ours});
    used_.erase(peer.previous->ours);
  }
  std::vector<PublicKey> stale;
  for (const auto& [question, a] : answers_)
    if (a.ours == peer.current.ours || (peer.previous && a.ours == peer.previous->ours))
      stale.push_back(question);
  for (const auto& q : stale) answers_.erase(q);
  out.all(DropLink{link});
  for (const auto t : {Timer::heartbeat, Timer::silence, Timer::drain, Timer::rekey, Timer::judge, Timer::hello})
    due_.clear({t, link.value});
  by_link_.erase(link);
  peers_.erase(addr);
  events_.push_back(LinkDown{link, addr, why});
  (void)now;
}

void Links::on_moved(Now, const PuntMoved& in, Outbox& out) {
  Peer* peer = peer_of(in.link);
  if (!peer || peer->transport != in.transport || peer->to == in.from) return;
  log_(Level::info, "roam", "{} moved from {} to {}", crypto::short_npub_of(peer->key), peer->to.text(),
       in.from.text());
  peer->to = in.from;
  install(*peer, out);
  events_.push_back(LinkMoved{peer->link, peer->addr, in.from});
}

void Links::on_disconnect(Now now, LinkId link, wire::DisconnectReason reason, Outbox& out) {
  Peer* peer = peer_of(link);
  if (!peer) return;
  log_(Level::info, "disconnect", "{} says goodbye: {}", crypto::short_npub_of(peer->key),
       wire::name_of(reason));
  remove(now, *peer, End::disconnected, out);
}

bool Links::disconnect(Now now, const NodeAddr& addr, wire::DisconnectReason reason, End why, Outbox& out) {
  const auto it = peers_.find(addr);
  if (it == peers_.end()) return false;
  Buffer bye;
  wire::encode_disconnect(bye, {reason});
  say(it->second, std::move(bye), out);
  remove(now, it->second, why, out);
  return true;
}

void Links::set_congested(LinkId link, bool congested, Outbox& out) {
  Peer* peer = peer_of(link);
  if (!peer || peer->congested == congested) return;
  peer->congested = congested;
  install(*peer, out);
}

void Links::on_network_change(Now now, Outbox& out) {
  for (auto& [addr, peer] : peers_) {
    peer.judge_at = now.mono;
    heartbeat(now, peer, out);  // also teaches the far side our new address
    due_.set({Timer::judge, peer.link.value}, now.mono + kJudgeAfter);
    // Silence while this machine slept is not the link's fault.
    due_.set({Timer::silence, peer.link.value}, now.mono + kJudgeAfter * 4);
  }
  for (auto& [index, dial] : dials_) {
    dial.resends = 0;
    due_.set({Timer::dial_resend, index.value}, now.mono);
    if (!dial.is_rekey) due_.set({Timer::dial_timeout, index.value}, now.mono + settings_.handshake_timeout);
  }
}

void Links::check_network(Now now, Peer& peer, Outbox& out) {
  const auto asked = std::exchange(peer.judge_at, std::nullopt);
  if (!asked || peer.last_heard() > *asked) return;
  // Perhaps only its session is lost: a fresh handshake to the same address finds out, without giving up this one.
  log_(Level::info, "link", "{} silent after a network change; dialling it anew",
       crypto::short_npub_of(peer.key));
  (void)start_dial(now, peer.key, peer.transport, peer.to, peer.link, peer.home, false, out);
}

void Links::drain(Now now, Outbox& out) {
  draining_ = true;
  while (!dials_.empty()) end_dial(dials_.begin()->first);
  while (!peers_.empty())
    disconnect(now, NodeAddr{peers_.begin()->first}, wire::DisconnectReason::shutdown, End::shutdown, out);
}

}  // namespace weft::link
