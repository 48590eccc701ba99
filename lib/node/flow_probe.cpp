#include "node/flow_probe.h"

#include "dataplane/icmp6.h"

namespace weft {
namespace {

probe::Budgets budgets_of(const std::vector<Duration>& attempts) {
  probe::Budgets b;
  b.lookup = 2s;
  for (const Duration d : attempts) b.lookup += d;
  return b;
}

probe::RoundTrips trips_of(const LinkQuality::Tally& t) {
  return {t.reports, t.rtt_samples, t.rtt_zero, t.rtt_impossible, std::chrono::microseconds(t.last_rtt_us)};
}

probe::Signal signal_of(const SessionFlow::Signal& s) {
  probe::Signal out{wire::reporter_of(s.what), probe::Signal::Kind::path_broken, 0, s.at};
  if (std::holds_alternative<wire::CoordsRequired>(s.what)) out.kind = probe::Signal::Kind::coords_required;
  if (const auto* big = std::get_if<wire::MtuExceeded>(&s.what)) {
    out.kind = probe::Signal::Kind::mtu_exceeded;
    out.mtu = big->mtu;
  }
  return out;
}

}  // namespace

ProbeFlow::ProbeFlow(const crypto::Identity& self, std::vector<Duration> lookup_attempts, Rng& rng,
                     LookupFlow& lookups, RouteFlow& routes, SessionFlow& sessions, ReportFlow& reports)
    : self_(self),
      attempts_(std::move(lookup_attempts)),
      lookups_(lookups),
      routes_(routes),
      sessions_(sessions),
      reports_(reports),
      mark_(rng.u64() | 1U),
      probes_(budgets_of(attempts_)) {}

Result<std::uint64_t, std::string> ProbeFlow::start(Now now, const PublicKey& key, bool thorough,
                                                    Outbox& out) {
  now_ = now.mono;
  return probes_.start(crypto::node_addr_of(key), key, thorough, now, *this, out);
}

void ProbeFlow::on_lookups(const LookupFlow::Results& results) {
  if (probes_.idle()) return;
  for (const auto& f : results.found) probes_.on_lookup(f.target, true);
  for (const auto& target : results.failed) probes_.on_lookup(target, false);
}

void ProbeFlow::on_deadline(Now now, Outbox& out) {
  const auto due = probes_.deadline();
  if (!due || *due > now.mono) return;
  now_ = now.mono;
  probes_.on_deadline(now, *this, out);
}

// ---- looking --------------------------------------------------------------------------------------------------------

std::vector<probe::Claim> ProbeFlow::claims(const NodeAddr& target) const {
  std::vector<probe::Claim> out;
  for (const auto& p : lookups_.reaching(target)) out.push_back({p.addr, p.tree_peer});
  return out;
}

std::optional<probe::Coords> ProbeFlow::coords(Instant now, const NodeAddr& target) const {
  const CoordEntry* e = routes_.coords_entry(now, target);
  if (e == nullptr || e->path.empty()) return std::nullopt;
  return probe::Coords{e->path, e->proven ? std::optional<Duration>(now - *e->proven) : std::nullopt};
}

std::optional<probe::Hop> ProbeFlow::next_hop(Instant now, const NodeAddr& target) {
  const auto f = routes_.describe(now, target);
  if (!f) return std::nullopt;
  probe::Hop hop{f->peer->addr, f->how, f->peer->mtu, std::nullopt, f->path != nullptr ? *f->path : Path{}};
  if (const LinkQuality* q = reports_.quality(f->peer->link)) hop.link_rtt_ms = q->srtt_ms();
  return hop;
}

probe::LookupState ProbeFlow::lookup(const NodeAddr& target) const {
  const auto& pending = lookups_.lookups().pending();
  const auto it = pending.find(target);
  return {it == pending.end() ? 0 : it->second.attempt};
}

std::optional<probe::Session> ProbeFlow::session(const NodeAddr& target) const {
  const auto v = sessions_.sessions().view(target);
  if (!v) return std::nullopt;
  probe::Session s;
  s.established = sessions_.sessions().established(target);
  s.resends = v->resend_count;
  if (v->stats)
    if (const auto ttl = v->stats->last_ttl.get(); ttl != 0) s.ttl = static_cast<std::uint8_t>(ttl);
  if (const auto* q = reports_.session(target)) {
    if (q->limit.current() != wire::kMtuUnknown) s.path_mtu = q->limit.current();
    s.trips = trips_of(q->quality.tally());
    s.srtt_ms = q->quality.srtt_ms();
  }
  return s;
}

std::vector<probe::Signal> ProbeFlow::signals(const NodeAddr& target, Instant since) const {
  std::vector<probe::Signal> out;
  for (const auto& s : sessions_.signals())
    if (s.dest == target && s.at >= since) out.push_back(signal_of(s));
  return out;
}

std::size_t ProbeFlow::largest_packet(const NodeAddr& target) {
  std::size_t frame = transport_mtu_;
  if (const auto hop = next_hop(now_, target)) frame = hop->mtu;
  if (const auto s = session(target); s && s->path_mtu) frame = std::min<std::size_t>(frame, *s->path_mtu);
  return frame > wire::kShimOverhead ? frame - wire::kShimOverhead : 0;
}

// ---- acting ---------------------------------------------------------------------------------------------------------

probe::Reason ProbeFlow::start_lookup(Now now, const NodeAddr& target, Outbox& out) {
  switch (lookups_.ask(now, target, out)) {
    case Lookups::Start::sent:
    case Lookups::Start::already_pending:
      return probe::Reason::none;
    case Lookups::Start::backoff:
      return probe::Reason::backoff_suppressed;
    case Lookups::Start::unreachable:
      return probe::Reason::bloom_miss;
    case Lookups::Start::too_many:
      break;
  }
  return probe::Reason::too_many_lookups;
}

Result<void, Drop> ProbeFlow::open_session(Now now, const NodeAddr& target, Outbox& out) {
  return sessions_.open(now, target, out);
}

bool ProbeFlow::send_warmup(Now now, const NodeAddr& target, Outbox& out) {
  return sessions_.sessions().send_coords(now.mono, target, out);
}

void ProbeFlow::send_echo(Now now, const NodeAddr& target, std::uint16_t sequence, std::size_t size,
                          Outbox& out) {
  // Workers must know the way before the packet comes, or it would come back as a miss.
  if (!routes_.hop_to(now.mono, target, out)) return;
  out.encrypt(InjectTun{make_echo_request(self_.mesh_addr(), mesh_addr_of(target), mark_, sequence, size)});
}

}  // namespace weft
