#include "node/flow_lookup.h"

#include "base/deadlines.h"

namespace weft {
namespace {

constexpr Duration kGrace = 4s;
constexpr std::size_t kMaxHopeless = 256;

}  // namespace

LookupFlow::LookupFlow(const crypto::Identity& self, Rng& rng, link::Links& links, Tree& tree,
                       BloomExchange& bloom, Lookups& lookups, CoordCache& coords,
                       names::IdentityCache& identities, DropCounters& drops)
    : self_(self),
      rng_(rng),
      links_(links),
      tree_(tree),
      bloom_(bloom),
      lookups_(lookups),
      coords_(coords),
      identities_(identities),
      drops_(drops) {}

std::vector<LookupPeer> LookupFlow::reaching(const NodeAddr& target) const {
  std::vector<LookupPeer> out;
  const FilterKey key = FilterKey::of(target);
  for (const auto& [addr, peer] : links_.peers())
    if (addr == target || bloom_.may_reach(addr, key)) out.push_back({addr, tree_.is_tree_peer(addr)});
  return out;
}

void LookupFlow::send(const LookupSend& s, Outbox& out) {
  for (const NodeAddr& to : s.to)
    if (const link::Peer* peer = links_.find(to);
        peer && s.message.size() + wire::kFrameCost <= wire::kMaxControlFrame)
      out.home(peer->home, SendLink{peer->link, s.message});
}

Lookups::Start LookupFlow::ask(Now now, const NodeAddr& target, Outbox& out) {
  auto started = lookups_.start(target, tree_.path(), [&](const NodeAddr& t) { return reaching(t); }, rng_, now.mono);
  if (started.outcome == Lookups::Start::sent) send(started.send, out);
  return started.outcome;
}

bool LookupFlow::start(Now now, const NodeAddr& target, Outbox& out) {
  const auto outcome = ask(now, target, out);
  return outcome == Lookups::Start::sent || outcome == Lookups::Start::already_pending;
}

void LookupFlow::want(Now now, const NodeAddr& target, Outbox& out) {
  if (target == self_.addr() || start(now, target, out)) return hopeless_.clear(target);
  if (hopeless_.size() < kMaxHopeless) hopeless_.set_earlier(target, now.mono + kGrace);
}

void LookupFlow::on_change(Now now, Outbox& out) {
  if (hopeless_.size() == 0) return;
  std::vector<NodeAddr> all;
  while (const auto t = hopeless_.pop_due(kNever)) all.push_back(*t);
  // The grace begins anew: something moves, and what moves comes to rest.
  for (const NodeAddr& t : all)
    if (!start(now, t, out)) hopeless_.set(t, now.mono + kGrace);
}

void LookupFlow::on_request(Now now, const link::Peer& from, Bytes message, Outbox& out) {
  auto r = lookups_.on_request(from.addr, message, now.mono);
  if (!r) return drops_.add(r.error());
  if (const auto* answer = std::get_if<Lookups::Answer>(&*r)) {
    auto reply = lookups_.answer(*answer, tree_.path(), from.mtu,
                                 [&](const crypto::Digest& d) { return std::optional(self_.sign(d, rng_)); });
    if (reply) out.home(from.home, SendLink{from.link, std::move(*reply)});
    return;
  }
  const auto& pass = std::get<Lookups::Pass>(*r);
  const auto fan = lookups_.fan_out(pass, from.addr, reaching(pass.request.target));
  if (!fan) return drops_.add(fan.error());
  send(*fan, out);
}

LookupFlow::Results LookupFlow::on_response(Now now, Bytes message, Outbox& out) {
  Results res;
  auto r = lookups_.on_response(message);
  if (!r) return drops_.add(r.error()), res;
  if (auto* relay = std::get_if<Lookups::Relay>(&*r)) {
    const link::Peer* to = links_.find(relay->to);
    if (!to) return lookups_.on_no_route(), res;
    relay->response.path_mtu = std::min(relay->response.path_mtu, to->mtu);
    Buffer b;
    wire::encode_lookup_response(b, relay->response);
    out.home(to->home, SendLink{to->link, std::move(b)});
    return res;
  }
  const auto& ours = std::get<Lookups::Ours>(*r);
  const auto* id = identities_.find(ours.response.target);
  if (!id) return lookups_.on_identity_miss(), res;
  const PublicKey key = id->key;
  if (const auto ok = lookups_.accept(ours, key); !ok) return drops_.add(ok.error()), res;
  const auto mtu = ours.response.path_mtu;
  const auto known_mtu = mtu >= wire::kMtuFloor ? std::optional(mtu) : std::nullopt;
  if (const auto ok =
          coords_.insert(ours.response.target, ours.response.path, CoordSource::proven, now.mono, known_mtu);
      !ok)
    drops_.add(ok.error());
  res.found.push_back({ours.response.target, key, mtu});
  return res;
}

std::optional<Instant> LookupFlow::deadline() const { return earlier(lookups_.deadline(), hopeless_.next()); }

LookupFlow::Results LookupFlow::on_deadline(Now now, Outbox& out) {
  Results res;
  auto due = lookups_.on_deadline(
      tree_.path(), [&](const NodeAddr& t) { return reaching(t); }, rng_, now.mono);
  for (const auto& s : due.sends) send(s, out);
  res.failed = std::move(due.failed);
  while (const auto t = hopeless_.pop_due(now.mono)) res.failed.push_back(*t);
  return res;
}

}  // namespace weft
