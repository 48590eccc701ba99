#include "node/flow_route.h"

#include "wire/session_frame.h"

namespace weft {
namespace {

constexpr std::size_t kToldRoutes = 8192;      // what workers may hold because of us
constexpr std::size_t kCorrectOneByOne = 512;  // more than these are flushed instead
constexpr Duration kRefresh = 60s;             // how often a route in use renews its coordinates
constexpr Duration kCostRecheck = 1s;
/// The present next hop counts as this much cheaper: costs are never quite equal twice, and a new hop may have to be
/// taught the way first.
constexpr double kStay = 0.8;

static_assert(static_cast<int>(HopClass::direct_peer) == static_cast<int>(RouteClass::direct_peer));

}  // namespace

RouteFlow::RouteFlow(const NodeAddr& self, std::uint8_t ttl, link::Links& links, Tree& tree,
                     BloomExchange& bloom, CoordCache& coords, RouteErrors& errors, DropCounters& drops)
    : self_(self),
      ttl_(ttl),
      links_(links),
      tree_(tree),
      bloom_(bloom),
      coords_(coords),
      errors_(errors),
      drops_(drops),
      told_(kToldRoutes) {}

const wire::Path* RouteFlow::coords_of(const NodeAddr& remote) {
  const CoordEntry* e = coords_.peek(remote, now_);
  return e ? &e->path : nullptr;
}

std::optional<NextHop> RouteFlow::next_hop(const NodeAddr& dest, const Path* dest_path) {
  const FilterKey key = FilterKey::of(dest);
  const Choice* told = std::as_const(told_).peek(dest);
  scratch_.clear();
  for (const auto& [addr, peer] : links_.peers()) {
    const double cost = reports_ ? reports_->cost(addr) : 1.0;
    const bool present = told && told->link == peer.link;
    scratch_.push_back(
        {addr, true, bloom_.may_reach(addr, key), present ? cost * kStay : cost, tree_.path_of(addr)});
  }
  return find_next_hop(self_, tree_.path(), dest, dest_path, scratch_);
}

std::optional<RouteFlow::Choice> RouteFlow::choose(Instant now, const NodeAddr& dest, bool renew) {
  if (const link::Peer* direct = links_.find(dest)) return Choice{direct->link, HopClass::direct_peer};
  const Path* path = nullptr;
  if (renew) {
    path = coords_.routing_lookup(dest, now);
  } else if (const CoordEntry* e = coords_.peek(dest, now)) {
    path = &e->path;
  }
  const auto hop = next_hop(dest, path);
  if (!hop) return std::nullopt;
  const auto how = classify_hop(self_, tree_.path(), dest, path, hop->peer, tree_.path_of(hop->peer));
  return Choice{links_.find(hop->peer)->link, static_cast<HopClass>(how)};
}

void RouteFlow::tell(Instant now, const NodeAddr& dest, const Choice& c, Outbox& out) {
  out.all(SetRoute{dest, c.link, c.how, now + kRefresh});
  if (const auto gone = told_.put(dest, c)) out.all(DropRoute{gone->first});
}

std::optional<session::Hop> RouteFlow::hop_to(Instant now, const NodeAddr& dest, Outbox& out) {
  now_ = now;
  if (dest == self_) return std::nullopt;
  std::optional<Choice> c;
  if (const Choice* told = told_.get(dest)) c = *told;
  if (!c) {
    c = choose(now, dest, true);
    if (!c) return std::nullopt;
    tell(now, dest, *c, out);
  }
  const link::Peer* peer = links_.find(c->link);
  if (!peer) return std::nullopt;
  return session::Hop{peer->link, peer->home, peer->mtu, peer->addr == dest};
}

std::uint16_t RouteFlow::path_mtu_of(const NodeAddr& dest) {
  const CoordEntry* e = coords_.peek(dest, now_);
  return e && e->path_mtu ? *e->path_mtu : wire::kMtuUnknown;
}

bool RouteFlow::send_datagram(Instant now, const NodeAddr& dest, Buffer payload, Outbox& out) {
  const auto hop = hop_to(now, dest, out);
  if (!hop) return unroutable_.insert(dest), false;
  if (payload.size() + wire::kEnvelopeHeader + wire::kFrameCost > wire::kMaxControlFrame)
    return drops_.add(Drop::over_link_mtu), false;
  Buffer message;
  wire::encode_envelope(message, {ttl_, hop->mtu, self_, dest, payload});
  stats_.originated.add(message.size());
  out.home(hop->home, SendLink{hop->link, std::move(message)});
  return true;
}

std::vector<NodeAddr> RouteFlow::take_unroutable() {
  std::vector<NodeAddr> out(unroutable_.begin(), unroutable_.end());
  unroutable_.clear();
  for (const NodeAddr& dest : out)
    if (const CoordEntry* e = coords_.peek(dest, now_); e && e->path.back() != tree_.root())
      coords_.erase(dest);
  return out;
}

void RouteFlow::warm(Instant now, const NodeAddr& node, Path path) {
  if (path.empty() || node == self_) return;
  if (const auto r = coords_.insert(node, std::move(path), CoordSource::hearsay, now); !r)
    drops_.add(r.error());
}

void RouteFlow::forward(Instant now, LinkId from, bool ce, MutBytes message, Outbox& out) {
  const auto e = wire::decode_envelope(message);
  if (!e) return stats_.decode_error.add(message.size()), drops_.add(e.error());
  if (e->ttl <= 1) return stats_.ttl_exhausted.add(message.size()), drops_.add(Drop::ttl_spent);
  const NodeAddr dest = e->to;
  auto hop = hop_to(now, dest, out);
  const auto kind = wire::classify_session_payload(e->payload);
  // A signal may have been sent back this way for want of a better one.
  if (hop && hop->link == from && kind && *kind == wire::SessionKind::signal)
    return drops_.add(Drop::no_route);
  if (hop && hop->link == from) {
    // Who sent it thinks that we are closer, and we think that they are: one of us has old coordinates, and the
    // datagram would go to and fro until its hop limit ends. Without ours, its source is asked for new ones.
    coords_.erase(dest);
    told_.erase(dest);
    out.all(DropRoute{dest});
    hop.reset();
  }
  if (!hop) {
    stats_.drop_no_route.add(message.size());
    drops_.add(Drop::no_route);
    return report_no_route(now, from, *e, out);
  }
  const bool handshake = kind && (*kind == wire::SessionKind::setup || *kind == wire::SessionKind::ack);
  if (message.size() + wire::kFrameCost > (handshake ? wire::kMaxControlFrame : hop->mtu)) {
    stats_.drop_mtu_exceeded.add(message.size());
    drops_.add(Drop::over_link_mtu);
    if (auto signal = errors_.too_big(e->from, dest, e->payload, hop->mtu, now))
      send_signal(now, from, e->from, std::move(*signal), out);
    return;
  }
  (void)wire::advance_envelope(message, hop->mtu);
  const link::Peer* peer = links_.find(hop->link);
  const bool mark = ce || (peer && peer->congested);
  if (mark) stats_.ce_forwarded.add(1);
  stats_.forwarded.add(message.size());
  const Choice* c = told_.get(dest);
  Gauge* const by_class[] = {&stats_.route_tree_up,          &stats_.route_tree_down,
                             &stats_.route_tree_down_cross,  &stats_.route_crosslink_descend,
                             &stats_.route_crosslink_ascend, &stats_.route_direct_peer};
  by_class[static_cast<std::size_t>(c ? c->how : HopClass::direct_peer)]->add(1);
  out.home(hop->home, SendLink{hop->link, Buffer(message.begin(), message.end()), mark});
}

void RouteFlow::report_no_route(Instant now, LinkId from, const wire::Envelope& e, Outbox& out) {
  const CoordEntry* known = coords_.peek(e.to, now);
  auto signal = errors_.no_route(e.from, e.to, e.payload, known ? &known->path : nullptr, now);
  // They lead nowhere from here, proven or not, and must not stand in the way of what the source says next.
  coords_.erase(e.to);
  if (!signal) return drops_.add(signal.error());
  send_signal(now, from, e.from, std::move(*signal), out);
}

// A node that has just become part of the way knows neither end. Whoever sent the datagram here is nearer to its source.
void RouteFlow::send_signal(Instant now, LinkId from, const NodeAddr& to, Buffer message, Outbox& out) {
  const auto hop = hop_to(now, to, out);
  const link::Peer* peer = links_.find(hop ? hop->link : from);
  if (!peer) return;  // no way back: the source will notice by itself
  stats_.originated.add(message.size());
  out.home(peer->home, SendLink{peer->link, std::move(message)});
}

void RouteFlow::on_too_big(Instant now, const PuntTooBig& in, Outbox& out) {
  static constexpr std::uint8_t kSealed[4] = {};  // workers forward nothing but sealed payloads
  auto signal = errors_.too_big(in.source, in.dest, kSealed, in.mtu, now);
  if (!signal) return drops_.add(signal.error());
  send_signal(now, in.link, in.source, std::move(*signal), out);
}

void RouteFlow::on_stale(Instant now, const NodeAddr& dest, Outbox& out) {
  const auto c = choose(now, dest, true);
  if (c) return tell(now, dest, *c, out);
  told_.erase(dest);
  out.all(DropRoute{dest});
}

void RouteFlow::on_change(Instant now, Outbox& out) {
  recheck_at_.reset();
  if (told_.size() > kCorrectOneByOne) {
    told_ = Lru<NodeAddr, Choice>(kToldRoutes);
    out.all(FlushRoutes{});
    return;
  }
  std::vector<std::pair<NodeAddr, Choice>> told(told_.begin(), told_.end());
  for (const auto& [dest, old] : told) {
    const auto c = choose(now, dest, false);
    if (c && *c == old) continue;
    if (c) {
      tell(now, dest, *c, out);
    } else {
      told_.erase(dest);
      out.all(DropRoute{dest});
    }
  }
}

void RouteFlow::on_costs(Instant now) {
  if (!recheck_at_ && told_.size() > 0) recheck_at_ = now + kCostRecheck;
}

void RouteFlow::on_deadline(Instant now, Outbox& out) {
  if (recheck_at_ && *recheck_at_ <= now) on_change(now, out);
}

std::optional<RouteFlow::HopFacts> RouteFlow::describe(Instant now, const NodeAddr& dest) {
  const auto c = choose(now, dest, false);
  const link::Peer* peer = c ? links_.find(c->link) : nullptr;
  if (peer == nullptr) return std::nullopt;
  return HopFacts{peer, c->how, tree_.path_of(peer->addr)};
}

std::optional<NextHop> RouteFlow::explain(Instant now, const NodeAddr& dest) {
  const CoordEntry* e = coords_.peek(dest, now);
  return next_hop(dest, e ? &e->path : nullptr);
}

}  // namespace weft
