/// The symmetric half of the two handshakes, and what both end with.
///
/// Differs from standard Noise, because the protocol does: the AEAD's associated data is always empty, there
/// is no prologue, the pre-message is 02 || X of the responder whatever its parity, and an absent payload
/// leaves no tag. So the hash never reaches the wire; it is kept because both sides agree on it, and shown to
/// nobody.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "crypto/aead.h"
#include "crypto/curve.h"

namespace weft::crypto {

constexpr std::size_t kKeySize = 33;                         // compressed point
constexpr std::size_t kSealedKeySize = kKeySize + kTagSize;  // 49
constexpr std::size_t kEpochSize = 8;
constexpr std::size_t kSealedEpochSize = kEpochSize + kTagSize;  // 24

/// What a finished handshake leaves: keys by direction, and who is at the other end, proven.
struct HandshakeKeys {
  AeadKey send;
  AeadKey recv;
  CompressedKey remote_static;  // parity as sent, or even where only the npub was known
  StartupEpoch remote_epoch;

  PublicKey remote() const { return x_of(remote_static); }
};

class SymmetricState {
 public:
  /// `name` is longer than 32 bytes, and hashed.
  SymmetricState(std::string_view name, const PublicKey& responder);
  SymmetricState clone() const;

  void mix_hash(Bytes data);
  void mix_key(const Secret32& dh_output);
  /// Writes plain.size() + 16 bytes.
  void seal(Bytes plain, std::uint8_t* out);
  /// Writes sealed.size() - 16 bytes. False: nothing was written, nothing changed.
  bool open(Bytes sealed, std::uint8_t* out);
  /// First: initiator to responder.
  std::pair<AeadKey, AeadKey> split() const;

 private:
  friend struct SymmetricStatePeek;  // the vectors test
  SymmetricState() = default;

  Digest hash_{};
  Secret32 chain_;
  Secret32 key_;
  std::uint64_t counter_ = 0;
};

}  // namespace weft::crypto
