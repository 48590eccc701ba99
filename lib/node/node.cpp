#include "node/node.h"

#include "wire/session_frame.h"

namespace weft {
namespace {

Duration secs(std::uint64_t s) { return std::chrono::seconds(static_cast<std::int64_t>(std::min<std::uint64_t>(s, 1U << 30))); }
Duration millis(std::uint64_t ms) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(ms, std::uint64_t{1} << 40)));
}

StartupEpoch draw_epoch(Rng& rng) {
  StartupEpoch e;
  rng.fill(e.bytes);
  return e;
}

TreeLimits tree_limits(const config::TreeSection& t) {
  TreeLimits l;
  l.hysteresis = t.parent_hysteresis;
  l.damping = {secs(t.hold_down_secs), t.flap_threshold, secs(t.flap_window_secs), secs(t.flap_dampening_secs)};
  l.reeval_interval = secs(t.reeval_interval_secs);
  l.announce_min_interval = millis(t.announce_min_interval_ms);
  return l;
}

BloomLimits bloom_limits(const config::BloomSection& b) {
  BloomLimits l;
  l.max_inbound_fpr = b.max_inbound_fpr;
  l.debounce = millis(b.update_debounce_ms);
  return l;
}

LookupLimits lookup_limits(const config::LookupSection& c) {
  LookupLimits l;
  l.ttl = c.ttl;
  l.attempts.clear();
  for (const auto s : c.attempt_timeouts_secs) l.attempts.push_back(secs(s));
  l.transit.expiry = secs(c.recent_expiry_secs);
  l.transit.forward_interval = secs(c.forward_min_interval_secs);
  l.backoff_base = secs(c.backoff_base_secs);
  l.backoff_cap = secs(c.backoff_max_secs);
  return l;
}

session::Settings session_settings(const config::Config& c) {
  const auto& n = c.node;
  session::Settings s;
  s.handshake_timeout = secs(n.rate_limit.handshake_timeout_secs);
  s.resend_interval = millis(n.rate_limit.handshake_resend_interval_ms);
  s.resend_backoff = n.rate_limit.handshake_resend_backoff;
  s.max_resends = n.rate_limit.handshake_max_resends;
  s.idle_timeout = secs(n.session.idle_timeout_secs);
  s.coords_warmup_packets = n.session.coords_warmup_packets;
  s.rekey = n.rekey.enabled;
  s.rekey_after = secs(n.rekey.after_secs);
  s.rekey_after_messages = n.rekey.after_messages;
  s.stranger_burst = n.rate_limit.session_setup_burst;
  s.stranger_rate = n.rate_limit.session_setup_rate;
  s.known_burst = config::established_burst(c);
  s.known_rate = config::established_rate(c);
  s.pending_per_dest = n.session.pending_packets_per_dest;
  s.pending_dests = n.session.pending_max_destinations;
  return s;
}

MetricsMode mode_of(config::MmpMode m) {
  switch (m) {
    case config::MmpMode::lightweight: return MetricsMode::lightweight;
    case config::MmpMode::minimal: return MetricsMode::minimal;
    case config::MmpMode::full: break;
  }
  return MetricsMode::full;
}

ReportFlow::Settings report_settings(const config::NodeSection& n) {
  return {mode_of(n.mmp.mode), mode_of(n.session_mmp.mode), {n.ecn.enabled, n.ecn.loss_threshold, n.ecn.etx_threshold}};
}

}  // namespace

Node::Node(NodeOptions o, crypto::Identity identity, Rng& rng, Log& log, Now now)
    : config_(std::move(o.config)),
      identity_(std::move(identity)),
      rng_(rng),
      log_(log),
      started_(now.mono),
      kept_peers_(std::move(o.kept_peers)),
      hosts_text_(std::move(o.hosts_text)),
      allow_text_(std::move(o.allow_text)),
      deny_text_(std::move(o.deny_text)),
      links_(link::Settings::from(config_, o.decrypt_workers), identity_, draw_epoch(rng), rng, log, drops_,
             [this](const PublicKey& key) -> std::optional<std::string> {
               const auto v = acl_.check(key);
               return v.allowed ? std::nullopt : std::optional(v.text());
             }),
      peering_(links_, {secs(config_.node.retry.base_interval_secs), secs(config_.node.retry.max_backoff_secs)}, rng, log),
      tree_(identity_.addr(), now, tree_limits(config_.node.tree)),
      bloom_(identity_.addr(), now, bloom_limits(config_.node.bloom)),
      lookups_(identity_.addr(), lookup_limits(config_.node.lookup)),
      coords_({config_.node.cache.coord_size, secs(config_.node.cache.coord_ttl_secs)}),
      errors_(identity_.addr(), {.ttl = config_.node.session.default_ttl}),
      identities_(config_.node.cache.identity_size),
      routes_(identity_.addr(), config_.node.session.default_ttl, links_, tree_, bloom_, coords_, errors_, drops_),
      sessions_(identity_, draw_epoch(rng), session_settings(config_), routes_, rng),
      reports_(report_settings(config_.node), links_, sessions_, routes_, drops_),
      tree_flow_(identity_, rng, links_, tree_, bloom_, reports_, log, drops_),
      lookup_flow_(identity_, rng, links_, tree_, bloom_, lookups_, coords_, identities_, drops_),
      session_flow_(identity_, sessions_, identities_, routes_, lookup_flow_, reports_, coords_, errors_, log, drops_),
      probe_flow_(identity_, lookup_limits(config_.node.lookup).attempts, rng, lookup_flow_, routes_, session_flow_, reports_),
      mtu_flow_(config_.weft.dataplane.mtu_discovery, links_, log, drops_) {
  routes_.set_reports(reports_);
  links_.set_transports(std::move(o.transports));
  rebuild_names(now);
}

Node::~Node() = default;

void Node::start(Now now, Outbox& out) {
  started_up_ = true;
  const std::uint16_t mtu = links_.smallest_mtu();
  tell_local(mtu == 0 ? std::uint16_t{1280} : mtu, out);
  rebuild_wanted(now, out);
  (void)tree_flow_.on_deadline(now, out);
}

void Node::tell_local(std::uint16_t mtu, Outbox& out) {
  probe_flow_.set_transport_mtu(mtu);
  out.all(SetLocal{mtu, config_.tun.enabled, probe_flow_.echo_mark()});
}

void Node::on_lookups(Now now, const LookupFlow::Results& results, Outbox& out) {
  probe_flow_.on_lookups(results);
  session_flow_.on_lookups(now, results, out);
}

// ---- from workers ---------------------------------------------------------------------------------------------------

void Node::on_punt(Now now, Punt&& punt, Outbox& out) {
  if (auto* p = std::get_if<PuntHandshake>(&punt)) {
    links_.on_handshake(now, *p, out);
    return take_link_events(now, out);
  }
  if (auto* p = std::get_if<PuntLinkProven>(&punt)) {
    links_.on_proven(now, *p, out);
    return take_link_events(now, out);
  }
  if (auto* p = std::get_if<PuntMoved>(&punt)) {
    links_.on_moved(now, *p, out);
    return take_link_events(now, out);
  }
  if (auto* p = std::get_if<PuntLinkMessage>(&punt)) return on_link_message(now, *p, out);
  if (auto* p = std::get_if<PuntMtuProbe>(&punt)) return mtu_flow_.on_probe(*p, out);
  if (auto* p = std::get_if<PuntDatagram>(&punt)) return on_datagram(now, *p, out);
  if (auto* p = std::get_if<PuntNoRoute>(&punt)) return routes_.forward(now.mono, p->link, p->ce, p->message, out);
  if (auto* p = std::get_if<PuntSessionMessage>(&punt)) return reports_.on_session_message(now, *p, out);
  if (auto* p = std::get_if<PuntSessionProven>(&punt)) return session_flow_.on_proven(now, *p, out);
  if (auto* p = std::get_if<PuntTunPacket>(&punt)) return session_flow_.on_tun_packet(now, std::move(p->packet), out);
  if (auto* p = std::get_if<PuntCoords>(&punt)) return session_flow_.on_coords(now, *p, out);
  if (auto* p = std::get_if<PuntRouteStale>(&punt)) return routes_.on_stale(now.mono, p->dest, out);
  if (auto* p = std::get_if<PuntPathMtu>(&punt)) return reports_.on_path_mtu_seen(now, p->remote, p->mtu, out);
  if (auto* p = std::get_if<PuntEcho>(&punt)) return probe_flow_.on_echo(*p);
  if (auto* p = std::get_if<PuntTooBig>(&punt)) {
    if (p->source == identity_.addr()) return reports_.on_path_mtu_claim(now, p->dest, p->mtu, out);
    return routes_.on_too_big(now.mono, *p, out);
  }
}

void Node::on_link_message(Now now, const PuntLinkMessage& in, Outbox& out) {
  const link::Peer* peer = links_.find(in.link);
  if (!peer) return drops_.add(Drop::unknown_peer);
  const auto type = wire::link_msg_of(in.message);
  if (!type) return drops_.add(type.error());
  switch (*type) {
    case wire::LinkMsg::tree_announce: return settle(now, tree_flow_.on_announce(now, *peer, in.message, out), out);
    case wire::LinkMsg::filter_announce: return settle(now, tree_flow_.on_filter(now, *peer, in.message, out), out);
    case wire::LinkMsg::lookup_request: return lookup_flow_.on_request(now, *peer, in.message, out);
    case wire::LinkMsg::lookup_response:
      return on_lookups(now, lookup_flow_.on_response(now, in.message, out), out);
    case wire::LinkMsg::receiver_report: {
      const auto heard = reports_.on_link_report(now, *peer, in, out);
      if (heard.first_rtt) settle(now, tree_flow_.on_first_rtt(now, out), out);
      if (heard.measured) routes_.on_costs(now.mono);
      return;
    }
    case wire::LinkMsg::sender_report:
    case wire::LinkMsg::heartbeat: return;
    case wire::LinkMsg::disconnect: {
      if (in.our_index != peer->current.ours && peer->current.proven) return;  // said before the keys changed
      const auto d = wire::decode_disconnect(in.message);
      if (!d) return drops_.add(d.error());
      links_.on_disconnect(now, in.link, d->reason, out);
      return take_link_events(now, out);
    }
    case wire::LinkMsg::hello: {
      const auto hello = wire::decode_hello(in.message);
      if (!hello) return drops_.add(hello.error());
      links_.on_hello(now, in.link, *hello, out);
      return take_link_events(now, out);
    }
    case wire::LinkMsg::mtu_ack:
      if (mtu_flow_.on_ack(now, *peer, in.message, out)) reports_.on_link_mtu(now, in.link, out);
      return;
    case wire::LinkMsg::mtu_probe:
    case wire::LinkMsg::mtu_notice:
    case wire::LinkMsg::envelope: return drops_.add(Drop::unknown_link_message);  // workers keep those
  }
}

void Node::on_datagram(Now now, PuntDatagram& in, Outbox& out) {
  const auto e = wire::decode_envelope(in.message);
  if (!e) return drops_.add(e.error());
  const link::Peer* via = links_.find(in.link);
  if (!via) return drops_.add(Drop::unknown_peer);
  if (const auto seen = wire::peek_coords(e->payload)) {
    if (!seen->from.empty()) routes_.warm(now.mono, e->from, seen->from.path());
    if (!seen->to.empty() && e->to != identity_.addr()) routes_.warm(now.mono, e->to, seen->to.path());
  } else {
    drops_.add(seen.error());
  }
  if (e->to == identity_.addr()) return session_flow_.on_datagram(now, via->addr, *e, out);
  routes_.forward(now.mono, in.link, in.ce, in.message, out);
}

// ---- events between conversations -----------------------------------------------------------------------------------

void Node::take_link_events(Now now, Outbox& out) {
  for (auto events = links_.take_events(); !events.empty(); events = links_.take_events()) {
    for (const auto& event : events) {
      if (const auto* up = std::get_if<link::LinkUp>(&event)) {
        const link::Peer* peer = links_.find(up->link);
        if (!peer) continue;
        identities_.put(up->key, now.mono);
        reports_.on_link_up(now, *peer);
        peering_.on_up(up->key);
        settle(now, tree_flow_.on_link_up(now, up->addr, out), out);
      } else if (const auto* down = std::get_if<link::LinkDown>(&event)) {
        const auto* id = identities_.peek(down->addr);
        const std::optional<PublicKey> key = id ? std::optional(id->key) : std::nullopt;
        reports_.on_link_down(down->link);
        mtu_flow_.on_link_down(down->link);
        lookup_flow_.on_link_down(down->addr);
        session_flow_.on_link_down(now, down->addr, out);
        settle(now, tree_flow_.on_link_down(now, down->addr, out), out);
        if (key) peering_.on_down(now, *key, down->why);
      } else if (const auto* re = std::get_if<link::LinkRekeyed>(&event)) {
        if (const link::Peer* peer = links_.find(re->link)) {
          reports_.on_link_rekeyed(now, *peer);
          mtu_flow_.on_path(now, *peer);
        }
        settle(now, tree_flow_.on_link_rekeyed(now, re->addr, out), out);
      } else if (const auto* moved = std::get_if<link::LinkMoved>(&event)) {
        if (const link::Peer* peer = links_.find(moved->link)) mtu_flow_.on_path(now, *peer);
      } else if (const auto* weft = std::get_if<link::LinkFeatures>(&event)) {
        if (const link::Peer* peer = links_.find(weft->link)) mtu_flow_.on_features(now, *peer);
      } else if (const auto* ended = std::get_if<link::DialEnded>(&event)) {
        peering_.on_dial_ended(now, ended->key, ended->to, ended->why);
      }
    }
  }
}

void Node::settle(Now now, const TreeFlow::Effects& fx, Outbox& out) {
  if (fx.drop_paths_through_us) coords_.drop_through(identity_.addr());
  if (fx.drop_foreign_roots) coords_.drop_foreign_roots(tree_.root());
  if (fx.clear_lookup_backoff) lookups_.clear_backoff();
  if (fx.path_changed) session_flow_.on_own_path_changed(now, out);
  if (!fx.routes_changed) return;
  routes_.on_change(now.mono, out);
  lookup_flow_.on_change(now, out);
  session_flow_.on_routes_changed(now, out);
}

void Node::on_resolved(Now now, std::uint64_t ticket, const std::vector<Endpoint>& endpoints, const std::string& error,
                       Outbox& out) {
  peering_.on_resolved(now, ticket, endpoints, error, out);
  take_link_events(now, out);
}

void Node::on_network_change(Now now, Outbox& out) {
  links_.on_network_change(now, out);
  peering_.on_network_change(now);
  mtu_flow_.on_network_change(now);
  take_link_events(now, out);
}

void Node::on_kernel_drops(Now, std::uint64_t total, Outbox& out) { reports_.on_kernel_drops(total, out); }

void Node::on_transports(Now now, std::vector<link::Transport> transports, Outbox& out) {
  links_.set_transports(std::move(transports));
  if (!started_up_) return;
  const std::uint16_t mtu = links_.smallest_mtu();
  if (mtu != 0) tell_local(mtu, out);
  mtu_flow_.on_transports(now);
  peering_.on_network_change(now);
}

// ---- time -----------------------------------------------------------------------------------------------------------

std::optional<Instant> Node::deadline() const {
  std::optional<Instant> next;
  for (const auto& d : {links_.deadline(), peering_.deadline(), tree_flow_.deadline(), lookup_flow_.deadline(),
                        session_flow_.deadline(), reports_.deadline(), routes_.deadline(), probe_flow_.deadline(),
                        mtu_flow_.deadline()})
    if (d && (!next || *d < *next)) next = d;
  return next;
}

void Node::on_deadline(Now now, Outbox& out) {
  links_.on_deadline(now, out);
  take_link_events(now, out);
  peering_.on_deadline(now, out);
  take_link_events(now, out);
  if (const auto d = tree_flow_.deadline(); d && *d <= now.mono) settle(now, tree_flow_.on_deadline(now, out), out);
  on_lookups(now, lookup_flow_.on_deadline(now, out), out);
  session_flow_.on_deadline(now, out);
  reports_.on_deadline(now, out);
  routes_.on_deadline(now.mono, out);
  probe_flow_.on_deadline(now, out);
  mtu_flow_.on_deadline(now, out);
}

std::uint16_t Node::interface_mtu() const {
  std::uint16_t mtu = config_.tun.mtu;
  for (const auto& [addr, p] : links_.peers())
    if (p.mtu > wire::kShimOverhead) mtu = std::max<std::uint16_t>(mtu, static_cast<std::uint16_t>(p.mtu - wire::kShimOverhead));
  return mtu;
}

void Node::on_tick(Now now, NodeSample s) {
  if (const auto n = bloom_.mesh_size()) s.mesh_size = static_cast<double>(*n);
  s.tree_depth = static_cast<double>(tree_.path().size() - 1);
  s.peer_count = static_cast<double>(links_.peers().size());
  s.active_sessions = static_cast<double>(sessions_.size());
  s.parent_switches = parent_switches();
  for (std::size_t i = 0; i < kDropCount; ++i) s.drops[i] += drops_.get(static_cast<Drop>(i));
  std::vector<PeerSample> peers;
  peers.reserve(links_.peers().size());
  double loss = 0, etx = 0, srtt = 0;
  std::size_t measured = 0, timed = 0;
  for (const auto& [addr, peer] : links_.peers()) {
    PeerSample p;
    p.peer = addr;
    if (const LinkQuality* q = reports_.quality(peer.link)) {
      p.srtt_ms = q->srtt_ms();
      p.loss_rate = q->loss();
      p.etx = q->etx();
      if (p.srtt_ms) p.cost = q->cost();
      ++measured;
      loss += q->loss();
      etx += q->etx();
      if (p.srtt_ms) ++timed, srtt += *p.srtt_ms;
    }
    p.bytes_in = peer.stats->bytes_recv.get();
    p.bytes_out = peer.stats->bytes_sent.get();
    p.packets_in = peer.stats->frames_recv.get();
    p.packets_out = peer.stats->frames_sent.get();
    p.ecn_ce = peer.stats->ce_recv.get();
    s.link_bytes_in += p.bytes_in;
    s.link_bytes_out += p.bytes_out;
    peers.push_back(p);
  }
  if (!peers.empty()) s.loss_rate = loss / static_cast<double>(peers.size());
  if (measured > 0) s.mean_etx = etx / static_cast<double>(measured);
  if (timed > 0) s.mean_srtt_ms = srtt / static_cast<double>(timed);
  history_.tick(now.mono, s, peers);
}

}  // namespace weft
