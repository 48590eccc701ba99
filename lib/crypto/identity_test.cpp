#include "crypto/identity.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "crypto/bech32.h"
#include "testing/vectors/load.h"

namespace weft::crypto {
namespace {

static_assert(!std::is_copy_constructible_v<Identity> && !std::is_copy_constructible_v<SecretKey> &&
              !std::is_copy_constructible_v<Secret32> && std::is_nothrow_move_constructible_v<Secret32>);

template <std::size_t N>
std::array<std::uint8_t, N> hex(std::string_view text) {
  std::array<std::uint8_t, N> out{};
  EXPECT_TRUE(from_hex(text, out)) << text;
  return out;
}

TEST(Identity, EveryNameFollowsFromTheSecret) {
  const auto v = vectors::load("noise.json");
  ASSERT_FALSE(v["identities"].empty());
  for (const auto& row : v["identities"]) {
    const auto text = row["secret_hex"].get<std::string>();
    const auto id = Identity::parse_secret(text);
    ASSERT_TRUE(id) << text << ": " << id.error();
    EXPECT_EQ(id->nsec(), row["nsec"]);
    EXPECT_EQ(id->compressed().hex(), row["pubkey_compressed"]);
    EXPECT_EQ(id->key().hex(), row["pubkey_xonly"]);
    EXPECT_EQ(id->npub(), row["npub"]);
    EXPECT_EQ(id->npub().size(), 63u);
    EXPECT_EQ(id->addr().hex(), row["node_addr"]);
    EXPECT_EQ(id->mesh_addr().hex(), row["fips_address_bytes"]);
    EXPECT_TRUE(is_mesh_addr(id->mesh_addr().view()));
    const auto again = Identity::parse_secret(id->nsec());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->key(), id->key());
    const auto key = parse_npub(id->npub());
    ASSERT_TRUE(key);
    EXPECT_EQ(*key, id->key());
    EXPECT_EQ(node_addr_of(*key), id->addr());
  }
}

TEST(Identity, RefusesTextThatIsNoSecret) {
  for (const auto* text :
       {"", "zzzz", "00112233445566778899aabbccddeeff",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",  // the group order
        "npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57m",
        "nsec1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5z5tpwxqergd3c8g7rusqpqcc2z"})
    EXPECT_FALSE(Identity::parse_secret(text)) << text;
  EXPECT_TRUE(Identity::parse_secret("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140"));
}

TEST(Identity, KnowsItself) {
  SeededRng rng{1};
  const auto a = Identity::generate(rng);
  const auto b = Identity::generate(rng);
  EXPECT_TRUE(a.is_me(a.clone().key()));
  EXPECT_FALSE(a.is_me(b.key()));
}

TEST(Npub, RefusesWhatIsNoKey) {
  // Another prefix, a damaged character, mixed case, cut, empty, and a key of 16 bytes.
  for (const std::string& text :
       {std::string{"nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"},
        std::string{"npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57q"},
        std::string{"npub1Sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57m"},
        std::string{"npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57"}, std::string{"npub1"},
        std::string{}, bech32_encode("npub", Buffer(16, 7)), bech32_encode("npub", Buffer(33, 2))})
    EXPECT_FALSE(parse_npub(text)) << text;
}

TEST(Npub, RefusesAnXThatIsOffTheCurve) {
  PublicKey x;
  x.bytes.fill(0xff);  // not below p
  EXPECT_FALSE(parse_npub(npub_of(x)));
  x.bytes.fill(0);  // 0 + 7 is no square
  EXPECT_FALSE(parse_npub(npub_of(x)));
}

TEST(Npub, TakesUpperCase) {
  EXPECT_TRUE(parse_npub("NPUB1SJLH2C3X9W7KJSQG2AY080N2LFF2UVT325VPAN33KE34RN8L5JCQAWH57M"));
}

TEST(Npub, ShortFormShowsBothEnds) {
  const auto key = parse_npub("npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57m");
  ASSERT_TRUE(key);
  EXPECT_EQ(short_npub_of(*key), "npub1sjlh...h57m");
}

TEST(Bech32, RefusesBech32mAndLongPadding) {
  std::array<std::uint8_t, 0> none{};
  EXPECT_TRUE(bech32_decode("a", "A12UEL5L", none)) << "BIP 173";
  EXPECT_FALSE(bech32_decode("a", "A1LQFN3A", none)) << "BIP 350: the other checksum";
  EXPECT_FALSE(bech32_decode("a", "a12uel5", none));
  EXPECT_FALSE(bech32_decode("", "", none));
  EXPECT_FALSE(bech32_decode("a", std::string(95, 'q'), none));
}

TEST(Bech32, FindsAnySingleWrongCharacter) {
  const std::string good = "npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57m";
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string text = good;
    text[i] = text[i] == 'q' ? 'p' : 'q';
    EXPECT_FALSE(parse_npub(text)) << text;
  }
}

TEST(Bech32, LeavesTheOutputAloneOnFailure) {
  std::array<std::uint8_t, 32> out{};
  out.fill(9);
  EXPECT_FALSE(bech32_decode("npub", "npub1sjlh2c3x9w7kjsqg2ay080n2lff2uvt325vpan33ke34rn8l5jcqawh57q", out));
  EXPECT_TRUE(std::ranges::all_of(out, [](auto b) { return b == 9; }));
}

TEST(Point, ParsesOnlyCompressedPointsOfTheCurve) {
  auto good = hex<33>("0284bf7562262bbd6940085748f3be6afa52ae317155181ece31b66351ccffa4b0");
  const auto p = Point::parse(good);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->compressed().bytes, good);
  for (int prefix = 0; prefix < 256; ++prefix) {
    good[0] = static_cast<std::uint8_t>(prefix);
    EXPECT_EQ(Point::parse(good).has_value(), prefix == 2 || prefix == 3) << prefix;
  }
  Buffer any(70, 0);
  for (std::size_t n = 0; n < any.size(); ++n) EXPECT_FALSE(Point::parse(Bytes{any}.first(n))) << n;
  EXPECT_FALSE(Point::parse(hex<65>(  // the uncompressed generator
      "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17"
      "b448a685"
      "54199c47d08ffb10d4b8")));
}

TEST(Dh, IgnoresTheParityOfThePoint) {
  SeededRng rng{2};
  const auto a = Identity::generate(rng);
  const auto b = Identity::generate(rng);
  auto mirrored = b.compressed();
  mirrored.bytes[0] ^= 1;
  EXPECT_EQ(a.dh(*Point::parse(b.compressed().view())), a.dh(*Point::parse(mirrored.view())));
  EXPECT_EQ(a.dh(*Point::lift(b.key())), b.dh(*Point::lift(a.key())));
}

TEST(Signature, IsBip340) {
  const auto key =
      SecretKey::from(hex<32>("0000000000000000000000000000000000000000000000000000000000000003"));
  ASSERT_TRUE(key);
  struct : Rng {
    void fill(MutBytes out) override { std::ranges::fill(out, std::uint8_t{0}); }
  } zeros;
  const Digest digest{};
  const auto sig = sign(*key, digest, zeros);
  EXPECT_EQ(to_hex(sig),  // BIP 340, test vector 0
            "e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca8215"
            "25f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0");
  EXPECT_TRUE(verify(key->point().x(), digest, sig));
}

TEST(Signature, FailsWhenAnythingChanges) {
  SeededRng rng{3};
  const auto id = Identity::generate(rng);
  const Digest digest = sha256(as_bytes("announce"));
  auto sig = id.sign(digest, rng);
  EXPECT_TRUE(verify(id.key(), digest, sig));
  EXPECT_FALSE(verify(id.key(), sha256(as_bytes("announcf")), sig));
  EXPECT_FALSE(verify(Identity::generate(rng).key(), digest, sig));
  PublicKey off;
  off.bytes.fill(0xff);
  EXPECT_FALSE(verify(off, digest, sig));
  sig[40] ^= 1;
  EXPECT_FALSE(verify(id.key(), digest, sig));
}

TEST(Hash, HkdfIsRfc5869) {
  const Buffer input(22, 0x0b);
  const std::array<std::uint8_t, 32> no_salt{};  // HMAC pads an absent salt with zeros
  const auto [a, b] = hkdf_pair(no_salt, input);
  EXPECT_EQ(to_hex(a.view()) + to_hex(b.view().first(10)),  // case 3
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Hash, ConcatenatesItsParts) {
  EXPECT_EQ(to_hex(sha256(as_bytes("a"), as_bytes("bc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256({}), sha256({}, {}));
}

TEST(Secret, MovingLeavesNothingBehind) {
  Secret32 a{sha256(as_bytes("secret"))};
  const Secret32 copy = a.clone();
  const Secret32 b = std::move(a);
  EXPECT_TRUE(b == copy);
  EXPECT_TRUE(a == Secret32{});  // NOLINT(bugprone-use-after-move): that is the question
}

}  // namespace
}  // namespace weft::crypto
