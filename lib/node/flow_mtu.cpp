#include "node/flow_mtu.h"

namespace weft {

MtuFlow::Path MtuFlow::fresh(Now now, const link::Peer& peer) const {
  const link::Transport* t = links_.transport(peer.transport);
  const std::uint16_t base = t ? t->mtu : peer.mtu;
  Path p{pmtu::Search(base), peer.transport, peer.to, base};
  p.search.start(now.mono);
  return p;
}

void MtuFlow::schedule(LinkId link, const Path& p) {
  if (const auto at = p.search.deadline()) due_.set(link, *at);
  else due_.clear(link);
}

void MtuFlow::on_features(Now now, const link::Peer& peer) {
  if (!enabled_ || !peer.has(wire::kMtuProbes) || paths_.contains(peer.link)) return;
  schedule(peer.link, paths_.insert_or_assign(peer.link, fresh(now, peer)).first->second);
}

void MtuFlow::on_link_down(LinkId link) {
  paths_.erase(link);
  due_.clear(link);
}

void MtuFlow::on_path(Now now, const link::Peer& peer) {
  const auto it = paths_.find(peer.link);
  if (it == paths_.end()) return;
  Path& p = it->second;
  if (p.transport == peer.transport && p.to == peer.to) return;
  if (p.transport == peer.transport) {
    p.to = peer.to;
    p.search.restart(now.mono);
  } else {
    p = fresh(now, peer);  // another configured MTU, and links_ is back at it
  }
  schedule(peer.link, p);
}

void MtuFlow::on_network_change(Now now) {
  for (auto& [link, p] : paths_) {
    p.search.restart(now.mono);
    schedule(link, p);
  }
}

void MtuFlow::on_transports(Now now) {
  for (auto& [link, p] : paths_) {
    const link::Peer* peer = links_.find(link);
    const link::Transport* t = peer ? links_.transport(peer->transport) : nullptr;
    if (!t || t->mtu == p.base) continue;
    p = fresh(now, *peer);
    schedule(link, p);
  }
}

void MtuFlow::on_probe(const PuntMtuProbe& in, Outbox& out) const {
  const link::Peer* peer = links_.find(in.link);
  if (!peer) return;
  Buffer message;
  wire::encode_mtu_ack(message, {in.id, in.arrived});
  out.home(peer->home, SendLink{in.link, std::move(message)});
}

bool MtuFlow::on_ack(Now now, const link::Peer& peer, Bytes message, Outbox& out) {
  const auto ack = wire::decode_mtu_ack(message);
  if (!ack) return drops_.add(ack.error()), false;
  const auto it = paths_.find(peer.link);
  if (it == paths_.end()) return drops_.add(Drop::unknown_probe), false;
  Path& p = it->second;
  const auto before = p.search.mtu();
  const auto effect = p.search.on_ack(now.mono, ack->id, ack->size);
  schedule(peer.link, p);
  if (effect == pmtu::Search::Effect::unknown) return drops_.add(Drop::unknown_probe), false;
  if (effect == pmtu::Search::Effect::none) return false;
  if (effect == pmtu::Search::Effect::lowered)
    log_(Level::info, "mtu", "the path to {} no longer carries {} bytes; {} from now on",
         crypto::short_npub_of(peer.key), before, p.search.mtu());
  else
    log_(Level::debug, "mtu", "the link with {} carries {} bytes", crypto::short_npub_of(peer.key),
         p.search.mtu());
  links_.set_mtu(peer.link, p.search.mtu(), out);
  return true;
}

void MtuFlow::on_deadline(Now now, Outbox& out) {
  while (const auto link = due_.pop_due(now.mono)) {
    const auto it = paths_.find(*link);
    const link::Peer* peer = links_.find(*link);
    if (it == paths_.end() || !peer) continue;
    if (const auto round = it->second.search.on_deadline(now.mono, peer->stats->bytes_sent.get()))
      out.home(peer->home, SendProbe{*link, round->id, round->size});
    schedule(*link, it->second);
  }
}

const pmtu::Search* MtuFlow::search(LinkId link) const {
  const auto it = paths_.find(link);
  return it == paths_.end() ? nullptr : &it->second.search;
}

}  // namespace weft
