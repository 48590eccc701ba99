/// Noise XK, the handshake of sessions: the initiator shows who it is in the third message. 33, 57 and 73
/// bytes.
///
/// Strong guarantee: every read is a const member or a factory, so a message that does not open changes
/// nothing and the next one may still. Source: docs/spec/link.md section 3.4.
#pragma once

#include "crypto/identity.h"
#include "crypto/noise.h"

namespace weft::crypto {

constexpr std::size_t kXkMsg1Size = kKeySize;                           // 33
constexpr std::size_t kXkMsg2Size = kKeySize + kSealedEpochSize;        // 57
constexpr std::size_t kXkMsg3Size = kSealedKeySize + kSealedEpochSize;  // 73
using XkMsg1 = std::array<std::uint8_t, kXkMsg1Size>;
using XkMsg2 = std::array<std::uint8_t, kXkMsg2Size>;
using XkMsg3 = std::array<std::uint8_t, kXkMsg3Size>;

class XkInitiator {
 public:
  /// Errors: bad_point when `responder` is no X of the curve.
  static Result<XkInitiator, Drop> start(const PublicKey& responder, Rng& rng);

  const XkMsg1& msg1() const { return msg1_; }
  const PublicKey& responder() const { return responder_; }

  struct Finish {
    XkMsg3 msg3;
    HandshakeKeys keys;
  };
  /// The same msg2 gives the same msg3. Errors: wrong_length, bad_point, bad_handshake.
  Result<Finish, Drop> read_msg2(const Identity& self, Bytes msg2, const StartupEpoch& epoch) const;

 private:
  XkInitiator(const PublicKey& responder, SecretKey ephemeral);

  PublicKey responder_;
  SecretKey ephemeral_;
  SymmetricState state_;
  XkMsg1 msg1_{};
};

class XkResponder {
 public:
  /// Reads msg1 and has msg2 ready; who asked is not known before msg3. Errors: wrong_length, bad_point,
  /// bad_handshake.
  static Result<XkResponder, Drop> read_msg1(const Identity& self, Bytes msg1, const StartupEpoch& epoch,
                                             Rng& rng);

  const XkMsg2& msg2() const { return msg2_; }
  /// The caller still compares node_addr_of(remote()) with the sender's address. Errors: wrong_length,
  /// bad_point, bad_handshake.
  Result<HandshakeKeys, Drop> read_msg3(Bytes msg3) const;

 private:
  XkResponder(SecretKey ephemeral, SymmetricState state)
      : ephemeral_(std::move(ephemeral)), state_(std::move(state)) {}

  SecretKey ephemeral_;
  SymmetricState state_;
  XkMsg2 msg2_{};
};

}  // namespace weft::crypto
