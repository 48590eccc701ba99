#include "wire/tree_announce.h"

#include "wire/link_msg.h"

namespace weft::wire {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kEntry = 32;
constexpr std::size_t kFixed = 36;

bool names_a_node_twice(const std::vector<Ancestor>& ancestry) {
  std::vector<NodeAddr> seen(ancestry.size());
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = ancestry[i].addr;
  std::ranges::sort(seen);
  return std::ranges::adjacent_find(seen) != seen.end();
}

}  // namespace

Path TreeAnnounce::path() const {
  Path out(ancestry.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = ancestry[i].addr;
  return out;
}

Result<TreeAnnounce, Drop> decode_tree_announce(Bytes message) {
  if (message.size() < kFixed + kSignature) return bad(Drop::too_short);
  Reader in{message};
  if (in.u8() != static_cast<std::uint8_t>(LinkMsg::tree_announce)) return bad(Drop::wrong_type);
  if (in.u8() != kVersion) return bad(Drop::wrong_version);
  TreeAnnounce m;
  m.sequence = in.le<std::uint64_t>();
  m.timestamp = in.le<std::uint64_t>();
  m.parent.bytes = in.array<16>();
  const std::size_t n = in.le<std::uint16_t>();
  if (n == 0 || in.left() < kEntry * n + kSignature) return bad(Drop::bad_count);
  if (n > kMaxAncestry) return bad(Drop::path_too_long);
  m.ancestry.resize(n);
  for (auto& a : m.ancestry) {
    a.addr.bytes = in.array<16>();
    a.sequence = in.le<std::uint64_t>();
    a.timestamp = in.le<std::uint64_t>();
  }
  m.signature = in.array<kSignature>();
  if (!in.ok()) return bad(Drop::too_short);
  if (names_a_node_twice(m.ancestry)) return bad(Drop::duplicate_ancestor);
  return m;
}

void encode_tree_announce(Buffer& out, const TreeAnnounce& m) {
  out.reserve(out.size() + tree_announce_size(m.ancestry.size()));
  Writer w(out);
  w.u8(static_cast<std::uint8_t>(LinkMsg::tree_announce)).u8(kVersion);
  w.le<std::uint64_t>(m.sequence).le<std::uint64_t>(m.timestamp).raw(m.parent.bytes);
  w.le<std::uint16_t>(static_cast<std::uint16_t>(m.ancestry.size()));
  for (const auto& a : m.ancestry) {
    w.raw(a.addr.bytes).le<std::uint64_t>(a.sequence).le<std::uint64_t>(a.timestamp);
  }
  w.raw(m.signature);
}

std::array<std::uint8_t, kTreePreimage> tree_preimage(const NodeAddr& sender, const NodeAddr& parent,
                                                      std::uint64_t sequence,
                                                      std::uint64_t timestamp) noexcept {
  std::array<std::uint8_t, kTreePreimage> out{};
  std::memcpy(out.data(), sender.bytes.data(), 16);
  std::memcpy(out.data() + 16, parent.bytes.data(), 16);
  store_le<std::uint64_t>(out.data() + 32, sequence);
  store_le<std::uint64_t>(out.data() + 40, timestamp);
  return out;
}

}  // namespace weft::wire
