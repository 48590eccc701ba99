#include "dataplane/decrypt_impl.h"
#include "wire/own_msg.h"

namespace weft {
namespace {

constexpr std::size_t kMinBurst = 16;
constexpr Duration kMovedEvery = 100ms;

/// Sinks of a burst are per home; with one worker there is no other home.
std::size_t stray_slots(const ShardOptions& o) { return o.decrypt_workers < 2 ? 0 : o.decrypt_workers; }

Drop lane_full(Lane lane) {
  switch (lane) {
    case Lane::handshake:
      return Drop::handshake_lane_full;
    case Lane::control:
      return Drop::control_lane_full;
    case Lane::miss:
      break;
  }
  return Drop::miss_lane_full;
}

}  // namespace

DecryptShard::Impl::Impl(ShardOptions o)
    : opts(std::move(o)),
      self_mesh(mesh_addr_of(opts.self)),
      burst(std::max(opts.burst_frames, kMinBurst)),
      egress(burst),
      joiner(opts.tun_tcp, opts.tun_udp),
      strays(stray_slots(opts)),
      msg1_bucket(opts.handshakes_burst, opts.handshakes_per_second),
      msg2_bucket(opts.handshakes_burst, opts.handshakes_per_second) {
  frames.reserve(burst);
  inner.reserve(burst);
  tried.reserve(burst);
  jobs.reserve(burst);
}

bool DecryptShard::Impl::punt(Punt&& p, ShardIo& io) {
  const Lane lane = lane_of(p);
  if (io.punts.punt(std::move(p))) return true;
  stats.drops.add(lane_full(lane));
  return false;
}

// ---- commands
// -------------------------------------------------------------------------------------------------------

void DecryptShard::Impl::add(LinkRecv&& recv) {
  LinkHome& home = links.try_emplace(recv.link, recv.link, recv.initiator, recv.stats).first->second;
  if (!home.current) {
    home.current = recv.our_index;
    home.current_epoch = recv.epoch;
  }
  const SessionIndex index = recv.our_index;
  halves.insert_or_assign(index, LinkHalf{std::move(recv), &home, false});
}

void DecryptShard::Impl::add(SessionRecv&& recv) {
  SessionHome& home =
      sessions.try_emplace(recv.remote, recv.remote, recv.initiator, recv.stats).first->second;
  if (!home.current) home.current = recv.epoch;
  std::erase_if(home.halves, [&](const SessionHalf& h) { return h.recv.epoch == recv.epoch; });
  if (home.halves.size() >= SessionHome::kHalves) home.halves.erase(home.halves.begin());
  home.halves.push_back({std::move(recv), false});
}

void DecryptShard::Impl::drop_link(LinkId link) {
  std::erase_if(halves, [&](const auto& h) { return h.second.recv.link == link; });
  links.erase(link);
}

void DecryptShard::Impl::cutover(Instant now, const LinkCutover& c) {
  const auto home = links.find(c.link);
  const auto half = halves.find(c.our_index);
  if (home == links.end() || half == halves.end() || half->second.home != &home->second) return;
  LinkHome& h = home->second;
  if (h.current == c.our_index) return;
  h.current = c.our_index;
  h.current_epoch = half->second.recv.epoch;
  h.meter.cutover(now);
  h.excused.reset();
  h.spin.cutover();
  h.stats->epoch_frames_recv.set(0);
  h.stats->epoch_highest.set(0);
}

void DecryptShard::Impl::cutover(Instant now, const SessionCutover& c) {
  const auto it = sessions.find(c.remote);
  if (it == sessions.end() || it->second.current == c.epoch) return;
  SessionHome& h = it->second;
  h.current = c.epoch;
  h.meter.cutover(now);
  h.spin.cutover();
  h.stats->epoch_frames_recv.set(0);
  h.stats->epoch_highest.set(0);
}

void DecryptShard::apply(Instant now, Command&& command, ShardIo& io) {
  Impl& s = *impl_;
  s.tables.apply(command);
  std::visit(
      [&](auto& c) {
        using C = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<C, AddLinkRecv> || std::is_same_v<C, AddSessionRecv>) {
          s.add(std::move(c.recv));
        } else if constexpr (std::is_same_v<C, DropLinkRecv>) {
          s.halves.erase(c.our_index);
        } else if constexpr (std::is_same_v<C, DropLink>) {
          s.drop_link(c.link);
        } else if constexpr (std::is_same_v<C, DropSession>) {
          s.last_session = nullptr;
          s.sessions.erase(c.remote);
        } else if constexpr (std::is_same_v<C, DropSessionRecv>) {
          if (auto* home = s.session_home(c.remote))
            std::erase_if(home->halves, [&](const SessionHalf& h) { return h.recv.epoch == c.epoch; });
        } else if constexpr (std::is_same_v<C, LinkCutover> || std::is_same_v<C, SessionCutover>) {
          s.cutover(now, c);
        } else if constexpr (std::is_same_v<C, SendLink> || std::is_same_v<C, SendSession> ||
                             std::is_same_v<C, SendProbe> || std::is_same_v<C, SendLinkReports> ||
                             std::is_same_v<C, SendSessionReports>) {
          s.send(now, c, io);
        }
      },
      command);
}

// ---- frames
// ---------------------------------------------------------------------------------------------------------

void DecryptShard::Impl::on_read(Instant now, TransportId transport, const WireRead& read, ShardIo& io) {
  if (read.data.empty()) return stats.drops.add(Drop::too_short);
  const std::size_t segment = read.segment == 0 ? read.data.size() : read.segment;
  std::size_t size = read.data.size();
  if (read.truncated) {  // what was cut is the last datagram
    stats.drops.add(Drop::truncated_datagram);
    size = size <= segment ? 0 : (size - 1) / segment * segment;
  }
  for (std::size_t at = 0; at < size; at += segment)
    admit(now, transport, read.from, read.data.subspan(at, std::min(segment, size - at)), io);
}

void DecryptShard::Impl::admit(Instant now, TransportId transport, const Endpoint& from, MutBytes frame,
                               ShardIo& io) {
  const auto phase = wire::classify_link_frame(frame);
  if (!phase) return stats.drops.add(phase.error());
  if (*phase != wire::LinkPhase::sealed)
    return on_handshake(now, transport, from, frame, *phase == wire::LinkPhase::msg1, io);
  const auto header = wire::decode_link_header(frame);
  if (!header) return stats.drops.add(header.error());
  const auto it = halves.find(header->receiver);
  if (it == halves.end()) {
    const WorkerId home = home_of(header->receiver, opts.decrypt_workers);
    if (home != opts.id)
      return stray(home, {StrayBurst::Kind::frame, false, {}, transport, from, 0, 0}, frame);
    return stats.drops.add(Drop::unknown_index);
  }
  LinkHalf& half = it->second;
  if (half.recv.transport != transport) return stats.drops.add(Drop::unknown_index);
  if (const auto no = half.recv.window.check(header->counter)) {
    half.home->stats->replay_suppressed.add(1);
    return stats.drops.add(*no);
  }
  if (frames.size() == burst) process(now, io);
  frames.push_back({frame, &half, *header, from});
}

void DecryptShard::Impl::on_handshake(Instant now, TransportId transport, const Endpoint& from, Bytes frame,
                                      bool first, ShardIo& io) {
  // Two buckets, so that a flood of first messages cannot keep out the answers to our own.
  if (!(first ? msg1_bucket : msg2_bucket).take(now)) return stats.drops.add(Drop::handshake_rate);
  punt(PuntHandshake{transport, from, Buffer(frame.begin(), frame.end())}, io);
}

void DecryptShard::Impl::process(Instant now, ShardIo& io) {
  if (frames.empty()) return;
  {
    const auto t = timed(Stage::hop_open, frames.size());
    jobs.clear();
    for (const Sealed& f : frames) {
      std::uint8_t* data = f.bytes.data() + wire::kLinkHeader;
      const std::size_t size = f.bytes.size() - wire::kMinLinkFrame;
      jobs.push_back({&f.half->recv.key, f.header.counter, f.bytes.first(wire::kLinkHeader), data, size,
                      data + size, false});
    }
    opts.aead->open(jobs);
  }
  {
    const auto t = timed(Stage::dispatch, frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) on_opened(now, frames[i], jobs[i].ok, io);
    frames.clear();
  }
  open_sessions(now, io);
  egress.flush(now, *opts.aead, io.wire, stats, opts.stage_clock);
}

void DecryptShard::Impl::on_opened(Instant now, Sealed& f, bool authentic, ShardIo& io) {
  LinkHalf& half = *f.half;
  LinkStats& link = *half.home->stats;
  if (!authentic) {
    link.bad_tags_in_row.add(1);
    return stats.drops.add(Drop::bad_tag);
  }
  const bool newest = !half.proven || f.header.counter > half.recv.window.highest();
  if (const auto no = half.recv.window.accept(f.header.counter)) {  // twice in one burst
    link.replay_suppressed.add(1);
    return stats.drops.add(*no);
  }
  if (!half.proven)
    half.proven = punt(PuntLinkProven{half.recv.link, half.recv.our_index, f.header.flags.key_epoch}, io);
  account(now, f, newest);
  watch_address(now, f, newest, io);
  const MutBytes plain = f.bytes.subspan(wire::kLinkHeader, f.bytes.size() - wire::kMinLinkFrame);
  if (plain.size() < wire::kLinkInnerMin) return stats.drops.add(Drop::inner_short);
  on_message(now, f, plain.subspan(wire::kLinkTimestamp), io);
}

void DecryptShard::Impl::account(Instant now, const Sealed& f, bool newest) {
  LinkHome& home = *f.half->home;
  LinkStats& link = *home.stats;
  link.last_recv.set(now);
  link.frames_recv.add(1);
  link.bytes_recv.add(f.bytes.size());
  link.bad_tags_in_row.set(0);
  if (f.header.flags.congested) link.ce_recv.add(1);
  if (!f.half->is_current() || home.excused == f.header.counter) return;
  const bool has_clock = f.bytes.size() >= wire::kMinLinkFrame + wire::kLinkTimestamp;
  const std::uint32_t sent_at = has_clock ? load_le<std::uint32_t>(f.bytes.data() + wire::kLinkHeader) : 0;
  home.meter.on_frame(f.header.counter, sent_at, f.bytes.size(), f.header.flags.congested, now);
  home.spin.on_frame(f.header.counter, f.header.flags.spin);
  link.spin.store(home.spin.bit(), std::memory_order_relaxed);
  link.epoch_frames_recv.add(1);
  link.epoch_highest.set(f.half->recv.window.highest());
  if (newest) link.k_recv.set(f.header.flags.key_epoch ? 1 : 0);
}

void DecryptShard::Impl::watch_address(Instant now, const Sealed& f, bool newest, ShardIo& io) {
  LinkHome& home = *f.half->home;
  if (!newest || f.half->recv.epoch < home.current_epoch || !f.from.is_set()) return;
  const LinkEntry* link = tables.link(home.link);
  if (link == nullptr || link->send.to == f.from || link->send.transport != f.half->recv.transport) return;
  if (home.moved_to.is_set() && now - home.moved_at < kMovedEvery) return;
  if (!punt(PuntMoved{home.link, f.half->recv.transport, f.from}, io)) return;
  home.moved_to = f.from;
  home.moved_at = now;
}

void DecryptShard::Impl::on_message(Instant now, const Sealed& f, MutBytes message, ShardIo& io) {
  LinkHome& home = *f.half->home;
  const auto type = wire::link_msg_of(message);
  if (!type) return stats.drops.add(type.error());
  if (*type == wire::LinkMsg::envelope) return on_datagram(now, home, f.header.flags.congested, message, io);
  if (!home.messages.take(now)) return stats.drops.add(Drop::peer_message_rate);
  if (*type == wire::LinkMsg::mtu_probe) return on_mtu_probe(f, message, io);
  if (*type == wire::LinkMsg::mtu_notice) return on_mtu_notice(f, message, io);
  punt(PuntLinkMessage{home.link, f.half->recv.our_index, f.header.counter,
                       Buffer(message.begin(), message.end())},
       io);
}

/// Its notice tells, unless that came first.
void DecryptShard::Impl::on_mtu_probe(const Sealed& f, Bytes message, ShardIo& io) {
  const auto probe = wire::decode_mtu_probe(message);
  if (!probe) return stats.drops.add(probe.error());
  if (f.half->home->excused == f.header.counter)
    punt(PuntMtuProbe{f.half->home->link, probe->id, probe->size}, io);
}

/// The replay window knows whether the probe has come. One that has not is no loss: probes are sent to find out what gets
/// lost. Counters of notices rise, so that none excuses the same frame twice.
void DecryptShard::Impl::on_mtu_notice(const Sealed& f, Bytes message, ShardIo& io) {
  const auto notice = wire::decode_mtu_notice(message);
  if (!notice) return stats.drops.add(notice.error());
  LinkHalf& half = *f.half;
  LinkHome& home = *half.home;
  if (notice->counter >= f.header.counter) return stats.drops.add(Drop::probe_mismatch);
  const auto seen = half.recv.window.check(notice->counter);
  if (!seen && half.is_current() && (!home.excused || *home.excused < notice->counter)) {
    home.excused = notice->counter;
    home.meter.excuse();
    home.stats->epoch_frames_recv.add(1);
  }
  punt(PuntMtuProbe{home.link, notice->id, seen == Drop::replayed ? notice->size : std::uint16_t{0}}, io);
}

void DecryptShard::Impl::stray(WorkerId home, StrayBurst::Item item, Bytes bytes) {
  StrayBurst& out = strays[home.value];
  item.offset = static_cast<std::uint32_t>(out.bytes.size());
  item.size = static_cast<std::uint32_t>(bytes.size());
  out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
  out.items.push_back(item);
  has_strays = true;
}

void DecryptShard::Impl::finish(Instant now, ShardIo& io) {
  process(now, io);
  write_tun(io);
  if (!has_strays) return;
  has_strays = false;
  for (std::uint32_t w = 0; w < strays.size(); ++w) {
    if (strays[w].items.empty()) continue;
    const std::size_t n = strays[w].items.size();
    StrayBurst out;
    std::swap(out, strays[w]);
    if (io.strays != nullptr && io.strays->hand_over(WorkerId{w}, std::move(out))) stats.strays.add(n);
    else stats.drops.add(Drop::stray_lane_full, n);
  }
}

DecryptShard::DecryptShard(ShardOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
DecryptShard::~DecryptShard() = default;
DecryptShard::DecryptShard(DecryptShard&&) noexcept = default;
DecryptShard& DecryptShard::operator=(DecryptShard&&) noexcept = default;

void DecryptShard::on_wire(Instant now, TransportId transport, std::span<const WireRead> reads, ShardIo& io) {
  Impl& s = *impl_;
  s.stats.burst_in.add(reads.size());
  for (const WireRead& read : reads) s.on_read(now, transport, read, io);
  s.finish(now, io);
}

void DecryptShard::on_queue(Instant now, std::size_t taken, std::size_t left) {
  impl_->queue.on_burst(now, taken, left);
}

void DecryptShard::on_stray(Instant now, StrayBurst&& burst, ShardIo& io) {
  Impl& s = *impl_;
  for (const StrayBurst::Item& item : burst.items) {
    const MutBytes bytes = MutBytes(burst.bytes).subspan(item.offset, item.size);
    if (item.kind == StrayBurst::Kind::frame) {
      s.admit(now, item.transport, item.from, bytes, io);
      continue;
    }
    const auto e = wire::decode_envelope(bytes);
    SessionHome* home = e ? s.session_home(e->from) : nullptr;
    if (home == nullptr) s.stats.drops.add(e ? Drop::unknown_session : e.error());
    else s.on_sealed_session(item.ce, bytes, *e, *home);
    if (s.inner.size() >= s.burst) s.open_sessions(now, io);
  }
  s.open_sessions(now, io);
  s.finish(now, io);
}

const ShardStats& DecryptShard::stats() const { return impl_->stats; }
ShardStats& DecryptShard::stats() { return impl_->stats; }
std::string_view DecryptShard::aead_name() const { return impl_->opts.aead->name(); }

}  // namespace weft
