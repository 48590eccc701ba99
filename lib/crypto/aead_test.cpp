#include "crypto/aead.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/rng.h"
#include "testing/vectors/load.h"

namespace weft::crypto {
namespace {

/// One packet with room before and behind it, so that a byte written outside is found.
struct Packet {
  static constexpr std::size_t kRoom = 64;

  Packet(const AeadKey& key, std::size_t size, std::size_t aad_size, Rng& rng)
      : key_(&key), counter(rng.u64()), aad(aad_size), bytes(kRoom + size + kTagSize + kRoom), size_(size) {
    rng.fill(aad);
    rng.fill(bytes);
  }
  AeadJob job() {
    return {key_, counter, aad, bytes.data() + kRoom, size_, bytes.data() + kRoom + size_, false};
  }

  const AeadKey* key_;
  std::uint64_t counter;
  Buffer aad;
  Buffer bytes;
  std::size_t size_;
};

AeadKey some_key(Rng& rng) {
  Secret32 k;
  rng.fill(k.mut());
  return AeadKey{std::move(k)};
}

class AeadTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!aead_) GTEST_SKIP() << GetParam() << " is not to be had here";
  }
  void seal(AeadJob job) { aead_->seal({&job, 1}); }
  bool open(AeadJob job) {
    aead_->open({&job, 1});
    return job.ok;
  }

  std::unique_ptr<Aead> aead_ = make_aead(GetParam());
  std::unique_ptr<Aead> oracle_ = make_aead("sodium");
  SeededRng rng_{7};
  AeadKey key_ = some_key(rng_);
};

TEST_P(AeadTest, SealsEveryLengthAsTheOracleDoesAndOpensItAgain) {
  for (std::size_t size = 0; size <= 2000; ++size) {
    for (const std::size_t aad : {12u, 16u}) {
      Packet ours{key_, size, aad, rng_};
      const Buffer plain = ours.bytes;
      Packet theirs = ours;
      seal(ours.job());
      AeadJob job = theirs.job();
      oracle_->seal({&job, 1});
      ASSERT_EQ(ours.bytes, theirs.bytes) << size << " bytes, aad " << aad;
      ASSERT_TRUE(open(ours.job())) << size;
      const auto body = static_cast<std::ptrdiff_t>(Packet::kRoom + size);
      ASSERT_TRUE(std::equal(plain.begin(), plain.begin() + body, ours.bytes.begin())) << size;
    }
  }
}

TEST_P(AeadTest, AFailedOpenLeavesEveryByteAsItWas) {
  const AeadKey other = some_key(rng_);
  for (const std::size_t size :
       {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 255u, 256u, 511u, 1023u, 1024u, 1400u, 2000u}) {
    Packet p{key_, size, 16, rng_};
    seal(p.job());
    const auto refuses = [&](const char* what, auto change) {
      Packet q = p;
      AeadJob job = q.job();
      change(job);
      const Buffer before = q.bytes;
      EXPECT_FALSE(open(job)) << what << ", " << size;
      EXPECT_EQ(q.bytes, before) << what << ", " << size;
    };
    refuses("wrong key", [&](AeadJob& j) { j.key = &other; });
    refuses("wrong counter", [](AeadJob& j) { ++j.counter; });
    refuses("changed aad", [](AeadJob& j) { const_cast<std::uint8_t*>(j.aad.data())[3] ^= 1; });
    refuses("short aad", [](AeadJob& j) { j.aad = j.aad.first(12); });
    for (std::size_t i = 0; i < kTagSize; ++i) refuses("changed tag", [i](AeadJob& j) { j.tag[i] ^= 0x80; });
    for (std::size_t i = 0; i < size; i += 1 + size / 7)
      refuses("changed byte", [i](AeadJob& j) { j.data[i] ^= 1; });
    if (size > 0) refuses("cut", [](AeadJob& j) { --j.size; });
    Packet q = p;
    EXPECT_TRUE(open(q.job())) << "and the right key still opens it";
  }
}

TEST_P(AeadTest, ABatchMayMixKeysSizesAndForgeries) {
  const AeadKey keys[] = {some_key(rng_), some_key(rng_), some_key(rng_)};
  for (const std::size_t count : {0u, 1u, 2u, 31u, 64u, 300u}) {
    std::deque<Packet> packets;
    std::vector<AeadJob> jobs;
    std::vector<Buffer> plain;
    for (std::size_t i = 0; i < count; ++i) {
      packets.emplace_back(keys[rng_.below(3)], rng_.below(1500), rng_.below(2) == 0 ? 12 : 16, rng_);
      plain.emplace_back(packets.back().job().data, packets.back().job().data + packets.back().size_);
      jobs.push_back(packets.back().job());
    }
    aead_->seal(jobs);
    std::vector<Buffer> sealed;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(jobs[i].ok);
      if (i % 3 == 1) jobs[i].tag[0] ^= 1;
      sealed.push_back(packets[i].bytes);
    }
    aead_->open(jobs);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(jobs[i].ok, i % 3 != 1);
      if (jobs[i].ok) EXPECT_TRUE(equal({jobs[i].data, jobs[i].size}, plain[i])) << i << " of " << count;
      else EXPECT_EQ(packets[i].bytes, sealed[i]) << i << " of " << count;
    }
  }
}

TEST_P(AeadTest, SealsTheKnownLinkFrames) {
  const auto all = vectors::load("noise.json");
  int seen = 0;
  for (const auto& hs : all["handshakes"]) {
    if (!hs.contains("fmp")) continue;
    for (const auto& v : hs["fmp"]["established"]) {
      const AeadKey key{std::span<const std::uint8_t, 32>{vectors::bytes(v["key"])}};
      Buffer frame = vectors::bytes(v["header_aad"]);
      Writer w{frame};
      w.le<std::uint32_t>(v["timestamp_ms"].get<std::uint32_t>()).raw(vectors::bytes(v["link_message"]));
      const std::size_t size = frame.size() - 16;
      frame.resize(frame.size() + kTagSize);
      const auto counter = std::stoull(v["counter"].get<std::string>());
      const AeadJob job{
          &key, counter, Bytes{frame}.first(16), frame.data() + 16, size, frame.data() + 16 + size, false};
      seal(job);
      EXPECT_EQ(to_hex(frame), v["frame"]);
      EXPECT_EQ(frame.size(), v["frame_len"].get<std::size_t>());
      EXPECT_TRUE(open(job));
      ++seen;
    }
  }
  EXPECT_GT(seen, 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, AeadTest,
                         testing::Values("sodium", "ipsec-mb avx512", "ipsec-mb avx2", "ipsec-mb sse",
                                         "auto"),
                         [](const auto& i) {
                           std::string name = i.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == ' ' || c == '-'; }, '_');
                           return name;
                         });

TEST(Aead, IsCalledByTheNameThatOpensIt) {
  for (const auto* which : {"ipsec-mb", "ipsec-mb avx512", "ipsec-mb avx2", "ipsec-mb sse"})
    if (const auto a = make_aead(which)) {
      EXPECT_TRUE(a->name().starts_with(which)) << a->name();
    }
  EXPECT_NE(make_aead(), nullptr);
}

TEST(Aead, AnUnknownBackEndIsNull) {
  for (const auto* which : {"rot13", "", "ipsec-mb ", "ipsec-mb x", "ipsec-mbx"})
    EXPECT_EQ(make_aead(which), nullptr);
}

TEST(AeadOnce, GivesTheSameBytesAsABatchAndRefusesWithoutWriting) {
  SeededRng rng{9};
  Secret32 key;
  rng.fill(key.mut());
  const Buffer plain{1, 2, 3, 4, 5};
  Buffer sealed(plain.size() + kTagSize);
  seal_once(key, 3, {}, plain, sealed.data());
  Buffer batch = plain;
  batch.resize(sealed.size());
  const AeadKey same{key.clone()};
  AeadJob job{&same, 3, {}, batch.data(), plain.size(), batch.data() + plain.size(), false};
  make_aead("auto")->seal({&job, 1});
  EXPECT_EQ(batch, sealed);

  Buffer out(plain.size(), 9);
  EXPECT_TRUE(open_once(key, 3, {}, sealed, out.data()));
  EXPECT_EQ(out, plain);
  out.assign(plain.size(), 9);
  EXPECT_FALSE(open_once(key, 4, {}, sealed, out.data()));
  EXPECT_FALSE(open_once(key, 3, {}, Bytes{sealed}.first(kTagSize - 1), out.data()));
  EXPECT_EQ(out, Buffer(plain.size(), 9));
}

}  // namespace
}  // namespace weft::crypto
