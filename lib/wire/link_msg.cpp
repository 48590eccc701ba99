#include "wire/link_msg.h"

namespace weft::wire {

Result<LinkMsg, Drop> link_msg_of(Bytes message) noexcept {
  if (message.empty()) return bad(Drop::too_short);
  switch (const auto m = static_cast<LinkMsg>(message[0])) {
    case LinkMsg::envelope:
    case LinkMsg::sender_report:
    case LinkMsg::receiver_report:
    case LinkMsg::tree_announce:
    case LinkMsg::filter_announce:
    case LinkMsg::lookup_request:
    case LinkMsg::lookup_response:
    case LinkMsg::disconnect:
    case LinkMsg::heartbeat:
    case LinkMsg::hello:
    case LinkMsg::mtu_probe:
    case LinkMsg::mtu_notice:
    case LinkMsg::mtu_ack:
      return m;
  }
  return bad(Drop::unknown_link_message);
}

std::string_view name_of(LinkMsg m) {
  switch (m) {
    case LinkMsg::envelope:
      return "SessionDatagram";
    case LinkMsg::sender_report:
      return "SenderReport";
    case LinkMsg::receiver_report:
      return "ReceiverReport";
    case LinkMsg::tree_announce:
      return "TreeAnnounce";
    case LinkMsg::filter_announce:
      return "FilterAnnounce";
    case LinkMsg::lookup_request:
      return "LookupRequest";
    case LinkMsg::lookup_response:
      return "LookupResponse";
    case LinkMsg::disconnect:
      return "Disconnect";
    case LinkMsg::heartbeat:
      return "Heartbeat";
    case LinkMsg::hello:
      return "Hello";
    case LinkMsg::mtu_probe:
      return "MtuProbe";
    case LinkMsg::mtu_notice:
      return "MtuNotice";
    case LinkMsg::mtu_ack:
      return "MtuAck";
  }
  return "unknown";
}

std::string_view name_of(DisconnectReason r) {
  switch (r) {
    case DisconnectReason::shutdown:
      return "Shutdown";
    case DisconnectReason::restart:
      return "Restart";
    case DisconnectReason::protocol_error:
      return "ProtocolError";
    case DisconnectReason::transport_failure:
      return "TransportFailure";
    case DisconnectReason::resource_exhaustion:
      return "ResourceExhaustion";
    case DisconnectReason::security_violation:
      return "SecurityViolation";
    case DisconnectReason::configuration_change:
      return "ConfigurationChange";
    case DisconnectReason::timeout:
      return "Timeout";
    case DisconnectReason::other:
      return "Other";
  }
  return "Other";
}

Result<Disconnect, Drop> decode_disconnect(Bytes message) noexcept {
  if (message.empty()) return bad(Drop::too_short);
  if (message[0] != static_cast<std::uint8_t>(LinkMsg::disconnect)) return bad(Drop::wrong_type);
  if (message.size() < 2) return bad(Drop::no_reason);
  const bool named = message[1] <= static_cast<std::uint8_t>(DisconnectReason::timeout);
  return Disconnect{named ? static_cast<DisconnectReason>(message[1]) : DisconnectReason::other};
}

void encode_disconnect(Buffer& out, const Disconnect& m) {
  Writer(out).u8(static_cast<std::uint8_t>(LinkMsg::disconnect)).u8(static_cast<std::uint8_t>(m.reason));
}

Result<Heartbeat, Drop> decode_heartbeat(Bytes message) noexcept {
  if (message.empty()) return bad(Drop::too_short);
  if (message[0] != static_cast<std::uint8_t>(LinkMsg::heartbeat)) return bad(Drop::wrong_type);
  return Heartbeat{};
}

void encode_heartbeat(Buffer& out, const Heartbeat&) {
  Writer(out).u8(static_cast<std::uint8_t>(LinkMsg::heartbeat));
}

}  // namespace weft::wire
