/// The question "where is this address?" and the answer that only its owner can sign.
///
/// Source   docs/spec/mesh.md sections 3.1 to 3.3.
#pragma once

#include "wire/coord.h"
#include "wire/tree_announce.h"

namespace weft::wire {

/// 0 type 0x30   1 id   9 target   25 origin   41 ttl   42 min_mtu   44 the origin's path
struct LookupRequest {
  std::uint64_t id = 0;
  NodeAddr target;
  NodeAddr origin;
  std::uint8_t ttl = kInitialTtl;  // may be forwarded at 1, leaving with 0
  std::uint16_t min_mtu = 0;       // sent as 0, passed on as it came, used by nobody
  Path path;                       // at least one entry
};

/// 0 type 0x31   1 id   9 target   25 path_mtu   27 the target's path   then proof 64
struct LookupResponse {
  std::uint64_t id = 0;
  NodeAddr target;
  std::uint16_t path_mtu = kMtuUnknown;  // lowered on the way back, not signed
  Path path;                             // at least one entry
  Signature proof{};
};

/// Errors: too_short, wrong_type, bad_count, path_too_long.
Result<LookupRequest, Drop> decode_lookup_request(Bytes message);
Result<LookupResponse, Drop> decode_lookup_response(Bytes message);
void encode_lookup_request(Buffer& out, const LookupRequest& m);
void encode_lookup_response(Buffer& out, const LookupResponse& m);

/// What the proof signs: SHA-256 of id, target and path with its count. Neither path MTU nor origin.
Buffer lookup_proof_preimage(std::uint64_t id, const NodeAddr& target, const Path& path);

}  // namespace weft::wire
