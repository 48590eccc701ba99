#include "crypto/xk.h"

namespace weft::crypto {
namespace {

constexpr std::string_view kName = "Noise_XK_secp256k1_ChaChaPoly_SHA256";

}  // namespace

XkInitiator::XkInitiator(const PublicKey& responder, SecretKey ephemeral)
    : responder_(responder), ephemeral_(std::move(ephemeral)), state_(kName, responder) {}

Result<XkInitiator, Drop> XkInitiator::start(const PublicKey& responder, Rng& rng) {
  const auto remote = Point::lift(responder);
  if (!remote) return bad(remote.error());
  XkInitiator hs{responder, SecretKey::generate(rng)};
  hs.msg1_ = hs.ephemeral_.point().compressed().bytes;
  hs.state_.mix_hash(hs.msg1_);
  hs.state_.mix_key(dh(hs.ephemeral_, *remote));
  return hs;
}

Result<XkInitiator::Finish, Drop> XkInitiator::read_msg2(const Identity& self, Bytes msg2,
                                                         const StartupEpoch& epoch) const {
  if (msg2.size() != kXkMsg2Size) return bad(Drop::wrong_length);
  const Bytes e = msg2.first(kKeySize);
  const auto remote_ephemeral = Point::parse(e);
  if (!remote_ephemeral) return bad(remote_ephemeral.error());

  SymmetricState state = state_.clone();
  state.mix_hash(e);
  state.mix_key(dh(ephemeral_, *remote_ephemeral));
  StartupEpoch remote_epoch;
  if (!state.open(msg2.subspan(kKeySize), remote_epoch.bytes.data())) return bad(Drop::bad_handshake);

  XkMsg3 msg3{};
  state.seal(self.compressed().view(), msg3.data());  // counter 1 under the key that opened message 2
  state.mix_key(self.dh(*remote_ephemeral));
  state.seal(epoch.view(), msg3.data() + kSealedKeySize);
  auto [first, second] = state.split();
  return Finish{msg3, HandshakeKeys{std::move(first), std::move(second), even_key(responder_), remote_epoch}};
}

Result<XkResponder, Drop> XkResponder::read_msg1(const Identity& self, Bytes msg1, const StartupEpoch& epoch,
                                                 Rng& rng) {
  if (msg1.size() != kXkMsg1Size) return bad(Drop::wrong_length);
  const auto remote_ephemeral = Point::parse(msg1);
  if (!remote_ephemeral) return bad(remote_ephemeral.error());

  XkResponder hs{SecretKey::generate(rng), SymmetricState{kName, self.key()}};
  hs.state_.mix_hash(msg1);
  hs.state_.mix_key(self.dh(*remote_ephemeral));
  const CompressedKey e = hs.ephemeral_.point().compressed();
  std::memcpy(hs.msg2_.data(), e.bytes.data(), e.bytes.size());
  hs.state_.mix_hash(e.view());
  hs.state_.mix_key(dh(hs.ephemeral_, *remote_ephemeral));
  hs.state_.seal(epoch.view(), hs.msg2_.data() + kKeySize);
  return hs;
}

Result<HandshakeKeys, Drop> XkResponder::read_msg3(Bytes msg3) const {
  if (msg3.size() != kXkMsg3Size) return bad(Drop::wrong_length);
  SymmetricState state = state_.clone();
  CompressedKey remote_static;
  if (!state.open(msg3.first(kSealedKeySize), remote_static.bytes.data())) return bad(Drop::bad_handshake);
  const auto remote = Point::parse(remote_static.view());
  if (!remote) return bad(remote.error());
  state.mix_key(dh(ephemeral_, *remote));
  StartupEpoch remote_epoch;
  if (!state.open(msg3.subspan(kSealedKeySize), remote_epoch.bytes.data())) return bad(Drop::bad_handshake);
  auto [first, second] = state.split();
  return HandshakeKeys{std::move(second), std::move(first), remote_static, remote_epoch};
}

}  // namespace weft::crypto
