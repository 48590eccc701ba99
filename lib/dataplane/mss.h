/// TCP MSS clamp: the segment size that a SYN announces is lowered to what the mesh carries.
///
/// Source   docs/spec/session.md section 2.6.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace weft {

/// Largest segment for a flow: what its path takes, `flow_mtu`; where that is not known yet, what every link takes,
/// `transport_mtu`, and no more than 1280 allow. 0 means: leave alone.
std::uint16_t mss_ceiling(std::uint16_t transport_mtu, std::optional<std::uint16_t> flow_mtu);

/// Lowers the first MSS option of a SYN or SYN-ACK to `ceiling` and mends the checksum. True when it did;
/// anything that is no plain TCP SYN with well-formed options is left as it is. Cost: one compare for other
/// packets.
bool clamp_mss(MutBytes packet, std::uint16_t ceiling);

/// Writes the TCP or UDP checksum of a packet whose headers are not trusted; false when there is none to
/// write.
bool complete_checksum(MutBytes packet);

}  // namespace weft
