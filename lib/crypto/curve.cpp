#include "crypto/curve.h"

#include <secp256k1.h>
#include <secp256k1_ecdh.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>
#include <sodium.h>

#include <cassert>
#include <new>

namespace weft::crypto {

/// The one place that knows that a Point holds a secp256k1_pubkey.
struct PointAccess {
  static Point wrap(const secp256k1_pubkey& k) {
    Point p;
    static_assert(sizeof k.data == sizeof p.raw_);
    std::memcpy(p.raw_.data(), k.data, sizeof k.data);
    return p;
  }
  static secp256k1_pubkey unwrap(const Point& p) {
    secp256k1_pubkey k;
    std::memcpy(k.data, p.raw_.data(), sizeof k.data);
    return k;
  }
};

namespace {

const secp256k1_context* make_context() {
  secp256k1_context* c = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
  if (c == nullptr || sodium_init() < 0) throw std::bad_alloc{};
  Secret32 seed;  // against side channels only: no result depends on it
  randombytes_buf(seed.mut().data(), seed.kSize);
  if (secp256k1_context_randomize(c, seed.data()) != 1) throw std::bad_alloc{};
  return c;
}

const secp256k1_context* context() {
  static const secp256k1_context* const c = make_context();
  return c;
}

int hash_x(unsigned char* out, const unsigned char* x32, const unsigned char*, void*) {
  crypto_hash_sha256(out, x32, 32);
  return 1;
}

}  // namespace

CompressedKey even_key(const PublicKey& x) {
  CompressedKey k;
  k.bytes[0] = 0x02;
  std::memcpy(k.bytes.data() + 1, x.bytes.data(), x.bytes.size());
  return k;
}

PublicKey x_of(const CompressedKey& key) { return PublicKey::from(key.view().subspan(1)); }

Result<Point, Drop> Point::parse(Bytes compressed) {
  secp256k1_pubkey k;
  // The length is checked here because the library also takes 65-byte forms.
  if (compressed.size() != 33 || secp256k1_ec_pubkey_parse(context(), &k, compressed.data(), 33) != 1)
    return bad(Drop::bad_point);
  return PointAccess::wrap(k);
}

Result<Point, Drop> Point::lift(const PublicKey& x) { return parse(even_key(x).view()); }

CompressedKey Point::compressed() const {
  const auto k = PointAccess::unwrap(*this);
  CompressedKey out;
  std::size_t n = out.bytes.size();
  secp256k1_ec_pubkey_serialize(context(), out.bytes.data(), &n, &k, SECP256K1_EC_COMPRESSED);
  return out;
}

Result<SecretKey, Drop> SecretKey::from(std::span<const std::uint8_t, 32> bytes) {
  if (secp256k1_ec_seckey_verify(context(), bytes.data()) != 1) return bad(Drop::bad_point);
  return SecretKey{Secret32{bytes}};
}

SecretKey SecretKey::generate(Rng& rng) {
  Secret32 b;
  do rng.fill(b.mut());
  while (secp256k1_ec_seckey_verify(context(), b.data()) != 1);  // once in 2^128
  return SecretKey{std::move(b)};
}

Point SecretKey::point() const {
  secp256k1_pubkey k;
  [[maybe_unused]] const int ok = secp256k1_ec_pubkey_create(context(), &k, bytes_.data());
  assert(ok == 1);  // the secret is valid by construction
  return PointAccess::wrap(k);
}

Secret32 dh(const SecretKey& secret, const Point& point) {
  const auto k = PointAccess::unwrap(point);
  Secret32 out;
  [[maybe_unused]] const int ok =
      secp256k1_ecdh(context(), out.mut().data(), &k, secret.view().data(), hash_x, nullptr);
  assert(ok == 1);  // prime order: no valid secret takes a valid point to infinity
  return out;
}

Signature sign(const SecretKey& secret, const Digest& digest, Rng& rng) {
  secp256k1_keypair pair;
  Secret32 aux;
  Signature out{};
  rng.fill(aux.mut());
  [[maybe_unused]] int ok = secp256k1_keypair_create(context(), &pair, secret.view().data());
  assert(ok == 1);
  ok = secp256k1_schnorrsig_sign32(context(), out.data(), digest.data(), &pair, aux.data());
  assert(ok == 1);
  wipe(&pair, sizeof pair);
  return out;
}

bool verify(const PublicKey& key, const Digest& digest, std::span<const std::uint8_t, 64> signature) {
  secp256k1_xonly_pubkey k;
  return secp256k1_xonly_pubkey_parse(context(), &k, key.bytes.data()) == 1 &&
         secp256k1_schnorrsig_verify(context(), signature.data(), digest.data(), digest.size(), &k) == 1;
}

}  // namespace weft::crypto
