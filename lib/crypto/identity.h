/// Who a node is: one secret, and every name that follows from it.
///
/// secret key -> point -> PublicKey (X only) -> NodeAddr = SHA-256(X)[0..16] -> MeshAddr = fd ||
/// NodeAddr[0..15]. A key known by its npub alone stands for the point with even Y; our own point keeps its
/// real parity on the wire.
#pragma once

#include <string>
#include <string_view>

#include "crypto/curve.h"

namespace weft::crypto {

NodeAddr node_addr_of(const PublicKey& key);
/// 63 characters.
std::string npub_of(const PublicKey& key);
/// "npub1xxxx...yyyy": for logs and tables, not unique.
std::string short_npub_of(const PublicKey& key);
/// Errors: a clause for a person (not bech32, another prefix, wrong length, no point of the curve).
Result<PublicKey, std::string_view> parse_npub(std::string_view text);
/// The 16 bytes of an address in fd00::/8, or nothing.
bool is_mesh_addr(Bytes ipv6);

class Identity {
 public:
  /// nsec1..., or exactly 64 hexadecimal digits. Errors: a clause for a person, without any of the text.
  static Result<Identity, std::string_view> parse_secret(std::string_view text);
  static Result<Identity, std::string_view> from_bytes(std::span<const std::uint8_t, 32> secret);
  static Identity generate(Rng& rng);
  explicit Identity(SecretKey secret);
  Identity clone() const { return Identity{secret_.clone()}; }

  const PublicKey& key() const { return key_; }
  const CompressedKey& compressed() const { return compressed_; }  // real parity
  const NodeAddr& addr() const { return addr_; }
  MeshAddr mesh_addr() const { return mesh_addr_of(addr_); }
  std::string npub() const { return npub_of(key_); }
  /// The secret itself, in text: for the key file only.
  std::string nsec() const;

  bool is_me(const PublicKey& other) const { return other == key_; }
  Secret32 dh(const Point& point) const { return crypto::dh(secret_, point); }
  /// BIP-340 by our x-only key.
  Signature sign(const Digest& digest, Rng& rng) const { return crypto::sign(secret_, digest, rng); }

 private:
  SecretKey secret_;
  CompressedKey compressed_;
  PublicKey key_;
  NodeAddr addr_;
};

}  // namespace weft::crypto
