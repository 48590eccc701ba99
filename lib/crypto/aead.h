/// ChaCha20-Poly1305 (RFC 8439) of packets, in place, many at a time. Nonce = 4 zero bytes || counter,
/// little-endian.
///
/// seal   encrypts `data` and writes 16 bytes to `tag`.
/// open   decrypts `data` when `tag` fits and says so in `ok`. When it does not fit, `data` is what it was,
/// to the byte, so
///        that another key can be tried; tags are compared in constant time. What a failed open may have
///        written in between is undone before it returns: let no other thread look at `data` meanwhile.
/// Thread an Aead belongs to one thread; an AeadKey may be shared as const. Cost: no allocation per job.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "crypto/secret.h"

namespace weft::crypto {

constexpr std::size_t kTagSize = 16;

/// The key of one direction of one epoch.
class AeadKey {
 public:
  explicit AeadKey(std::span<const std::uint8_t, 32> bytes) : bytes_(bytes) {}
  explicit AeadKey(Secret32 bytes) : bytes_(std::move(bytes)) {}

  AeadKey clone() const { return AeadKey{bytes_.view()}; }
  std::span<const std::uint8_t, 32> view() const { return bytes_.view(); }
  const std::uint8_t* data() const { return bytes_.data(); }

 private:
  Secret32 bytes_;
};

struct AeadJob {
  const AeadKey* key = nullptr;
  std::uint64_t counter = 0;
  Bytes aad;                     // must not overlap data or tag
  std::uint8_t* data = nullptr;  // plaintext or ciphertext, in place
  std::size_t size = 0;          // of data, without the tag
  std::uint8_t* tag = nullptr;   // kTagSize bytes; right behind data, or anywhere else
  bool ok = false;               // out: sealed, or opened and authentic
};

class Aead {
 public:
  virtual ~Aead() = default;
  /// "libsodium", or "ipsec-mb avx512" and the like.
  virtual std::string_view name() const = 0;
  virtual void seal(std::span<AeadJob> jobs) = 0;
  virtual void open(std::span<AeadJob> jobs) = 0;
};

/// A manager of one's own for the calling thread: "sodium", "ipsec-mb" (also with a level: "ipsec-mb avx512",
/// "avx2" or "sse"), or "auto" (ipsec-mb where it was built in and the processor has AVX2 or better). Null
/// when this one is not to be had here; "auto" is never null.
std::unique_ptr<Aead> make_aead(std::string_view which = "auto");

/// One message, by libsodium; for handshakes. `out` takes plain.size() + 16 bytes.
void seal_once(const Secret32& key, std::uint64_t counter, Bytes aad, Bytes plain, std::uint8_t* out);
/// `out` takes sealed.size() - 16 bytes and is untouched when the answer is false.
bool open_once(const Secret32& key, std::uint64_t counter, Bytes aad, Bytes sealed, std::uint8_t* out);

}  // namespace weft::crypto
