#include <sodium.h>

#include <new>

#include "crypto/aead_backends.h"

namespace weft::crypto {
namespace {

/// Null output makes libsodium check the tag and touch nothing (with output it zeroes what does not fit).
bool authentic(const std::uint8_t* key, const Nonce& nonce, Bytes aad, Bytes cipher,
               const std::uint8_t* tag) {
  return crypto_aead_chacha20poly1305_ietf_decrypt_detached(nullptr, nullptr, cipher.data(), cipher.size(),
                                                            tag, aad.data(), aad.size(), nonce.data(),
                                                            key) == 0;
}

/// Block 0 of the key stream made the Poly1305 key; the text starts at block 1.
void decrypt(const std::uint8_t* key, const Nonce& nonce, Bytes cipher, std::uint8_t* out) {
  crypto_stream_chacha20_ietf_xor_ic(out, cipher.data(), cipher.size(), nonce.data(), 1, key);
}

void encrypt(const std::uint8_t* key, const Nonce& nonce, Bytes aad, Bytes plain, std::uint8_t* out,
             std::uint8_t* tag) {
  crypto_aead_chacha20poly1305_ietf_encrypt_detached(out, tag, nullptr, plain.data(), plain.size(),
                                                     aad.data(), aad.size(), nullptr, nonce.data(), key);
}

class SodiumAead final : public Aead {
 public:
  std::string_view name() const override { return "libsodium"; }

  void seal(std::span<AeadJob> jobs) override {
    for (AeadJob& j : jobs) {
      encrypt(j.key->data(), nonce_of(j.counter), j.aad, {j.data, j.size}, j.data, j.tag);
      j.ok = true;
    }
  }

  void open(std::span<AeadJob> jobs) override {
    for (AeadJob& j : jobs) {
      const Nonce nonce = nonce_of(j.counter);
      j.ok = authentic(j.key->data(), nonce, j.aad, {j.data, j.size}, j.tag);
      if (j.ok) decrypt(j.key->data(), nonce, {j.data, j.size}, j.data);
    }
  }
};

}  // namespace

std::unique_ptr<Aead> make_sodium_aead() {
  if (sodium_init() < 0) throw std::bad_alloc{};  // also picks the fast code for this processor
  return std::make_unique<SodiumAead>();
}

void seal_once(const Secret32& key, std::uint64_t counter, Bytes aad, Bytes plain, std::uint8_t* out) {
  encrypt(key.data(), nonce_of(counter), aad, plain, out, out + plain.size());
}

bool open_once(const Secret32& key, std::uint64_t counter, Bytes aad, Bytes sealed, std::uint8_t* out) {
  if (sealed.size() < kTagSize) return false;
  const Nonce nonce = nonce_of(counter);
  const Bytes cipher = sealed.first(sealed.size() - kTagSize);
  if (!authentic(key.data(), nonce, aad, cipher, sealed.data() + cipher.size())) return false;
  decrypt(key.data(), nonce, cipher, out);
  return true;
}

}  // namespace weft::crypto
