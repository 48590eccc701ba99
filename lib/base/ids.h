/// Names of things, one type each, so that none is taken for another.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"

namespace weft {

/// N opaque bytes with an order (unsigned, left to right) and a hash.
template <class Tag, std::size_t N>
struct ByteId {
  std::array<std::uint8_t, N> bytes{};

  auto operator<=>(const ByteId&) const = default;
  Bytes view() const { return bytes; }
  bool is_zero() const { return *this == ByteId{}; }
  std::string hex() const { return to_hex(bytes); }
  static ByteId from(Bytes b) {  // b.size() >= N
    ByteId out;
    std::memcpy(out.bytes.data(), b.data(), N);
    return out;
  }
};

/// First 16 bytes of SHA-256 over the x-only key: the routing address of a node.
using NodeAddr = ByteId<struct NodeAddrTag, 16>;
/// x-only public key on secp256k1 (BIP-340), 32 bytes big-endian: who a node is.
using PublicKey = ByteId<struct PublicKeyTag, 32>;
/// Eight random bytes drawn once per process start; compared only for equality.
using StartupEpoch = ByteId<struct StartupEpochTag, 8>;
/// IPv6 address of a node inside the mesh: fd || NodeAddr[0..15].
using MeshAddr = ByteId<struct MeshAddrTag, 16>;

inline MeshAddr mesh_addr_of(const NodeAddr& a) {
  MeshAddr m;
  m.bytes[0] = 0xfd;
  std::memcpy(m.bytes.data() + 1, a.bytes.data(), 15);
  return m;
}

/// A number that names one thing of one kind inside this process.
template <class Tag, class Rep = std::uint32_t>
struct NumId {
  Rep value = 0;
  auto operator<=>(const NumId&) const = default;
};
using LinkId = NumId<struct LinkIdTag, std::uint64_t>;
using TransportId = NumId<struct TransportIdTag, std::uint32_t>;
/// Index of a decrypt worker or encrypt worker in its pool.
using WorkerId = NumId<struct WorkerIdTag, std::uint32_t>;
/// The number under which a side wants to receive a link epoch's frames. Every value is legal.
using SessionIndex = NumId<struct SessionIndexTag, std::uint32_t>;
/// Counts key epochs of one link or session inside this process; never on the wire.
using EpochId = NumId<struct EpochIdTag, std::uint64_t>;

namespace detail {
inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  return x;
}
}  // namespace detail

}  // namespace weft

template <class Tag, std::size_t N>
struct std::hash<weft::ByteId<Tag, N>> {
  // The bytes are hashes or keys already; the first eight after the constant fd of a MeshAddr are as good as any.
  std::size_t operator()(const weft::ByteId<Tag, N>& id) const noexcept {
    if constexpr (N >= 9) return weft::detail::mix(weft::load_le<std::uint64_t>(id.bytes.data() + 1));
    return weft::detail::mix(weft::load_le<std::uint64_t>(id.bytes.data()));
  }
};
template <class Tag, class Rep>
struct std::hash<weft::NumId<Tag, Rep>> {
  std::size_t operator()(const weft::NumId<Tag, Rep>& id) const noexcept { return weft::detail::mix(id.value); }
};
