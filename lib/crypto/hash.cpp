#include "crypto/hash.h"

#include <sodium.h>

namespace weft::crypto {
namespace {

constexpr std::size_t kBlock = 64;  // of SHA-256, bytes

/// HMAC-SHA256 with the key's two blocks hashed once, for several messages under one key.
class Hmac {
 public:
  explicit Hmac(std::span<const std::uint8_t, 32> key) {
    Secret<kBlock> pad;
    std::memset(pad.mut().data(), 0x36, kBlock);
    for (std::size_t i = 0; i < key.size(); ++i) pad.mut()[i] ^= key[i];
    crypto_hash_sha256_init(&inner_);
    crypto_hash_sha256_update(&inner_, pad.data(), kBlock);
    for (auto& b : pad.mut()) b ^= 0x36 ^ 0x5c;
    crypto_hash_sha256_init(&outer_);
    crypto_hash_sha256_update(&outer_, pad.data(), kBlock);
  }
  Hmac(const Hmac&) = delete;
  Hmac& operator=(const Hmac&) = delete;
  ~Hmac() {
    wipe(&inner_, sizeof inner_);
    wipe(&outer_, sizeof outer_);
  }

  Secret32 of(Bytes a, Bytes b = {}) const {
    crypto_hash_sha256_state in = inner_;
    crypto_hash_sha256_state out = outer_;
    Secret32 mac;
    if (!a.empty()) crypto_hash_sha256_update(&in, a.data(), a.size());
    if (!b.empty()) crypto_hash_sha256_update(&in, b.data(), b.size());
    crypto_hash_sha256_final(&in, mac.mut().data());
    crypto_hash_sha256_update(&out, mac.data(), mac.kSize);
    crypto_hash_sha256_final(&out, mac.mut().data());
    wipe(&in, sizeof in);
    wipe(&out, sizeof out);
    return mac;
  }

 private:
  crypto_hash_sha256_state inner_;
  crypto_hash_sha256_state outer_;
};

}  // namespace

Digest sha256(Bytes in) { return sha256(in, {}); }

Digest sha256(Bytes a, Bytes b) {
  crypto_hash_sha256_state s;
  Digest out;
  crypto_hash_sha256_init(&s);
  if (!a.empty()) crypto_hash_sha256_update(&s, a.data(), a.size());
  if (!b.empty()) crypto_hash_sha256_update(&s, b.data(), b.size());
  crypto_hash_sha256_final(&s, out.data());
  wipe(&s, sizeof s);
  return out;
}

std::pair<Secret32, Secret32> hkdf_pair(std::span<const std::uint8_t, 32> salt, Bytes input) {
  const Secret32 prk = Hmac{salt}.of(input);
  const Hmac expand{prk.view()};
  constexpr std::uint8_t kFirst = 1;
  constexpr std::uint8_t kSecond = 2;
  Secret32 a = expand.of({&kFirst, 1});
  Secret32 b = expand.of(a.view(), {&kSecond, 1});
  return {std::move(a), std::move(b)};
}

}  // namespace weft::crypto
