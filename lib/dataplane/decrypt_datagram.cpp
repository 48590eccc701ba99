#include "dataplane/decrypt_impl.h"

namespace weft {
namespace {

constexpr std::uint8_t kPlainSignal = 0x04;

std::uint8_t phase_of(Bytes payload) { return payload[0] & 0x0f; }
bool is_signal(Bytes payload) {
  return payload.size() >= wire::kPrefix && phase_of(payload) == 0 && (payload[1] & kPlainSignal) != 0;
}
/// Setup and its answer carry coordinates that the core wants; the third message and signals carry none, and
/// a third message on the slow way would be overtaken by the data behind it.
bool is_setup_or_ack(Bytes payload) {
  return payload.size() >= wire::kPrefix && (phase_of(payload) == 1 || phase_of(payload) == 2);
}
/// Bytes of a datagram as the forwarding counters tell them: without the type byte.
std::size_t counted(Bytes message) { return message.size() - 1; }

}  // namespace

void DecryptShard::Impl::on_datagram(Instant now, LinkHome& link, bool ce, MutBytes message, ShardIo& io) {
  stats.forwarding.received.add(counted(message));
  const auto e = wire::decode_envelope(message);
  if (!e) {
    stats.forwarding.decode_error.add(counted(message));
    return stats.drops.add(e.error());
  }
  if (e->to == opts.self) return deliver(now, link, ce, message, *e, io);
  transit(now, link, ce, message, *e, io);
}

void DecryptShard::Impl::to_core(Instant now, LinkHome& link, bool ce, Bytes message, ShardIo& io) {
  if (!link.messages.take(now)) return stats.drops.add(Drop::peer_message_rate);
  punt(PuntDatagram{link.link, ce, Buffer(message.begin(), message.end())}, io);
}

void DecryptShard::Impl::deliver(Instant now, LinkHome& link, bool ce, MutBytes message,
                                 const wire::Envelope& e, ShardIo& io) {
  stats.forwarding.delivered.add(counted(message));
  if (e.from == opts.self) return stats.drops.add(Drop::own_source);
  const auto kind = wire::classify_session_payload(e.payload);
  if (!kind) return stats.drops.add(kind.error());
  if (*kind != wire::SessionKind::sealed) return to_core(now, link, ce, message, io);
  if (SessionHome* home = session_home(e.from)) return on_sealed_session(ce, message, e, *home);
  const SessionEntry* known = tables.session(e.from);
  if (known == nullptr || known->send.home == opts.id || known->send.home.value >= strays.size())
    return stats.drops.add(Drop::unknown_session);
  stray(known->send.home, {StrayBurst::Kind::datagram, ce, link.link, {}, {}, 0, 0}, message);
}

void DecryptShard::Impl::transit(Instant now, LinkHome& link, bool ce, MutBytes message,
                                 const wire::Envelope& e, ShardIo& io) {
  if (is_setup_or_ack(e.payload)) return to_core(now, link, ce, message, io);
  if (!warm(now, e, counted(message), io)) return;
  if (e.ttl <= 1) {
    stats.forwarding.ttl_exhausted.add(counted(message));
    return stats.drops.add(Drop::ttl_spent);
  }
  forward(now, link, ce, message, e, io);
}

bool DecryptShard::Impl::warm(Instant now, const wire::Envelope& e, std::size_t message_bytes, ShardIo& io) {
  const auto seen = wire::peek_coords(e.payload);
  if (!seen) {
    stats.drops.add(seen.error());
    if (seen.error() == Drop::short_cp) return false;
    stats.forwarding.warm_malformed.add(message_bytes);
    return true;
  }
  if (seen->from.empty() && seen->to.empty()) return true;
  const bool from = seen->from.belongs_to(e.from);
  const bool to = seen->to.belongs_to(e.to);
  if ((!seen->from.empty() && !from) || (!seen->to.empty() && !to)) stats.drops.add(Drop::warm_mismatch);
  if (!from && !to) return true;
  if (!passing_coords.take(now)) {
    stats.drops.add(Drop::warm_rate);
    return true;
  }
  punt(PuntCoords{e.from, e.to, from ? seen->from.path() : wire::Path{}, to ? seen->to.path() : wire::Path{}},
       io);
  return true;
}

void DecryptShard::Impl::forward(Instant now, LinkHome& link, bool ce, MutBytes message,
                                 const wire::Envelope& e, ShardIo& io) {
  RouteEntry* route = tables.route(e.to);
  // Back to where it came from is no way either: two nodes hold different coordinates, and the core must find out.
  if (route == nullptr || route->link->send.link == link.link) {
    punt(PuntNoRoute{link.link, ce, Buffer(message.begin(), message.end())}, io);
    return;
  }
  if (now >= route->refresh_after && !route->told_stale) route->told_stale = punt(PuntRouteStale{e.to}, io);
  const LinkSend& out = route->link->send;
  const MutBytes frame(message.data() - frame::kMessageAt, message.size() + wire::kFrameCost);
  if (frame.size() > out.mtu) {
    stats.forwarding.drop_mtu_exceeded.add(counted(message));
    stats.drops.add(Drop::over_link_mtu);
    if (!is_signal(e.payload))
      punt(PuntTooBig{e.from, e.to, out.mtu, link.link}, io);  // no error about an error
    return;
  }
  if (const auto ok = wire::advance_envelope(message, out.mtu); !ok) return stats.drops.add(ok.error());
  if (out.congested) stats.forwarding.congestion_detected.add(1);
  egress.add(*route->link, frame, Egress::Kind::transit, route->how, ce || out.congested);
}

}  // namespace weft
