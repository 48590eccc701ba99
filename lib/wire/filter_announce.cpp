#include "wire/filter_announce.h"

#include <cassert>

#include "wire/link_msg.h"

namespace weft::wire {

Result<FilterAnnounce, Drop> decode_filter_announce(Bytes message) noexcept {
  Reader in{message};
  const auto type = in.u8();
  FilterAnnounce m;
  m.sequence = in.le<std::uint64_t>();
  const auto hashes = in.u8();
  const auto size_class = in.u8();
  if (!in.ok()) return bad(Drop::too_short);
  if (type != static_cast<std::uint8_t>(LinkMsg::filter_announce)) return bad(Drop::wrong_type);
  if (size_class != kFilterSizeClass) return bad(Drop::bad_filter_size);
  if (in.left() != kFilterBytes) return bad(Drop::wrong_length);
  // Another count would pass or fail the fullness cap by its own measure, and break our 5-bit tests once
  // merged.
  if (hashes != kFilterHashes) return bad(Drop::bad_hash_count);
  m.bits = in.rest();
  return m;
}

void encode_filter_announce(Buffer& out, const FilterAnnounce& m) {
  assert(m.bits.size() == kFilterBytes);
  out.reserve(out.size() + kFilterAnnounceSize);
  Writer w(out);
  w.u8(static_cast<std::uint8_t>(LinkMsg::filter_announce)).le<std::uint64_t>(m.sequence);
  w.u8(kFilterHashes).u8(kFilterSizeClass).raw(m.bits);
}

}  // namespace weft::wire
