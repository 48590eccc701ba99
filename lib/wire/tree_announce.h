/// A node's claim of its place in the tree, signed, with its ancestors as it believes them.
///
///   0 type 0x10   1 version 1   2 sequence u64   10 timestamp u64   18 parent   34 count u16   36 entries of
///   32   then signature 64
///
/// Entry 0 is the sender, the last is the root; only the first 48-byte preimage is signed, ancestors are
/// hearsay. Source   docs/spec/mesh.md sections 1.1 to 1.4, 8.
#pragma once

#include "wire/coord.h"

namespace weft::wire {

/// BIP-340.
using Signature = std::array<std::uint8_t, kSignature>;

struct Ancestor {
  NodeAddr addr;
  std::uint64_t sequence = 0;
  std::uint64_t timestamp = 0;  // Unix seconds, advisory

  bool operator==(const Ancestor&) const = default;
};

struct TreeAnnounce {
  std::uint64_t sequence = 0;
  std::uint64_t timestamp = 0;  // Unix seconds, never checked
  NodeAddr parent;              // the sender's own address: it is a root
  std::vector<Ancestor> ancestry;
  Signature signature{};

  /// ancestry is never empty after a decode.
  const NodeAddr& sender() const { return ancestry.front().addr; }
  const NodeAddr& root() const { return ancestry.back().addr; }
  Path path() const;
};

/// Errors: too_short, wrong_type, wrong_version, bad_count, path_too_long (over 256), duplicate_ancestor.
/// Whether the entries obey the tree's rules, and whether the sender signed, is not judged here.
Result<TreeAnnounce, Drop> decode_tree_announce(Bytes message);
/// `ancestry` holds 1 to 256 entries.
void encode_tree_announce(Buffer& out, const TreeAnnounce& m);

/// What is signed: SHA-256 of these bytes goes to the signer.
std::array<std::uint8_t, kTreePreimage> tree_preimage(const NodeAddr& sender, const NodeAddr& parent,
                                                      std::uint64_t sequence,
                                                      std::uint64_t timestamp) noexcept;

/// Whole message, type byte included.
constexpr std::size_t tree_announce_size(std::size_t entries) noexcept { return 100 + 32 * entries; }

}  // namespace weft::wire
