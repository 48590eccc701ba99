// Noise XK with a lying peer. Byte 0 chooses: bit 0 a raw message 1, bit 1 a raw message 2, bit 2 a raw
// message 3, bit 3 a message 3 that is properly sealed around static key bytes of the input's choice.
#include "crypto/xk.h"
#include "testing/fuzz/check.h"

namespace {

using namespace weft;
using namespace weft::crypto;

struct World {
  SeededRng rng{1};
  Identity a = Identity::generate(rng);
  Identity b = Identity::generate(rng);
  StartupEpoch epoch;
  XkInitiator attempt = *XkInitiator::start(b.key(), rng);
  XkResponder answer = *XkResponder::read_msg1(b, attempt.msg1(), epoch, rng);
  XkMsg3 finish = attempt.read_msg2(a, answer.msg2(), epoch)->msg3;
  // A second attempt, by hand, up to the point where message 3 is sealed.
  SecretKey ephemeral = SecretKey::generate(rng);
  XkResponder to_liar = *XkResponder::read_msg1(b, ephemeral.point().compressed().view(), epoch, rng);
};

void seal_claim(const World& w, Bytes input) {
  std::array<std::uint8_t, kKeySize> claim{};
  std::copy_n(input.begin(), std::min(input.size(), claim.size()), claim.begin());
  const Bytes msg2{w.to_liar.msg2()};
  const auto theirs = *Point::parse(msg2.first(kKeySize));
  SymmetricState s{"Noise_XK_secp256k1_ChaChaPoly_SHA256", w.b.key()};
  s.mix_hash(w.ephemeral.point().compressed().view());
  s.mix_key(dh(w.ephemeral, *Point::lift(w.b.key())));
  s.mix_hash(msg2.first(kKeySize));
  s.mix_key(dh(w.ephemeral, theirs));
  StartupEpoch epoch;
  FUZZ_CHECK(s.open(msg2.subspan(kKeySize), epoch.bytes.data()));
  XkMsg3 m{};
  s.seal(claim, m.data());
  s.mix_key(w.a.dh(theirs));
  s.seal(w.epoch.view(), m.data() + kSealedKeySize);
  const auto read = w.to_liar.read_msg3(m);
  // Only who holds the secret of the key that it claims gets through.
  FUZZ_CHECK(!read || read->remote() == w.a.key());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World w;
  if (size == 0) return 0;
  const Bytes input{data + 1, size - 1};
  if ((data[0] & 1) != 0) (void)XkResponder::read_msg1(w.b, input, w.epoch, w.rng);
  if ((data[0] & 2) != 0) {
    (void)w.attempt.read_msg2(w.a, input, w.epoch);
    FUZZ_CHECK(w.attempt.read_msg2(w.a, w.answer.msg2(), w.epoch));  // nothing may spoil the attempt
  }
  if ((data[0] & 4) != 0) {
    (void)w.answer.read_msg3(input);
    FUZZ_CHECK(w.answer.read_msg3(w.finish));
  }
  if ((data[0] & 8) != 0) seal_claim(w, input);
  return 0;
}
