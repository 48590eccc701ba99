#include <gtest/gtest.h>

#include "crypto/ik.h"
#include "crypto/xk.h"
#include "testing/vectors/load.h"

namespace weft::crypto {

struct SymmetricStatePeek {
  static void expect(const SymmetricState& s, const nlohmann::json& step) {
    const auto where = step.dump();
    EXPECT_EQ(to_hex(s.hash_), step["h"]) << where;
    EXPECT_EQ(to_hex(s.chain_.view()), step["ck"]) << where;
    if (!step["k"].is_null()) {
      EXPECT_EQ(to_hex(s.key_.view()), step["k"]) << where;
    }
    EXPECT_EQ(s.counter_, step["n"].get<std::uint64_t>()) << where;
  }
};

namespace {

/// Hands out the same bytes over and over: an ephemeral key of our choice.
class FixedRng final : public Rng {
 public:
  explicit FixedRng(Buffer bytes) : bytes_(std::move(bytes)) {}
  void fill(MutBytes out) override { std::copy_n(bytes_.begin(), out.size(), out.begin()); }

 private:
  Buffer bytes_;
};

Identity identity_of(const nlohmann::json& hex) { return *Identity::parse_secret(hex.get<std::string>()); }
std::string hex_of(const AeadKey& k) { return to_hex(k.view()); }

void expect_keys(const HandshakeKeys& keys, const nlohmann::json& role, const nlohmann::json& in,
                 const char* who) {
  EXPECT_EQ(hex_of(keys.send), role["send_key"]) << who;
  EXPECT_EQ(hex_of(keys.recv), role["recv_key"]) << who;
  EXPECT_EQ(keys.remote_epoch.hex(),
            in[std::string(who) == "initiator" ? "responder_epoch" : "initiator_epoch"]);
}
void expect_same(const HandshakeKeys& a, const HandshakeKeys& b) {
  EXPECT_EQ(hex_of(a.send), hex_of(b.send));
  EXPECT_EQ(hex_of(a.recv), hex_of(b.recv));
  EXPECT_EQ(a.remote_static, b.remote_static);
  EXPECT_EQ(a.remote_epoch, b.remote_epoch);
}
void expect_partners(const HandshakeKeys& a, const HandshakeKeys& b) {
  EXPECT_EQ(hex_of(a.send), hex_of(b.recv));
  EXPECT_EQ(hex_of(a.recv), hex_of(b.send));
  EXPECT_NE(hex_of(a.send), hex_of(a.recv));
}

StartupEpoch epoch(std::uint8_t v) {
  StartupEpoch e;
  e.bytes.fill(v);
  return e;
}

/// Every message with one bit of one byte changed, and every other length up to 300, is refused.
template <class Read>
void expect_refuses_all_damage(Bytes good, Read read) {
  for (std::size_t i = 0; i < good.size(); ++i) {
    Buffer m(good.begin(), good.end());
    m[i] = static_cast<std::uint8_t>(m[i] ^ (1u << ((i + 1) % 8)));
    const Drop why = read(m);
    EXPECT_TRUE(why == Drop::bad_handshake || (i < kKeySize && why == Drop::bad_point))
        << i << " " << name_of(why);
  }
  Buffer m(good.begin(), good.end());
  m.resize(300);
  for (std::size_t n = 0; n < m.size(); ++n)
    if (n != good.size()) {
      EXPECT_EQ(read(Bytes{m}.first(n)), Drop::wrong_length) << n;
    }
}

template <class T>
Drop error_of(const Result<T, Drop>& r) {
  return r ? Drop::count_ : r.error();
}

/// Off the curve, X above p, and an unknown prefix.
std::vector<Buffer> bad_points() {
  Buffer off(33, 0), above(33, 0xff), prefix(33, 0x11);
  off[0] = 2;
  above[0] = 3;
  prefix[0] = 4;
  return {off, above, prefix};
}

struct Pair {
  SeededRng rng{11};
  Identity a = Identity::generate(rng);
  Identity b = Identity::generate(rng);
};

TEST(Noise, EveryIntermediateValueIsTheKnownOne) {
  const auto all = vectors::load("noise.json");
  for (const auto& hs : all["handshakes"]) {
    const auto name = "Noise_" + hs["pattern"].get<std::string>() + "_secp256k1_ChaChaPoly_SHA256";
    const auto responder = x_of(vectors::id<CompressedKey>(hs["inputs"]["responder_static_public_real"]));
    for (const auto* side : {"trace_initiator", "trace_responder"}) {
      const auto& steps = hs[side];
      ASSERT_EQ(steps[0]["name"], name);
      SymmetricState s{name, responder};  // covers the first two steps
      SymmetricStatePeek::expect(s, steps[1]);
      for (std::size_t i = 2; i < steps.size(); ++i) {
        const auto& step = steps[i];
        const auto op = step["op"].get<std::string>();
        if (op == "mix_hash") s.mix_hash(vectors::bytes(step["data"]));
        if (op == "mix_key")
          s.mix_key(Secret32{std::span<const std::uint8_t, 32>{vectors::bytes(step["dh_output"])}});
        if (op == "encrypt_and_hash" || op == "decrypt_and_hash") {
          const Buffer plain = vectors::bytes(step["plaintext"]);
          const Buffer sealed = vectors::bytes(step["ciphertext"]);
          Buffer out(op[0] == 'e' ? sealed.size() : plain.size());
          if (op[0] == 'e') s.seal(plain, out.data());
          else ASSERT_TRUE(s.open(sealed, out.data()));
          EXPECT_EQ(out, op[0] == 'e' ? sealed : plain);
          if (step.contains("wrong_if_h_used_as_aad")) {
            EXPECT_NE(to_hex(sealed), step["wrong_if_h_used_as_aad"]) << "the associated data is empty";
          }
        }
        SymmetricStatePeek::expect(s, step);
      }
      const auto [first, second] = s.split();
      EXPECT_EQ(hex_of(first), hs["final"]["k1_initiator_to_responder"]);
      EXPECT_EQ(hex_of(second), hs["final"]["k2_responder_to_initiator"]);
    }
  }
}

TEST(Ik, SpeaksTheKnownMessages) {
  int seen = 0;
  const auto all = vectors::load("noise.json");
  for (const auto& hs : all["handshakes"]) {
    if (hs["pattern"] != "IK") continue;
    const auto& in = hs["inputs"];
    const auto a = identity_of(in["initiator_static_secret"]);
    const auto b = identity_of(in["responder_static_secret"]);
    FixedRng rng_a{vectors::bytes(in["initiator_ephemeral_secret"])};
    FixedRng rng_b{vectors::bytes(in["responder_ephemeral_secret"])};

    const auto i = IkInitiator::start(a, b.key(), vectors::id<StartupEpoch>(in["initiator_epoch"]), rng_a);
    ASSERT_TRUE(i);
    EXPECT_EQ(to_hex(i->msg1()), hs["noise_msg1"]);
    const auto r = IkResponder::read_msg1(b, i->msg1());
    ASSERT_TRUE(r);
    EXPECT_EQ(r->remote(), a.key());
    EXPECT_EQ(r->remote_static().hex(), in["initiator_static_public"]) << "with its real parity";
    EXPECT_EQ(r->remote_epoch().hex(), in["initiator_epoch"]);
    const auto answer = r->write_msg2(vectors::id<StartupEpoch>(in["responder_epoch"]), rng_b);
    EXPECT_EQ(to_hex(answer.msg2), hs["noise_msg2"]);
    expect_keys(answer.keys, hs["final"]["responder"], in, "responder");
    const auto keys = i->read_msg2(answer.msg2);
    ASSERT_TRUE(keys);
    expect_keys(*keys, hs["final"]["initiator"], in, "initiator");
    EXPECT_EQ(keys->remote(), b.key());
    ++seen;
  }
  EXPECT_GE(seen, 2);
}

TEST(Xk, SpeaksTheKnownMessages) {
  int seen = 0;
  const auto all = vectors::load("noise.json");
  for (const auto& hs : all["handshakes"]) {
    if (hs["pattern"] != "XK") continue;
    const auto& in = hs["inputs"];
    const auto a = identity_of(in["initiator_static_secret"]);
    const auto b = identity_of(in["responder_static_secret"]);
    FixedRng rng_a{vectors::bytes(in["initiator_ephemeral_secret"])};
    FixedRng rng_b{vectors::bytes(in["responder_ephemeral_secret"])};

    const auto i = XkInitiator::start(b.key(), rng_a);
    ASSERT_TRUE(i);
    EXPECT_EQ(to_hex(i->msg1()), hs["noise_msg1"]);
    const auto r =
        XkResponder::read_msg1(b, i->msg1(), vectors::id<StartupEpoch>(in["responder_epoch"]), rng_b);
    ASSERT_TRUE(r);
    EXPECT_EQ(to_hex(r->msg2()), hs["noise_msg2"]);
    const auto finish = i->read_msg2(a, r->msg2(), vectors::id<StartupEpoch>(in["initiator_epoch"]));
    ASSERT_TRUE(finish);
    EXPECT_EQ(to_hex(finish->msg3), hs["noise_msg3"]);
    expect_keys(finish->keys, hs["final"]["initiator"], in, "initiator");
    const auto keys = r->read_msg3(finish->msg3);
    ASSERT_TRUE(keys);
    expect_keys(*keys, hs["final"]["responder"], in, "responder");
    EXPECT_EQ(keys->remote_static.hex(), in["initiator_static_public"]) << "with its real parity";
    ++seen;
  }
  EXPECT_GE(seen, 2);
}

TEST(Ik, DamagedMessagesAreRefusedAndTheGoodOneStillWorks) {
  Pair p;
  const auto i = IkInitiator::start(p.a, p.b.key(), epoch(1), p.rng);
  ASSERT_TRUE(i);
  expect_refuses_all_damage(i->msg1(), [&](Bytes m) { return error_of(IkResponder::read_msg1(p.b, m)); });
  const auto r = IkResponder::read_msg1(p.b, i->msg1());
  ASSERT_TRUE(r);
  const auto answer = r->write_msg2(epoch(2), p.rng);
  const auto before = i->read_msg2(answer.msg2);
  expect_refuses_all_damage(answer.msg2, [&](Bytes m) { return error_of(i->read_msg2(m)); });
  const auto after = i->read_msg2(answer.msg2);
  ASSERT_TRUE(before && after);
  expect_same(*before, *after);
  expect_partners(*after, answer.keys);
}

TEST(Ik, AMessageForAnotherNodeDoesNotOpen) {
  Pair p;
  const auto c = Identity::generate(p.rng);
  const auto i = IkInitiator::start(p.a, p.b.key(), epoch(1), p.rng);
  EXPECT_EQ(error_of(IkResponder::read_msg1(c, i->msg1())), Drop::bad_handshake);
}

TEST(Ik, AnAnswerToAnotherAttemptDoesNotOpen) {
  Pair p;
  const auto first = IkInitiator::start(p.a, p.b.key(), epoch(1), p.rng);
  const auto second = IkInitiator::start(p.a, p.b.key(), epoch(1), p.rng);
  EXPECT_NE(first->msg1(), second->msg1()) << "a fresh ephemeral key each time";
  const auto answer = IkResponder::read_msg1(p.b, first->msg1())->write_msg2(epoch(2), p.rng);
  EXPECT_EQ(error_of(second->read_msg2(answer.msg2)), Drop::bad_handshake);
  EXPECT_TRUE(first->read_msg2(answer.msg2));
}

TEST(Handshakes, TheParityOfAnEphemeralKeyIsTheOneBitThatNothingProtects) {
  // Diffie-Hellman ignores it, and the hash that holds it is no associated data. So "the same msg1" is the
  // same X.
  Pair p;
  const auto i = IkInitiator::start(p.a, p.b.key(), epoch(1), p.rng);
  IkMsg1 mirrored = i->msg1();
  mirrored[0] ^= 1;
  const auto r = IkResponder::read_msg1(p.b, mirrored);
  ASSERT_TRUE(r);
  const auto answer = r->write_msg2(epoch(2), p.rng);
  const auto keys = i->read_msg2(answer.msg2);
  ASSERT_TRUE(keys);
  expect_partners(*keys, answer.keys);
}

/// msg1 by somebody who seals whatever it likes as its static key.
IkMsg1 ik_msg1_claiming(Bytes static_key, const Identity& signer, const Identity& to, Rng& rng) {
  IkMsg1 m{};
  const auto ephemeral = SecretKey::generate(rng);
  const auto e = ephemeral.point().compressed();
  const auto remote = *Point::lift(to.key());
  std::ranges::copy(e.view(), m.begin());
  SymmetricState s{"Noise_IK_secp256k1_ChaChaPoly_SHA256", to.key()};
  s.mix_hash(e.view());
  s.mix_key(dh(ephemeral, remote));
  s.seal(static_key, m.data() + kKeySize);
  s.mix_key(signer.dh(remote));
  s.seal(epoch(1).view(), m.data() + kKeySize + kSealedKeySize);
  return m;
}

TEST(Ik, TheSealedKeyMustBeAPointAndTheSendersOwn) {
  Pair p;
  EXPECT_TRUE(IkResponder::read_msg1(p.b, ik_msg1_claiming(p.a.compressed().view(), p.a, p.b, p.rng)));
  for (const auto& key : bad_points())
    EXPECT_EQ(error_of(IkResponder::read_msg1(p.b, ik_msg1_claiming(key, p.a, p.b, p.rng))), Drop::bad_point);
  const auto victim = Identity::generate(p.rng);
  EXPECT_EQ(
      error_of(IkResponder::read_msg1(p.b, ik_msg1_claiming(victim.compressed().view(), p.a, p.b, p.rng))),
      Drop::bad_handshake);
}

TEST(Ik, OurOwnKeyIsNoPeer) {
  Pair p;
  EXPECT_EQ(error_of(IkInitiator::start(p.a, p.a.key(), epoch(1), p.rng)), Drop::own_identity);
  auto mirrored = p.b.compressed();
  mirrored.bytes[0] ^= 1;  // the same X is the same node
  for (const auto& key : {p.b.compressed(), mirrored})
    EXPECT_EQ(error_of(IkResponder::read_msg1(p.b, ik_msg1_claiming(key.view(), p.b, p.b, p.rng))),
              Drop::own_identity);
}

TEST(Handshakes, EphemeralKeysMustBePoints) {
  Pair p;
  const auto ik = IkInitiator::start(p.a, p.b.key(), epoch(1), p.rng);
  const auto xk = XkInitiator::start(p.b.key(), p.rng);
  for (const auto& key : bad_points()) {
    Buffer m = key;
    EXPECT_EQ(error_of(XkResponder::read_msg1(p.b, m, epoch(1), p.rng)), Drop::bad_point);
    m.resize(kIkMsg2Size);
    EXPECT_EQ(error_of(ik->read_msg2(m)), Drop::bad_point);
    EXPECT_EQ(error_of(xk->read_msg2(p.a, m, epoch(1))), Drop::bad_point);
    m.resize(kIkMsg1Size);
    EXPECT_EQ(error_of(IkResponder::read_msg1(p.b, m)), Drop::bad_point);
  }
}

TEST(Handshakes, AResponderOffTheCurveIsRefusedAtTheStart) {
  Pair p;
  PublicKey off;
  EXPECT_EQ(error_of(IkInitiator::start(p.a, off, epoch(1), p.rng)), Drop::bad_point);
  EXPECT_EQ(error_of(XkInitiator::start(off, p.rng)), Drop::bad_point);
}

TEST(Xk, DamagedMessagesAreRefusedAndTheGoodOneStillWorks) {
  Pair p;
  const auto i = XkInitiator::start(p.b.key(), p.rng);
  ASSERT_TRUE(i);
  const auto r = XkResponder::read_msg1(p.b, i->msg1(), epoch(2), p.rng);
  ASSERT_TRUE(r);
  for (std::size_t n = 0; n < 100; ++n)
    if (n != kXkMsg1Size) {
      EXPECT_EQ(error_of(XkResponder::read_msg1(p.b, Buffer(n, 2), epoch(2), p.rng)), Drop::wrong_length)
          << n;
    }
  expect_refuses_all_damage(r->msg2(), [&](Bytes m) { return error_of(i->read_msg2(p.a, m, epoch(1))); });
  const auto finish = i->read_msg2(p.a, r->msg2(), epoch(1));
  ASSERT_TRUE(finish);
  EXPECT_EQ(i->read_msg2(p.a, r->msg2(), epoch(1))->msg3, finish->msg3)
      << "a repeated answer gives the same bytes";
  expect_refuses_all_damage(finish->msg3, [&](Bytes m) { return error_of(r->read_msg3(m)); });
  const auto keys = r->read_msg3(finish->msg3);
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->remote(), p.a.key());
  EXPECT_EQ(keys->remote_epoch, epoch(1));
  expect_partners(*keys, finish->keys);
}

TEST(Xk, TheSealedKeyMustBeAPointAndTheSendersOwn) {
  Pair p;
  const auto victim = Identity::generate(p.rng);
  auto keys = bad_points();
  keys.emplace_back(victim.compressed().bytes.begin(), victim.compressed().bytes.end());
  for (const auto& key : keys) {
    const auto ephemeral = SecretKey::generate(p.rng);
    const auto e = ephemeral.point().compressed();
    const auto r = XkResponder::read_msg1(p.b, e.view(), epoch(2), p.rng);
    ASSERT_TRUE(r);
    const auto remote_ephemeral = *Point::parse(Bytes{r->msg2()}.first(kKeySize));
    SymmetricState s{"Noise_XK_secp256k1_ChaChaPoly_SHA256", p.b.key()};
    s.mix_hash(e.view());
    s.mix_key(dh(ephemeral, *Point::lift(p.b.key())));
    s.mix_hash(Bytes{r->msg2()}.first(kKeySize));
    s.mix_key(dh(ephemeral, remote_ephemeral));
    StartupEpoch theirs;
    ASSERT_TRUE(s.open(Bytes{r->msg2()}.subspan(kKeySize), theirs.bytes.data()));
    XkMsg3 m{};
    s.seal(key, m.data());
    s.mix_key(p.a.dh(remote_ephemeral));
    s.seal(epoch(1).view(), m.data() + kSealedKeySize);
    EXPECT_EQ(error_of(r->read_msg3(m)), &key == &keys.back() ? Drop::bad_handshake : Drop::bad_point);
  }
}

}  // namespace
}  // namespace weft::crypto
