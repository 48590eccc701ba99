#include "node/flow_report.h"

#include "wire/session_frame.h"

namespace weft {
namespace {

// Timers of many links that come due together cost one wake-up: due times are rounded up to this grain.
constexpr Duration kGrain = 250ms;
// Reports count as traffic of the other side, so two ends without data would answer each other twice a second for as
// long as the session lives. A pause under the time after which a silent peer is suspected to have lost its keys.
constexpr Duration kIdleAfter = 5s;
constexpr Duration kIdlePause = 4s;
static_assert(kIdlePause < session::kSilence);

Instant rounded(Instant t) {
  if (t == kNever) return t;
  const auto n = t.time_since_epoch().count();
  const auto g = kGrain.count();
  return Instant{Duration{(n + g - 1) / g * g}};
}

}  // namespace

// ---- links ----------------------------------------------------------------------------------------------------------

void ReportFlow::on_link_up(Now now, const link::Peer& peer) {
  by_peer_[peer.addr] = peer.link;
  by_link_.insert_or_assign(
      peer.link,
      LinkState{peer.addr, {}, ReportSchedule{MetricsLayer::link, settings_.link_mode}, peer.current.send});
  link_due_.set(peer.link, now.mono + 200ms);  // something has surely been sent and heard by then
}

void ReportFlow::on_link_down(LinkId link) {
  const auto it = by_link_.find(link);
  if (it == by_link_.end()) return;
  if (const auto p = by_peer_.find(it->second.peer); p != by_peer_.end() && p->second == link)
    by_peer_.erase(p);
  by_link_.erase(it);
  link_due_.clear(link);
}

void ReportFlow::on_link_rekeyed(Now now, const link::Peer& peer) {
  const auto it = by_link_.find(peer.link);
  if (it == by_link_.end()) return;
  LinkState& s = it->second;
  s.quality.cutover(s.key->next.load(std::memory_order_relaxed), now.mono);
  s.key = peer.current.send;
}

ReportFlow::Heard ReportFlow::on_link_report(Now now, const link::Peer& peer, const PuntLinkMessage& in,
                                             Outbox& out) {
  const auto it = by_link_.find(peer.link);
  if (it == by_link_.end() || in.our_index != peer.current.ours)
    return {};  // an epoch that drains says nothing new
  const auto report = wire::decode_receiver_report(in.message, wire::ReportForm::link);
  if (!report) return drops_.add(report.error()), Heard{};
  LinkState& s = it->second;
  const SentSoFar sent{peer.current.send->next.load(std::memory_order_relaxed),
                       peer.stats->frames_sent.get()};
  const auto heard = s.quality.on_report(*report, sent, wire_ms(peer.current.started, now.mono), now.mono);
  if (!heard) drops_.add(heard.error());
  if (const auto srtt = s.quality.srtt_us()) {
    s.schedule.retune(*srtt);
    schedule_link(peer.link, s);
  }
  s.quality.on_own_receipts(peer.stats->epoch_frames_recv.get(), peer.stats->epoch_highest.get());
  links_.set_congested(peer.link,
                       is_congested(settings_.congestion, s.quality.loss(), s.quality.etx(), dropping_), out);
  return {heard && heard->first_rtt, heard.has_value()};
}

void ReportFlow::on_kernel_drops(std::uint64_t total, Outbox& out) {
  dropping_ = kernel_drops_.rose(total);
  for (const auto& [link, s] : by_link_)
    links_.set_congested(
        link, is_congested(settings_.congestion, s.quality.loss(), s.quality.etx(), dropping_), out);
}

void ReportFlow::schedule_link(LinkId link, const LinkState& s) {
  if (const auto at = s.schedule.deadline(); at != kNever) link_due_.set(link, rounded(at));
}

// ---- sessions -------------------------------------------------------------------------------------------------------

void ReportFlow::on_session_up(Now now, const NodeAddr& remote) {
  const auto v = sessions_.view(remote);
  SessionQuality q{{},
                   ReportSchedule{MetricsLayer::session, settings_.session_mode},
                   {},
                   {},
                   v ? v->epoch_start : now.mono};
  q.limit.seed(v ? v->path_mtu : wire::kMtuUnknown);
  by_session_.insert_or_assign(remote, std::move(q));
  session_due_.set(remote, now.mono + 500ms);
}

void ReportFlow::on_session_down(const NodeAddr& remote) {
  by_session_.erase(remote);
  session_due_.clear(remote);
}

void ReportFlow::on_session_rekeyed(Now now, const NodeAddr& remote, Instant epoch_start) {
  const auto it = by_session_.find(remote);
  if (it == by_session_.end()) return;
  it->second.quality.cutover(UINT64_MAX, now.mono);
  it->second.epoch_start = epoch_start;
}

void ReportFlow::on_session_message(Now now, const PuntSessionMessage& in, Outbox& out) {
  const auto it = by_session_.find(in.remote);
  const auto v = sessions_.view(in.remote);
  if (it == by_session_.end() || !v || !v->stats) return;
  SessionQuality& s = it->second;
  const auto type = wire::session_msg_of(in.type);
  if (!type) return drops_.add(type.error());
  if (*type == wire::SessionMsg::path_mtu) {
    const auto note = wire::decode_path_mtu_notification(in.body);
    if (!note) return drops_.add(note.error());
    return on_path_mtu_claim(now, in.remote, note->path_mtu, out);
  }
  if (*type != wire::SessionMsg::receiver_report) return;
  const auto report = wire::decode_receiver_report(in.body, wire::ReportForm::session);
  if (!report) return drops_.add(report.error());
  // Workers share the session's counters; an upper bound is all that the plausibility test needs.
  const SentSoFar sent{UINT64_MAX, UINT64_MAX};
  if (const auto heard = s.quality.on_report(*report, sent, wire_ms(s.epoch_start, now.mono), now.mono);
      !heard)
    drops_.add(heard.error());
  if (const auto srtt = s.quality.srtt_us()) {
    s.schedule.retune(*srtt);
    v->stats->rtt_ns.set(static_cast<std::uint64_t>(*srtt) * 1000);
    schedule_session(in.remote, s);
  }
  s.quality.on_own_receipts(v->stats->epoch_frames_recv.get(), v->stats->epoch_highest.get());
}

void ReportFlow::on_path_mtu_claim(Now now, const NodeAddr& remote, std::uint16_t mtu, Outbox& out) {
  const auto it = by_session_.find(remote);
  if (it == by_session_.end()) return;
  SessionQuality& s = it->second;
  const auto effect = s.limit.on_claim(mtu, now.mono, path_mtu_interval(s.quality.srtt_us()));
  if (effect == PathMtuLimit::Effect::below_floor) {
    ++mtu_below_floor_;
    return drops_.add(Drop::mtu_below_floor);
  }
  if (effect != PathMtuLimit::Effect::none) apply_limit(remote, s, out);
}

void ReportFlow::on_path_mtu_seen(Now now, const NodeAddr& remote, std::uint16_t mtu, Outbox& out) {
  const auto it = by_session_.find(remote);
  if (it == by_session_.end()) return;
  it->second.seen.observe(mtu);
  session_due(now, remote, it->second, out);
}

void ReportFlow::on_link_mtu(Now now, LinkId link, Outbox& out) {
  for (auto& [remote, s] : by_session_)
    if (const auto hop = around_.hop_to(now.mono, remote, out); hop && hop->link == link)
      follow_hop(*hop, remote, s, out);
}

void ReportFlow::follow_hop(const session::Hop& hop, const NodeAddr& remote, SessionQuality& s, Outbox& out) {
  const auto before = s.limit.current();
  if (hop.direct) s.limit.neighbour(hop.mtu);
  else s.limit.seed(hop.mtu);
  if (s.limit.current() != before) apply_limit(remote, s, out);
}

void ReportFlow::on_path_gone(const NodeAddr& remote, Outbox& out) {
  const auto it = by_session_.find(remote);
  if (it == by_session_.end()) return;
  it->second.limit.reset();
  apply_limit(remote, it->second, out);
}

void ReportFlow::apply_limit(const NodeAddr& remote, const SessionQuality& s, Outbox& out) {
  sessions_.set_path_mtu(remote, s.limit.current(), out);
}

void ReportFlow::schedule_session(const NodeAddr& remote, const SessionQuality& s) {
  const Instant reports = std::max(s.schedule.deadline(), s.quiet_until);
  const Instant notice = s.seen.due(s.limit.current(), path_mtu_interval(s.quality.srtt_us()));
  if (const auto at = std::min(reports, notice); at != kNever) session_due_.set(remote, rounded(at));
}

void ReportFlow::session_due(Now now, const NodeAddr& remote, SessionQuality& s, Outbox& out) {
  const auto v = sessions_.view(remote);
  const auto hop = around_.hop_to(now.mono, remote, out);
  if (!v || v->state != session::State::established) return;
  const bool talks = now.mono >= s.quiet_until;
  const bool sender = talks && s.schedule.is_due(ReportKind::sender, now.mono);
  const bool receiver = talks && s.schedule.is_due(ReportKind::receiver, now.mono);
  const Instant data =
      std::max({s.epoch_start, v->stats->last_data_recv.get(), v->stats->last_data_sent.get()});
  if ((sender || receiver) && now.mono - data > kIdleAfter) s.quiet_until = now.mono + kIdlePause;
  if (hop) {
    follow_hop(*hop, remote, s, out);
    if (sender || receiver) out.home(v->home, SendSessionReports{remote, hop->link, sender, receiver});
    if (const auto mtu =
            s.seen.take_notice(now.mono, s.limit.current(), path_mtu_interval(s.quality.srtt_us()))) {
      Buffer body;
      wire::encode_path_mtu_notification(body, {*mtu});
      out.home(v->home, SendSession{remote, hop->link, static_cast<std::uint8_t>(wire::SessionMsg::path_mtu),
                                    false, std::move(body)});
    }
  }
  if (sender || receiver) s.schedule.on_send_round(hop.has_value());
  if (sender) s.schedule.done(ReportKind::sender, now.mono);
  if (receiver) s.schedule.done(ReportKind::receiver, now.mono);
  schedule_session(remote, s);
  // Without a hop the notice stays due: look again with the next report, or in a while.
  if (const auto at = session_due_.at(remote); !at || *at <= now.mono)
    session_due_.set(remote, now.mono + 1s);
}

// ---- time -----------------------------------------------------------------------------------------------------------

std::optional<Instant> ReportFlow::deadline() const { return earlier(link_due_.next(), session_due_.next()); }

void ReportFlow::on_deadline(Now now, Outbox& out) {
  while (const auto link = link_due_.pop_due(now.mono)) {
    const auto it = by_link_.find(*link);
    const link::Peer* peer = links_.find(*link);
    if (it == by_link_.end() || !peer) continue;
    LinkState& s = it->second;
    const bool sender = s.schedule.is_due(ReportKind::sender, now.mono);
    const bool receiver = s.schedule.is_due(ReportKind::receiver, now.mono);
    if (sender || receiver) out.home(peer->home, SendLinkReports{*link, sender, receiver});
    if (sender) s.schedule.done(ReportKind::sender, now.mono);
    if (receiver) s.schedule.done(ReportKind::receiver, now.mono);
    schedule_link(*link, s);
  }
  while (const auto remote = session_due_.pop_due(now.mono)) {
    const auto it = by_session_.find(*remote);
    if (it != by_session_.end()) session_due(now, *remote, it->second, out);
  }
}

double ReportFlow::cost(const NodeAddr& peer) const {
  const auto it = by_peer_.find(peer);
  return it == by_peer_.end() ? 1.0 : by_link_.at(it->second).quality.cost();
}

LinkCosts ReportFlow::costs() const {
  LinkCosts out;
  for (const auto& [link, s] : by_link_)
    if (s.quality.srtt_us()) out.emplace(s.peer, s.quality.cost());
  return out;
}

const LinkQuality* ReportFlow::quality(LinkId link) const {
  const auto it = by_link_.find(link);
  return it == by_link_.end() ? nullptr : &it->second.quality;
}

const ReportFlow::SessionQuality* ReportFlow::session(const NodeAddr& remote) const {
  const auto it = by_session_.find(remote);
  return it == by_session_.end() ? nullptr : &it->second;
}

}  // namespace weft
