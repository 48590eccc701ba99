#include "link/links.h"

#include <cmath>

#include "wire/link_frame.h"

namespace weft::link {
namespace {

constexpr std::size_t kRefusalsKept = 64;
constexpr int kIndexTries = 100;

}  // namespace

std::string_view name_of(End e) {
  switch (e) {
    case End::silent: return "silent";
    case End::disconnected: return "disconnected by the peer";
    case End::restarted: return "peer restarted";
    case End::operator_asked: return "disconnected here";
    case End::shutdown: return "shutting down";
    case End::timed_out: return "no answer";
    case End::refused: return "refused here";
    case End::send_failed: return "cannot send";
  }
  return "";
}

Settings Settings::from(const config::Config& c, std::uint32_t decrypt_workers) {
  const auto& n = c.node;
  Settings s;
  s.resend_first = std::chrono::milliseconds(n.rate_limit.handshake_resend_interval_ms);
  s.resend_factor = n.rate_limit.handshake_resend_backoff;
  s.resend_count = n.rate_limit.handshake_max_resends;
  s.handshake_timeout = std::chrono::seconds(n.rate_limit.handshake_timeout_secs);
  s.heartbeat = std::chrono::seconds(n.heartbeat_interval_secs);
  s.dead_after = std::chrono::seconds(n.link_dead_timeout_secs);
  s.rekey = n.rekey.enabled;
  s.rekey_after = std::chrono::seconds(n.rekey.after_secs);
  s.rekey_messages = n.rekey.after_messages;
  s.max_peers = n.limits.max_peers;
  s.max_connections = n.limits.max_connections;
  s.max_pending_inbound = n.limits.max_pending_inbound;
  s.stranger_burst = n.rate_limit.handshake_burst;
  s.stranger_rate = n.rate_limit.handshake_rate;
  s.known_burst = config::established_burst(c);
  s.known_rate = config::established_rate(c);
  s.decrypt_workers = std::max(1U, decrypt_workers);
  s.features = wire::kWideWindow | (c.weft.dataplane.mtu_discovery ? wire::kMtuProbes : 0U);
  return s;
}

Links::Links(Settings settings, const crypto::Identity& self, StartupEpoch epoch, Rng& rng, Log& log, DropCounters& drops,
             AclCheck acl)
    : settings_(settings),
      self_(self),
      epoch_(epoch),
      rng_(rng),
      log_(log),
      drops_(drops),
      acl_(std::move(acl)),
      admission_(settings_) {}

const Transport* Links::transport(TransportId id) const {
  const auto it = std::ranges::find(transports_, id, &Transport::id);
  return it == transports_.end() ? nullptr : &*it;
}

std::uint16_t Links::smallest_mtu() const {
  std::uint16_t mtu = 0;
  for (const auto& t : transports_)
    if (t.up) mtu = mtu == 0 ? t.mtu : std::min(mtu, t.mtu);
  return mtu;
}

const Peer* Links::find(const NodeAddr& addr) const {
  const auto it = peers_.find(addr);
  return it == peers_.end() ? nullptr : &it->second;
}

const Peer* Links::find(LinkId link) const {
  const auto it = by_link_.find(link);
  return it == by_link_.end() ? nullptr : find(it->second);
}

Peer* Links::peer_of(LinkId link) { return const_cast<Peer*>(std::as_const(*this).find(link)); }

bool Links::is_dialling(const PublicKey& key) const {
  return std::ranges::any_of(dials_, [&](const auto& d) { return d.second.key == key && !d.second.is_rekey; });
}

// The low byte of an index names the worker that its frames are steered to.
std::optional<SessionIndex> Links::new_index(WorkerId home) {
  for (int i = 0; i < kIndexTries; ++i) {
    const std::uint32_t v = rng_.u32();
    if ((v & 0xff) % settings_.decrypt_workers != home.value) continue;
    if (used_.insert(SessionIndex{v}).second) return SessionIndex{v};
  }
  drops_.add(Drop::index_exhausted);
  return std::nullopt;
}

WorkerId Links::pick_home() { return WorkerId{next_home_++ % settings_.decrypt_workers}; }

const Links::Prospect& Links::prospect(const NodeAddr& addr) {
  const auto it = prospects_.find(addr);
  if (it != prospects_.end()) return it->second;
  return prospects_.emplace(addr, Prospect{LinkId{next_link_++}, pick_home(), std::make_shared<LinkStats>()}).first->second;
}

void Links::forget_prospect(const NodeAddr& addr) {
  const auto of = [&](const auto& x) { return x.second.addr == addr; };
  if (!std::ranges::any_of(dials_, of) && !std::ranges::any_of(candidates_, of)) prospects_.erase(addr);
}

void Links::refuse(Now now, Drop why, const Endpoint& from, const PublicKey* who, std::string rule) {
  drops_.add(why);
  const auto same = [&](const Refusal& r) {
    return r.why == why && r.from == from && r.who == (who ? std::optional(*who) : std::nullopt);
  };
  std::erase_if(refusals_, same);  // one line per cause and source, the newest time
  refusals_.push_back({now.unix_ms, from, who ? std::optional(*who) : std::nullopt, why, rule});
  if (refusals_.size() > kRefusalsKept) refusals_.pop_front();
  log_(Level::info, name_of(why), "handshake from {}{}{} refused: {}{}{}", from.text(), who ? " by " : "",
       who ? crypto::short_npub_of(*who) : "", text_of(why), rule.empty() ? "" : ": ", rule);
}

Result<LinkId, std::string> Links::dial(Now now, const PublicKey& key, TransportId transport_id, const Endpoint& to,
                                        Outbox& out) {
  if (draining_) return bad(std::string("node shutting down"));
  if (self_.is_me(key)) return bad(std::string("that is this node's own key"));
  if (to.is_mesh()) return bad(std::string("an address inside the mesh (fd00::/8) cannot carry a link; give the peer's address on the network below"));
  if (const auto rule = acl_ ? acl_(key) : std::nullopt) return bad("refused by the peer access list: " + *rule);
  if (settings_.max_connections != 0 && dials_.size() >= settings_.max_connections)
    return bad(std::string("already at node.limits.max_connections"));
  for (const auto& [index, d] : dials_)
    if (d.key == key && d.transport == transport_id && d.to == to) return d.link;
  Peer* peer = nullptr;
  if (const auto it = peers_.find(crypto::node_addr_of(key)); it != peers_.end()) peer = &it->second;
  const LinkId link = peer ? peer->link : prospect(crypto::node_addr_of(key)).link;
  const WorkerId home = peer ? peer->home : prospect(crypto::node_addr_of(key)).home;
  const auto index = start_dial(now, key, transport_id, to, link, home, false, out);
  if (!index) {
    forget_prospect(crypto::node_addr_of(key));
    return bad(index.error());
  }
  return link;
}

Result<SessionIndex, std::string> Links::start_dial(Now now, const PublicKey& key, TransportId transport_id,
                                                    const Endpoint& to, LinkId link, WorkerId home, bool is_rekey,
                                                    Outbox& out) {
  const Transport* t = transport(transport_id);
  if (!t || !t->up) return bad(std::string("no such transport is up"));
  auto ik = crypto::IkInitiator::start(self_, key, epoch_, rng_);
  if (!ik) return bad(std::string(text_of(ik.error())));
  const auto index = new_index(home);
  if (!index) return bad(std::string(text_of(Drop::index_exhausted)));
  Buffer frame;
  wire::encode_link_msg1(frame, {*index, ik->msg1()});
  const NodeAddr addr = crypto::node_addr_of(key);
  out.raw(transport_id, to, frame);
  dials_.emplace(*index, Dial{link, key, addr, transport_id, to, *index, std::move(*ik), std::move(frame), now.mono, 0,
                              peers_.contains(addr), is_rekey});
  due_.set({Timer::dial_resend, index->value}, now.mono + settings_.resend_first);
  if (!is_rekey) due_.set({Timer::dial_timeout, index->value}, now.mono + settings_.handshake_timeout);
  return *index;
}

void Links::resend(Now now, SessionIndex index, Outbox& out) {
  const auto it = dials_.find(index);
  if (it == dials_.end()) return;
  Dial& d = it->second;
  if (d.resends >= settings_.resend_count) {
    // A rekey ends here and the old keys live on; a dial ends at its timeout.
    if (d.is_rekey)
      if (Peer* p = peer_of(d.link)) rekey_unanswered(now, *p, out);
    return;
  }
  ++d.resends;
  if (d.is_rekey)
    if (Peer* p = peer_of(d.link)) d.to = p->to;  // the peer may have roamed meanwhile
  out.raw(d.transport, d.to, d.frame);
  const double factor = std::pow(settings_.resend_factor, d.resends);
  const auto wait = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::nano>(
      static_cast<double>(settings_.resend_first.count()) * factor));
  due_.set({Timer::dial_resend, index.value}, now.mono + wait);
}

void Links::end_dial(SessionIndex index) {
  const auto it = dials_.find(index);
  if (it == dials_.end()) return;
  if (it->second.is_rekey) rekeys_.erase(it->second.addr);
  due_.clear({Timer::dial_resend, index.value});
  due_.clear({Timer::dial_timeout, index.value});
  const NodeAddr addr = it->second.addr;
  dials_.erase(it);
  used_.erase(index);
  forget_prospect(addr);
}

void Links::on_deadline(Now now, Outbox& out) {
  while (const auto key = due_.pop_due(now.mono)) {
    const auto [timer, id] = *key;
    const SessionIndex index{static_cast<std::uint32_t>(id)};
    switch (timer) {
      case Timer::dial_resend: resend(now, index, out); continue;
      case Timer::dial_timeout: {
        const auto it = dials_.find(index);
        if (it == dials_.end()) continue;
        if (!it->second.peer_was_up) events_.push_back(DialEnded{it->second.key, it->second.to, End::timed_out});
        end_dial(index);
        continue;
      }
      case Timer::candidate: drop_candidate(index, out); continue;
      default: break;
    }
    Peer* peer = peer_of(LinkId{id});
    if (!peer) continue;
    if (timer == Timer::heartbeat) heartbeat(now, *peer, out);
    if (timer == Timer::silence) check_silence(now, *peer, out);
    if (timer == Timer::rekey) consider_rekey(now, *peer, out);
    if (timer == Timer::judge) check_network(now, *peer, out);
    if (timer == Timer::hello) ask_hello(now, *peer, out);
    if (timer == Timer::drain && peer->previous) {
      if (!peer->current.proven && now.mono < peer->current.started + settings_.dead_after) {
        due_.set({Timer::drain, id}, now.mono + 5s);  // the far side may still be sending under the old keys
        continue;
      }
      out.home(peer->home, DropLinkRecv{peer->previous->ours});
      used_.erase(peer->previous->ours);
      peer->previous.reset();
    }
  }
}

}  // namespace weft::link
