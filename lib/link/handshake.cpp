#include "link/links.h"
#include "wire/link_frame.h"

namespace weft::link {
namespace {

constexpr Duration kCandidateLife = 35s;      // a dial of the reference lives 30 s, and its first frame takes a tick
constexpr std::size_t kCandidatesPerNode = 4; // room for the true one beside a few replays

/// X of the ephemeral key: bytes 1..33 of the Noise message, 8 into the frame.
PublicKey question_id(Bytes frame) { return PublicKey::from(frame.subspan(9, 32)); }
/// The parity byte of that key is authenticated by nothing; a copy that differs in it alone is still a copy.
bool same_question(Bytes a, Bytes b) { return equal(a.first(8), b.first(8)) && equal(a.subspan(9), b.subspan(9)); }

}  // namespace

bool Links::known_source(TransportId t, const Endpoint& from) const {
  const auto here = [&](const auto& x) { return x.second.transport == t && x.second.to == from; };
  return std::ranges::any_of(peers_, here) || std::ranges::any_of(dials_, here);
}

void Links::on_handshake(Now now, const PuntHandshake& in, Outbox& out) {
  const auto phase = wire::classify_link_frame(in.frame);
  if (!phase) return drops_.add(phase.error());
  if (*phase == wire::LinkPhase::msg1) return on_msg1(now, in, out);
  if (*phase == wire::LinkPhase::msg2) return on_msg2(now, in, out);
  drops_.add(Drop::unknown_phase);
}

void Links::on_msg1(Now now, const PuntHandshake& in, Outbox& out) {
  const bool known = known_source(in.transport, in.from);
  if (!admission_.take(now.mono, known)) return drops_.add(Drop::handshake_rate);
  const Transport* t = transport(in.transport);
  if (!t || (!t->accepts && !known)) return refuse(now, Drop::inbound_refused, in.from, nullptr);
  if (draining_) return drops_.add(Drop::draining);
  const auto msg = wire::decode_link_msg1(in.frame);
  if (!msg) return drops_.add(msg.error());

  if (const Answer* a = answers_.get(question_id(in.frame)); a && same_question(a->question, in.frame)) {
    drops_.add(Drop::duplicate_handshake);
    return out.raw(in.transport, in.from, a->answer);
  }
  auto hs = crypto::IkResponder::read_msg1(self_, msg->noise);
  if (!hs) return refuse(now, hs.error(), in.from, nullptr);
  const NodeAddr addr = crypto::node_addr_of(hs->remote());
  const auto it = peers_.find(addr);
  Peer* peer = it == peers_.end() ? nullptr : &it->second;
  if (!t->accepts) {  // waived for the address alone: it must be that peer's, or that of a dial to it
    const bool its_own = (peer && peer->to == in.from) || std::ranges::any_of(dials_, [&](const auto& d) {
                           return d.second.addr == addr && d.second.to == in.from;
                         });
    const PublicKey who = hs->remote();
    if (!its_own) return refuse(now, Drop::foreign_source, in.from, &who);
  }
  if (!may_become_candidate(now, in, *hs, peer)) return;
  make_candidate(now, in, msg->sender, *hs, peer, out);
}

bool Links::may_become_candidate(Now now, const PuntHandshake& in, const crypto::IkResponder& hs, Peer* peer) {
  const PublicKey who = hs.remote();
  const NodeAddr addr = crypto::node_addr_of(who);
  if (self_.is_me(who)) return refuse(now, Drop::own_identity, in.from, &who), false;
  if (const auto rule = acl_ ? acl_(who) : std::nullopt)
    return refuse(now, Drop::acl_denied, in.from, &who, *rule), false;
  if (!peer) {
    if (settings_.max_peers != 0 && peers_.size() >= settings_.max_peers && !is_dialling(who))
      return refuse(now, Drop::max_peers, in.from, &who, std::to_string(settings_.max_peers)), false;
    const auto pending = std::ranges::count_if(candidates_, [&](const auto& c) { return !peers_.contains(c.second.addr); });
    if (settings_.max_pending_inbound != 0 && static_cast<std::size_t>(pending) >= settings_.max_pending_inbound)
      return refuse(now, Drop::max_pending_inbound, in.from, &who), false;
    return true;
  }
  if (rekeys_.contains(addr) && hs.remote_epoch() == peer->epoch && self_.addr() < addr)
    return drops_.add(Drop::rekey_tiebreak), false;  // both sides compare the same two addresses
  return true;
}

void Links::make_candidate(Now now, const PuntHandshake& in, SessionIndex theirs, const crypto::IkResponder& hs,
                           Peer* peer, Outbox& out) {
  const NodeAddr addr = crypto::node_addr_of(hs.remote());
  const bool same_run = peer && hs.remote_epoch() == peer->epoch;
  if (const auto r = rekeys_.find(addr); r != rekeys_.end() && same_run) end_dial(r->second);

  std::vector<SessionIndex> mine;  // oldest first
  for (const auto& [index, c] : candidates_)
    if (c.addr == addr) mine.push_back(index);
  std::ranges::sort(mine, {}, [&](SessionIndex i) { return candidates_.at(i).created; });
  if (mine.size() >= kCandidatesPerNode) drop_candidate(mine.front(), out);

  const Prospect from_prospect = same_run ? Prospect{peer->link, peer->home, peer->stats} : prospect(addr);
  Candidate c{.link = from_prospect.link,
              .key = hs.remote(),
              .addr = addr,
              .epoch = hs.remote_epoch(),
              .transport = in.transport,
              .from = in.from,
              .keys = {},
              .home = from_prospect.home,
              .stats = from_prospect.stats,
              .created = now.mono};
  const auto index = new_index(c.home);
  if (!index) return;
  auto answer = hs.write_msg2(epoch_, rng_);
  c.keys = Epoch{EpochId{next_epoch_++}, *index, theirs, std::make_shared<SendKey>(std::move(answer.keys.send)), now.mono,
                 false, std::nullopt};
  const bool initiator = same_run && peer->initiator;
  // The half must be in place before the answer leaves: the first frame may follow at once.
  out.home(c.home, AddLinkRecv{LinkRecv{*index, c.link, c.keys.id, c.transport, addr, initiator,
                                        std::move(answer.keys.recv), {}, c.stats}});
  Buffer frame;
  wire::encode_link_msg2(frame, {*index, theirs, answer.msg2});
  out.raw(in.transport, in.from, frame);
  answers_.put(question_id(in.frame), Answer{in.frame, std::move(frame), *index});
  due_.set({Timer::candidate, index->value}, now.mono + kCandidateLife);
  candidates_.emplace(*index, std::move(c));
}

void Links::drop_candidate(SessionIndex index, Outbox& out) {
  const auto it = candidates_.find(index);
  if (it == candidates_.end()) return;
  out.home(it->second.home, DropLinkRecv{index});
  due_.clear({Timer::candidate, index.value});
  const NodeAddr addr = it->second.addr;
  candidates_.erase(it);
  used_.erase(index);
  forget_prospect(addr);
  for (const auto& [question, a] : answers_)
    if (a.ours == index) {
      answers_.erase(PublicKey{question});
      break;
    }
}

void Links::on_msg2(Now now, const PuntHandshake& in, Outbox& out) {
  const auto msg = wire::decode_link_msg2(in.frame);
  if (!msg) return drops_.add(msg.error());
  const auto it = dials_.find(msg->receiver);
  if (it == dials_.end() || it->second.transport != in.transport) return drops_.add(Drop::unknown_handshake);
  auto keys = it->second.ik.read_msg2(msg->noise);
  if (!keys) return drops_.add(keys.error());  // somebody's forgery: the true answer may still come
  const PublicKey who = it->second.key;
  if (const auto rule = acl_ ? acl_(who) : std::nullopt) {
    refuse(now, Drop::acl_denied, in.from, &who, *rule);
    events_.push_back(DialEnded{who, in.from, End::refused});
    return end_dial(msg->receiver);
  }
  Dial dial = std::move(it->second);
  const Prospect its = prospect(dial.addr);
  end_dial(msg->receiver);
  // It ended with its last dial, and the link must live at the worker that the index names.
  prospects_.try_emplace(dial.addr, its);
  finish_dial(now, std::move(dial), msg->sender, std::move(*keys), in.from, out);
  forget_prospect(crypto::node_addr_of(who));
}

void Links::finish_dial(Now now, Dial dial, SessionIndex theirs, crypto::HandshakeKeys keys, const Endpoint& from,
                        Outbox& out) {
  auto it = peers_.find(dial.addr);
  if (it != peers_.end() && it->second.epoch != keys.remote_epoch) {
    remove(now, it->second, End::restarted, out);
    it = peers_.end();
  }
  const bool live = it != peers_.end();
  // A sibling dial was answered first, or both sides dialled and the other one's handshake is the one that counts.
  if (live && !dial.is_rekey && !dial.peer_was_up && (it->second.current.by_us || dial.addr < self_.addr())) return;
  if (!live && settings_.max_peers != 0 && peers_.size() >= settings_.max_peers) {
    events_.push_back(DialEnded{dial.key, from, End::refused});
    return refuse(now, Drop::max_peers, from, &dial.key, std::to_string(settings_.max_peers));
  }
  used_.insert(dial.ours);
  const Prospect at = live ? Prospect{it->second.link, it->second.home, it->second.stats} : prospect(dial.addr);
  const auto& [link, home, stats] = at;
  Epoch next{EpochId{next_epoch_++}, dial.ours, theirs, std::make_shared<SendKey>(std::move(keys.send)), now.mono, true,
             std::nullopt};
  out.home(home, AddLinkRecv{LinkRecv{dial.ours, link, next.id, dial.transport, dial.addr,
                                      live ? it->second.initiator : true, std::move(keys.recv), {}, stats}});
  if (!live) {
    Peer p{.link = link, .key = dial.key, .addr = dial.addr, .epoch = keys.remote_epoch, .initiator = true,
           .transport = dial.transport, .to = from, .home = home, .current = std::move(next), .previous = {},
           .stats = stats};
    promote(now, std::move(p), out);
    return;
  }
  Peer& peer = it->second;
  move(peer, dial.transport, from);
  // A rekey flips K against what the far side last sent, which works even when the two sides' K have drifted apart; a
  // crossed dial keeps it.
  const bool rekeys = dial.is_rekey || dial.peer_was_up;
  const bool k = rekeys ? peer.stats->k_recv.get() == 0 : peer.k;
  cutover(now, peer, std::move(next), k, out);
}

void Links::on_proven(Now now, const PuntLinkProven& in, Outbox& out) {
  if (Peer* p = peer_of(in.link); p && p->current.ours == in.our_index) {
    if (!p->current.proven) p->current.proven = now.mono;
    return;
  }
  const auto it = candidates_.find(in.our_index);
  if (it == candidates_.end()) return;
  Candidate c = std::move(it->second);
  auto peer = peers_.find(c.addr);
  if (peer != peers_.end() && peer->second.epoch == c.epoch && loses_crossing(peer->second, c)) {
    it->second = std::move(c);
    it->second.lost_tiebreak = true;  // its frames are still read until it expires
    return;
  }
  due_.clear({Timer::candidate, in.our_index.value});
  candidates_.erase(it);
  c.keys.proven = now.mono;
  c.keys.started = now.mono;
  if (peer != peers_.end() && peer->second.epoch != c.epoch) {
    remove(now, peer->second, End::restarted, out);
    peer = peers_.end();
  }
  if (peer == peers_.end()) {
    if (settings_.max_peers != 0 && peers_.size() >= settings_.max_peers) {
      refuse(now, Drop::max_peers, c.from, &c.key, std::to_string(settings_.max_peers));
      out.home(c.home, DropLinkRecv{in.our_index});
      used_.erase(in.our_index);
      return;
    }
    Peer p{.link = c.link, .key = c.key, .addr = c.addr, .epoch = c.epoch, .initiator = false, .transport = c.transport,
           .to = c.from, .home = c.home, .current = std::move(c.keys), .previous = {}, .k = in.k, .stats = std::move(c.stats)};
    promote(now, std::move(p), out);
    return;
  }
  Peer& p = peer->second;
  move(p, c.transport, c.from);
  p.peer_rekeyed = now.mono;
  cutover(now, p, std::move(c.keys), in.k, out);
}

}  // namespace weft::link
