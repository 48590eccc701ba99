// Noise IK with a lying peer. Byte 0 chooses: bit 0 a raw message 1, bit 1 a raw message 2, bit 2 a message 1
// that is properly sealed around static key bytes of the input's choice.
#include "crypto/ik.h"
#include "testing/fuzz/check.h"

namespace {

using namespace weft;
using namespace weft::crypto;

struct World {
  SeededRng rng{1};
  Identity a = Identity::generate(rng);
  Identity b = Identity::generate(rng);
  StartupEpoch epoch;
  IkInitiator attempt = *IkInitiator::start(a, b.key(), epoch, rng);
  IkMsg2 answer = IkResponder::read_msg1(b, attempt.msg1())->write_msg2(epoch, rng).msg2;
  SecretKey ephemeral = SecretKey::generate(rng);
};

void seal_claim(World& w, Bytes input) {
  std::array<std::uint8_t, kKeySize> claim{};
  std::copy_n(input.begin(), std::min(input.size(), claim.size()), claim.begin());
  const auto remote = *Point::lift(w.b.key());
  const auto e = w.ephemeral.point().compressed();
  IkMsg1 m{};
  std::copy_n(e.bytes.begin(), kKeySize, m.begin());
  SymmetricState s{"Noise_IK_secp256k1_ChaChaPoly_SHA256", w.b.key()};
  s.mix_hash(e.view());
  s.mix_key(dh(w.ephemeral, remote));
  s.seal(claim, m.data() + kKeySize);
  s.mix_key(w.a.dh(remote));
  s.seal(w.epoch.view(), m.data() + kKeySize + kSealedKeySize);
  const auto read = IkResponder::read_msg1(w.b, m);
  // Only who holds the secret of the key that it claims gets through.
  FUZZ_CHECK(!read || read->remote() == w.a.key());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World w;
  if (size == 0) return 0;
  const Bytes input{data + 1, size - 1};
  if ((data[0] & 1) != 0)
    if (const auto r = IkResponder::read_msg1(w.b, input)) (void)r->write_msg2(w.epoch, w.rng);
  if ((data[0] & 2) != 0) {
    (void)w.attempt.read_msg2(input);
    FUZZ_CHECK(w.attempt.read_msg2(w.answer));  // nothing may spoil the attempt
  }
  if ((data[0] & 4) != 0) seal_claim(w, input);
  return 0;
}
