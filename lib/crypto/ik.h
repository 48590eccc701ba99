/// Noise IK, the handshake of links: the initiator knows the responder's key. Two messages, 106 and 57 bytes.
///
/// Strong guarantee: every read is a const member or a factory, so a message that does not open changes
/// nothing and the next one may still. A fresh ephemeral key per object; a resend sends the same bytes again.
/// The last Diffie-Hellman of message 2 repeats (initiator ephemeral, responder static), where standard Noise
/// would mix the initiator's static; it is kept from message 1 and costs nothing. Cost: initiator 1 key
/// making + 3 dh, responder the same (2 dh up to the answer of read_msg1). Source: docs/spec/link.md
/// section 3.3.
#pragma once

#include "crypto/identity.h"
#include "crypto/noise.h"

namespace weft::crypto {

constexpr std::size_t kIkMsg1Size = kKeySize + kSealedKeySize + kSealedEpochSize;  // 106
constexpr std::size_t kIkMsg2Size = kKeySize + kSealedEpochSize;                   // 57
using IkMsg1 = std::array<std::uint8_t, kIkMsg1Size>;
using IkMsg2 = std::array<std::uint8_t, kIkMsg2Size>;

class IkInitiator {
 public:
  /// Errors: bad_point when `responder` is no X of the curve; own_identity.
  static Result<IkInitiator, Drop> start(const Identity& self, const PublicKey& responder,
                                         const StartupEpoch& epoch, Rng& rng);

  const IkMsg1& msg1() const { return msg1_; }
  const PublicKey& responder() const { return responder_; }
  /// Errors: wrong_length, bad_point, bad_handshake.
  Result<HandshakeKeys, Drop> read_msg2(Bytes msg2) const;

 private:
  IkInitiator(const PublicKey& responder, SecretKey ephemeral);

  PublicKey responder_;
  SecretKey ephemeral_;
  SymmetricState state_;
  Secret32 es_;
  IkMsg1 msg1_{};
};

class IkResponder {
 public:
  /// Reads and authenticates; afterwards the remote side is known, and the caller decides whether it gets an
  /// answer. Errors: wrong_length, bad_point, bad_handshake (not for us, or forged), own_identity.
  static Result<IkResponder, Drop> read_msg1(const Identity& self, Bytes msg1);

  PublicKey remote() const { return x_of(remote_static_); }
  const CompressedKey& remote_static() const { return remote_static_; }
  const StartupEpoch& remote_epoch() const { return remote_epoch_; }

  struct Answer {
    IkMsg2 msg2;
    HandshakeKeys keys;
  };
  /// A new ephemeral key each time: answer once, store msg2, and resend the stored bytes.
  Answer write_msg2(const StartupEpoch& epoch, Rng& rng) const;

 private:
  IkResponder(SymmetricState state, const Point& remote_ephemeral)
      : state_(std::move(state)), remote_ephemeral_(remote_ephemeral) {}

  SymmetricState state_;
  Point remote_ephemeral_;
  Secret32 es_;
  CompressedKey remote_static_;
  StartupEpoch remote_epoch_;
};

}  // namespace weft::crypto
