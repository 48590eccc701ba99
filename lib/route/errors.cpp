#include "route/errors.h"

#include "wire/envelope.h"
#include "wire/prefix.h"
#include "wire/session_frame.h"

namespace weft {
namespace {

constexpr std::size_t kDestinations = 4096;

Buffer wrapped(const NodeAddr& own, const NodeAddr& to, std::uint8_t ttl, const wire::RouteError& e) {
  Buffer payload;
  wire::encode_route_error(payload, e);
  Buffer out;
  wire::encode_envelope(out, {ttl, wire::kMtuUnknown, own, to, payload});
  return out;
}

}  // namespace

RouteErrors::RouteErrors(const NodeAddr& own, const ErrorLimits& limits)
    : own_(own), limits_(limits), recent_(kDestinations), total_(limits.total_burst, limits.total_rate) {}

Result<void, Drop> RouteErrors::may_send(const NodeAddr& source, const NodeAddr& dest, Bytes payload,
                                         Instant now) {
  const auto kind = wire::classify_session_payload(payload);
  // A source that is the destination too would take the signal for forged.
  if ((kind && *kind == wire::SessionKind::signal) || source == own_ || source == dest)
    return bad(Drop::unreportable);
  const auto* last = recent_.peek(dest);
  if (last != nullptr && now - *last < limits_.per_destination) return bad(Drop::signal_rate);
  if (!total_.take(now)) return bad(Drop::signal_rate);
  recent_.put(dest, now);
  return {};
}

Result<Buffer, Drop> RouteErrors::no_route(const NodeAddr& source, const NodeAddr& dest, Bytes payload,
                                           const Path* known, Instant now) {
  if (const auto ok = may_send(source, dest, payload, now); !ok) return bad(ok.error());
  if (known != nullptr) return wrapped(own_, source, limits_.ttl, wire::PathBroken{dest, own_, *known});
  return wrapped(own_, source, limits_.ttl, wire::CoordsRequired{dest, own_});
}

Result<Buffer, Drop> RouteErrors::too_big(const NodeAddr& source, const NodeAddr& dest, Bytes payload,
                                          std::uint16_t link_mtu, Instant now) {
  if (const auto ok = may_send(source, dest, payload, now); !ok) return bad(ok.error());
  return wrapped(own_, source, limits_.ttl, wire::MtuExceeded{dest, own_, link_mtu});
}

Result<wire::RouteError, Drop> RouteErrors::on_signal(const NodeAddr& source, Bytes payload,
                                                      const Bound& bound) {
  auto signal = wire::decode_route_error(payload);
  if (!signal) return signal;
  struct Counts {
    std::uint64_t& received;
    std::uint64_t& unbound;
  };
  const auto counts = [&]() -> Counts {
    if (std::holds_alternative<wire::CoordsRequired>(*signal))
      return {counters_.coords_required, counters_.unbound_coords};
    if (std::holds_alternative<wire::PathBroken>(*signal))
      return {counters_.path_broken, counters_.unbound_broken};
    return {counters_.mtu_exceeded, counters_.unbound_mtu};
  }();
  ++counts.received;
  const auto& subject = wire::dest_of(*signal);
  if (subject == own_ || subject == source) {
    ++counts.unbound;
    ++counters_.unbound_forged;
    return bad(Drop::forged_signal);
  }
  if (!bound(subject)) {
    ++counts.unbound;
    return bad(Drop::unbound_signal);
  }
  const auto* mtu = std::get_if<wire::MtuExceeded>(&*signal);
  if (mtu != nullptr && mtu->mtu < wire::kMtuFloor) {
    ++counters_.mtu_exceeded_below_floor;
    return bad(Drop::mtu_below_floor);
  }
  return signal;
}

}  // namespace weft
