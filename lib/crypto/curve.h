/// secp256k1: points, keys, Diffie-Hellman and BIP-340 signatures.
///
/// One context for the process, made and blinded at first use and constant afterwards: any thread may call
/// anything. The blinding seed comes from the system and changes no result. Cost, one core of 2023:
/// multiplication (dh, key making, sign, verify) 20-60 us, parse and lift about 5 us.
#pragma once

#include "base/drop.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/rng.h"
#include "crypto/hash.h"

namespace weft::crypto {

/// SEC1 compressed point: 02 or 03 (parity of Y), then X. Compare identities by X, never by this.
using CompressedKey = ByteId<struct CompressedKeyTag, 33>;
/// The point with this X and even Y, as the bytes spell it; not checked to be on the curve.
CompressedKey even_key(const PublicKey& x);
PublicKey x_of(const CompressedKey& key);

/// A point of the curve, by construction.
class Point {
 public:
  /// Errors: bad_point for any length but 33, a prefix other than 02/03, X not below p, or X off the curve.
  static Result<Point, Drop> parse(Bytes compressed);
  /// The point with even Y. Errors: bad_point.
  static Result<Point, Drop> lift(const PublicKey& x);

  CompressedKey compressed() const;
  PublicKey x() const { return x_of(compressed()); }

 private:
  friend struct PointAccess;
  Point() = default;
  std::array<std::uint8_t, 64> raw_{};  // the library's own form
};

/// An integer in 1..n-1.
class SecretKey {
 public:
  /// Errors: bad_point when the integer is 0 or not below the group order.
  static Result<SecretKey, Drop> from(std::span<const std::uint8_t, 32> bytes);
  static SecretKey generate(Rng& rng);

  SecretKey clone() const { return SecretKey{bytes_.clone()}; }
  Point point() const;
  std::span<const std::uint8_t, 32> view() const { return bytes_.view(); }

 private:
  explicit SecretKey(Secret32 b) : bytes_(std::move(b)) {}
  Secret32 bytes_;
};

/// SHA-256 of the X coordinate of secret * point, the one Diffie-Hellman of this protocol. Constant time.
Secret32 dh(const SecretKey& secret, const Point& point);

using Signature = std::array<std::uint8_t, 64>;
/// BIP-340 over a 32-byte digest; the nonce also takes 32 bytes from `rng`.
Signature sign(const SecretKey& secret, const Digest& digest, Rng& rng);
/// False for a bad signature and for a key that is no point.
bool verify(const PublicKey& key, const Digest& digest, std::span<const std::uint8_t, 64> signature);

}  // namespace weft::crypto
