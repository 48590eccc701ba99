/// What an opened link frame can carry, and the two messages that are hardly more than their type byte.
///
/// Source   docs/spec/link.md sections 4, 10.3.
#pragma once

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"

namespace weft::wire {

enum class LinkMsg : std::uint8_t {
  envelope = 0x00,  // SessionDatagram
  sender_report = 0x01,
  receiver_report = 0x02,
  tree_announce = 0x10,
  filter_announce = 0x20,
  lookup_request = 0x30,
  lookup_response = 0x31,
  disconnect = 0x50,
  heartbeat = 0x51,
  // Of weft's own, see own_msg.h.
  hello = 0xe0,
  mtu_probe = 0xe1,
  mtu_notice = 0xe2,
  mtu_ack = 0xe3,
};

/// Errors: too_short (no type byte), unknown_link_message. Neither is a reason to drop the link.
Result<LinkMsg, Drop> link_msg_of(Bytes message) noexcept;
std::string_view name_of(LinkMsg m);

enum class DisconnectReason : std::uint8_t {
  shutdown = 0x00,
  restart = 0x01,
  protocol_error = 0x02,
  transport_failure = 0x03,
  resource_exhaustion = 0x04,
  security_violation = 0x05,
  configuration_change = 0x06,
  timeout = 0x07,
  other = 0xff,  // also every code that has no name
};
std::string_view name_of(DisconnectReason r);

struct Disconnect {
  DisconnectReason reason = DisconnectReason::other;
};
/// Errors: too_short, wrong_type, no_reason.
Result<Disconnect, Drop> decode_disconnect(Bytes message) noexcept;
void encode_disconnect(Buffer& out, const Disconnect& m);

struct Heartbeat {};
/// Errors: too_short, wrong_type.
Result<Heartbeat, Drop> decode_heartbeat(Bytes message) noexcept;
void encode_heartbeat(Buffer& out, const Heartbeat& m = {});

}  // namespace weft::wire
