#include "wire/lookup_msg.h"

#include "wire/link_msg.h"

namespace weft::wire {

Result<LookupRequest, Drop> decode_lookup_request(Bytes message) {
  Reader in{message};
  const auto type = in.u8();
  LookupRequest m;
  m.id = in.le<std::uint64_t>();
  m.target.bytes = in.array<16>();
  m.origin.bytes = in.array<16>();
  m.ttl = in.u8();
  m.min_mtu = in.le<std::uint16_t>();
  if (!in.ok()) return bad(Drop::too_short);
  if (type != static_cast<std::uint8_t>(LinkMsg::lookup_request)) return bad(Drop::wrong_type);
  auto path = read_path(in, CoordForm::strict);
  if (!path) return bad(path.error());
  m.path = std::move(*path);
  return m;
}

Result<LookupResponse, Drop> decode_lookup_response(Bytes message) {
  Reader in{message};
  const auto type = in.u8();
  LookupResponse m;
  m.id = in.le<std::uint64_t>();
  m.target.bytes = in.array<16>();
  m.path_mtu = in.le<std::uint16_t>();
  if (!in.ok()) return bad(Drop::too_short);
  if (type != static_cast<std::uint8_t>(LinkMsg::lookup_response)) return bad(Drop::wrong_type);
  auto path = read_path(in, CoordForm::strict);
  if (!path) return bad(path.error());
  m.path = std::move(*path);
  m.proof = in.array<kSignature>();
  if (!in.ok()) return bad(Drop::too_short);
  return m;
}

void encode_lookup_request(Buffer& out, const LookupRequest& m) {
  Writer w(out);
  w.u8(static_cast<std::uint8_t>(LinkMsg::lookup_request)).le<std::uint64_t>(m.id);
  w.raw(m.target.bytes).raw(m.origin.bytes).u8(m.ttl).le<std::uint16_t>(m.min_mtu);
  put_path(out, m.path);
}

void encode_lookup_response(Buffer& out, const LookupResponse& m) {
  Writer w(out);
  w.u8(static_cast<std::uint8_t>(LinkMsg::lookup_response)).le<std::uint64_t>(m.id);
  w.raw(m.target.bytes).le<std::uint16_t>(m.path_mtu);
  put_path(out, m.path);
  w.raw(m.proof);
}

Buffer lookup_proof_preimage(std::uint64_t id, const NodeAddr& target, const Path& path) {
  Buffer out;
  Writer(out).le<std::uint64_t>(id).raw(target.bytes);
  put_path(out, path);
  return out;
}

}  // namespace weft::wire
