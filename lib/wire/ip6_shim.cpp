#include "wire/ip6_shim.h"

namespace weft::wire {

Result<Buffer, Drop> compress_ip6(Bytes packet) {
  const auto shim = shim_of(packet);
  if (!shim) return bad(shim.error());
  Buffer out;
  Writer(out).raw(*shim).raw(packet.subspan(kIp6Header));
  return out;
}

Result<Buffer, Drop> rebuild_ip6(Bytes shimmed, const MeshAddr& from, const MeshAddr& to) {
  const auto header = ip6_header_of(shimmed, from, to);
  if (!header) return bad(header.error());
  Buffer out;
  Writer(out).raw(*header).raw(shimmed.subspan(kShimHeader));
  return out;
}

}  // namespace weft::wire
