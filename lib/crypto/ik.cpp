#include "crypto/ik.h"

namespace weft::crypto {
namespace {

constexpr std::string_view kName = "Noise_IK_secp256k1_ChaChaPoly_SHA256";
constexpr std::size_t kEpochAt = kKeySize + kSealedKeySize;  // in msg1

void put(std::span<std::uint8_t> out, std::size_t at, Bytes in) {
  std::memcpy(out.data() + at, in.data(), in.size());
}

}  // namespace

IkInitiator::IkInitiator(const PublicKey& responder, SecretKey ephemeral)
    : responder_(responder), ephemeral_(std::move(ephemeral)), state_(kName, responder) {}

Result<IkInitiator, Drop> IkInitiator::start(const Identity& self, const PublicKey& responder,
                                             const StartupEpoch& epoch, Rng& rng) {
  if (self.is_me(responder)) return bad(Drop::own_identity);
  const auto remote = Point::lift(responder);
  if (!remote) return bad(remote.error());

  IkInitiator hs{responder, SecretKey::generate(rng)};
  const CompressedKey e = hs.ephemeral_.point().compressed();
  put(hs.msg1_, 0, e.view());
  hs.state_.mix_hash(e.view());
  hs.es_ = dh(hs.ephemeral_, *remote);
  hs.state_.mix_key(hs.es_);
  hs.state_.seal(self.compressed().view(), hs.msg1_.data() + kKeySize);
  hs.state_.mix_key(self.dh(*remote));
  hs.state_.seal(epoch.view(), hs.msg1_.data() + kEpochAt);
  return hs;
}

Result<HandshakeKeys, Drop> IkInitiator::read_msg2(Bytes msg2) const {
  if (msg2.size() != kIkMsg2Size) return bad(Drop::wrong_length);
  const Bytes e = msg2.first(kKeySize);
  const auto remote_ephemeral = Point::parse(e);
  if (!remote_ephemeral) return bad(remote_ephemeral.error());

  SymmetricState state = state_.clone();
  state.mix_hash(e);
  state.mix_key(dh(ephemeral_, *remote_ephemeral));
  state.mix_key(es_);
  StartupEpoch epoch;
  if (!state.open(msg2.subspan(kKeySize), epoch.bytes.data())) return bad(Drop::bad_handshake);
  auto [first, second] = state.split();
  return HandshakeKeys{std::move(first), std::move(second), even_key(responder_), epoch};
}

Result<IkResponder, Drop> IkResponder::read_msg1(const Identity& self, Bytes msg1) {
  if (msg1.size() != kIkMsg1Size) return bad(Drop::wrong_length);
  const Bytes e = msg1.first(kKeySize);
  const auto remote_ephemeral = Point::parse(e);
  if (!remote_ephemeral) return bad(remote_ephemeral.error());

  IkResponder hs{SymmetricState{kName, self.key()}, *remote_ephemeral};
  hs.state_.mix_hash(e);
  hs.es_ = self.dh(*remote_ephemeral);
  hs.state_.mix_key(hs.es_);
  if (!hs.state_.open(msg1.subspan(kKeySize, kSealedKeySize), hs.remote_static_.bytes.data()))
    return bad(Drop::bad_handshake);
  if (self.is_me(hs.remote())) return bad(Drop::own_identity);
  const auto remote_static = Point::parse(hs.remote_static_.view());
  if (!remote_static) return bad(remote_static.error());
  hs.state_.mix_key(self.dh(*remote_static));
  if (!hs.state_.open(msg1.subspan(kEpochAt), hs.remote_epoch_.bytes.data())) return bad(Drop::bad_handshake);
  return hs;
}

IkResponder::Answer IkResponder::write_msg2(const StartupEpoch& epoch, Rng& rng) const {
  IkMsg2 msg2{};
  const SecretKey ephemeral = SecretKey::generate(rng);
  const CompressedKey e = ephemeral.point().compressed();
  put(msg2, 0, e.view());

  SymmetricState state = state_.clone();
  state.mix_hash(e.view());
  state.mix_key(dh(ephemeral, remote_ephemeral_));
  state.mix_key(es_);
  state.seal(epoch.view(), msg2.data() + kKeySize);
  auto [first, second] = state.split();
  return {msg2, HandshakeKeys{std::move(second), std::move(first), remote_static_, remote_epoch_}};
}

}  // namespace weft::crypto
