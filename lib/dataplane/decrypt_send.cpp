#include "dataplane/decrypt_impl.h"
#include "wire/own_msg.h"

namespace weft {

/// `message` may be a part of nothing of ours: it is copied to its place in a frame.
void DecryptShard::Impl::send_message(Instant now, LinkId link, Bytes message, bool ce, ShardIo& io) {
  LinkEntry* out = tables.link(link);
  if (out == nullptr || message.empty()) return stats.drops.add(Drop::no_route);
  const std::size_t size = message.size() + wire::kFrameCost;
  if (size > std::max<std::size_t>(out->send.mtu, wire::kMaxControlFrame))
    return stats.drops.add(Drop::over_link_mtu);
  own.resize(size);
  std::memcpy(own.data() + frame::kMessageAt, message.data(), message.size());
  egress.add(*out, own, Egress::Kind::own, HopClass::direct_peer, ce);
  egress.flush(now, *opts.aead, io.wire, stats, opts.stage_clock);
}

void DecryptShard::Impl::send(Instant now, const SendLink& c, ShardIo& io) {
  send_message(now, c.link, c.message, c.ce, io);
}

/// The probe leaves by itself, outside of any run; its counter is spent even when the interface refuses it.
void DecryptShard::Impl::send(Instant now, const SendProbe& c, ShardIo& io) {
  LinkEntry* out = tables.link(c.link);
  if (out == nullptr) return stats.drops.add(Drop::no_route);
  const LinkSend& to = out->send;
  if (c.size < wire::kFrameCost + wire::kProbeHeader) return stats.drops.add(Drop::probe_mismatch);
  const auto counter = to.key->reserve(1);
  if (!counter) return stats.drops.add(Drop::counter_exhausted);
  own.resize(c.size);
  wire::write_mtu_probe(MutBytes(own).subspan(frame::kMessageAt, own.size() - wire::kFrameCost), c.id);
  auto job = frame::link_job(frame::LinkHead(to, now), own, *counter, false);
  opts.aead->seal(std::span(&job, 1));
  if (!job.ok) return stats.drops.add(Drop::send_failed);
  frame::count_sent(to, 1, own.size());
  io.wire.send_whole(to, own);
  Buffer notice;
  wire::encode_mtu_notice(notice, {c.id, c.size, *counter});
  send_message(now, c.link, notice, false, io);
}

void DecryptShard::Impl::send(Instant now, const SendSession& c, ShardIo& io) {
  SessionEntry* session = tables.session(c.remote);
  if (session == nullptr) return stats.drops.add(Drop::unknown_session);
  LinkEntry* out = tables.link(c.via);
  if (out == nullptr) return stats.drops.add(Drop::no_route);
  const SessionSend& s = session->send;
  const std::size_t coords = c.with_coords ? frame::coords_size(s) : 0;
  const std::size_t size = frame::size_of(c.body.size(), coords);
  if (size > out->send.mtu) return stats.drops.add(Drop::over_link_mtu);
  const auto counter = s.key->reserve(1);
  if (!counter) return stats.drops.add(Drop::counter_exhausted);
  own.resize(size);
  // A warm-up of its own says K = 0 whatever our epoch: the reference does.
  const bool k = s.k && c.type != static_cast<std::uint8_t>(wire::SessionMsg::coords_warmup);
  const auto message = frame::write_head(own, {s, opts.self, out->send.mtu, c.type, c.with_coords, k}, now);
  if (!c.body.empty())
    std::memcpy(own.data() + frame::kCoordsAt + coords + wire::kSessionInner, c.body.data(), c.body.size());
  auto job = frame::seal_job(message, *s.key, *counter);
  opts.aead->seal(std::span(&job, 1));
  if (!job.ok) return stats.drops.add(Drop::send_failed);
  s.key->bytes.fetch_add(job.size + wire::kTag, std::memory_order_relaxed);
  stats.forwarding.originated.add(size - wire::kFrameCost);
  egress.add(*out, own, Egress::Kind::own, HopClass::direct_peer, false);
  egress.flush(now, *opts.aead, io.wire, stats, opts.stage_clock);
}

void DecryptShard::Impl::send(Instant now, const SendLinkReports& c, ShardIo& io) {
  const auto home = links.find(c.link);
  const LinkEntry* out = tables.link(c.link);
  if (home == links.end() || out == nullptr) return stats.drops.add(Drop::no_route);
  Buffer message;
  if (c.sender) {
    if (const auto r = home->second.sent.report(out->send.key, wire_ms(out->send.epoch_start, now))) {
      wire::encode_sender_report(message, *r, wire::ReportForm::link);
      send_message(now, c.link, message, false, io);
    }
  }
  if (!c.receiver) return;
  if (const auto r = home->second.meter.report(now)) {
    message.clear();
    wire::encode_receiver_report(message, *r, wire::ReportForm::link);
    send_message(now, c.link, message, false, io);
  }
}

void DecryptShard::Impl::send(Instant now, const SendSessionReports& c, ShardIo& io) {
  SessionHome* home = session_home(c.remote);
  const SessionEntry* out = tables.session(c.remote);
  if (home == nullptr || out == nullptr) return stats.drops.add(Drop::unknown_session);
  if (c.sender) {
    if (const auto r = home->sent.report(out->send.key, wire_ms(out->send.epoch_start, now))) {
      SendSession s{c.remote, c.via, static_cast<std::uint8_t>(wire::SessionMsg::sender_report), false, {}};
      wire::encode_sender_report(s.body, *r, wire::ReportForm::session);
      send(now, s, io);
    }
  }
  if (!c.receiver) return;
  if (const auto r = home->meter.report(now)) {
    SendSession s{c.remote, c.via, static_cast<std::uint8_t>(wire::SessionMsg::receiver_report), false, {}};
    wire::encode_receiver_report(s.body, *r, wire::ReportForm::session);
    send(now, s, io);
  }
}

}  // namespace weft
