#include "firewall/kept.h"

#include <gtest/gtest.h>

#include "crypto/identity.h"

namespace weft::firewall {
namespace {

PublicKey key_of(std::uint64_t seed) {
  SeededRng rng(seed);
  return crypto::Identity::generate(rng).key();
}
const PublicKey kA = key_of(1), kB = key_of(2);

Entry entry(const char* port, std::optional<PublicKey> from = std::nullopt,
            std::optional<std::int64_t> until = std::nullopt) {
  return {true, *config::parse_port_rule(port), from, until};
}

TEST(Kept, WhatIsWrittenIsReadBack) {
  Kept k;
  ASSERT_TRUE(k.allow(entry("tcp/22")));
  ASSERT_TRUE(k.allow(entry("udp/5000-5010", kA, 1'764'526'284)));
  ASSERT_TRUE(k.deny(entry("tcp/80", kB), true));
  std::vector<Kept::Complaint> complaints;
  EXPECT_EQ(Kept::parse(k.text(), &complaints), k) << k.text();
  EXPECT_TRUE(complaints.empty());
}

TEST(Kept, AllowingAgainReplacesAndTakesBackRefusalsItCovers) {
  Kept k;
  ASSERT_TRUE(k.allow(entry("tcp/22", std::nullopt, 100)));
  ASSERT_TRUE(k.allow(entry("tcp/22")));
  ASSERT_EQ(k.entries().size(), 1U);
  EXPECT_FALSE(k.entries()[0].until) << "for good now";
  ASSERT_TRUE(k.deny(entry("tcp/22", kA), true));
  ASSERT_TRUE(k.allow(entry("tcp/22", kB)));
  EXPECT_EQ(k.entries().size(), 3U) << "letting one in does not let another in";
  ASSERT_TRUE(k.allow(entry("tcp/20-30")));
  for (const auto& e : k.entries()) EXPECT_TRUE(e.allow) << k.text();
}

TEST(Kept, DenyingTakesBackWhatItCovers) {
  Kept k;
  ASSERT_TRUE(k.allow(entry("tcp/22", kA)));
  ASSERT_TRUE(k.allow(entry("tcp/22", kB)));
  ASSERT_TRUE(k.allow(entry("tcp/1-100")));
  EXPECT_EQ(k.deny(entry("tcp/22", kA), false).value(), 1U);
  EXPECT_EQ(k.deny(entry("tcp/22"), false).value(), 1U);
  EXPECT_EQ(k.entries().size(), 1U) << "a wider opening is not covered";
  EXPECT_EQ(k.deny(entry("tcp/22"), true).value(), 0U);
  EXPECT_FALSE(k.entries().back().allow);
}

TEST(Kept, EndedOpeningsGo) {
  Kept k;
  ASSERT_TRUE(k.allow(entry("tcp/22", std::nullopt, 100)));
  EXPECT_FALSE(k.expire(99));
  EXPECT_TRUE(k.expire(100));
  EXPECT_TRUE(k.entries().empty());
}

TEST(Kept, BadLinesAreLeftOutAndNamed) {
  std::vector<Kept::Complaint> complaints;
  const auto k = Kept::parse(
      "# hello\n\nallow tcp/22\r\nallow tcp/22 from\npermit tcp/1\nallow ssh\nallow tcp/1 from npub1x\n"
      "allow tcp/1 until soon\nallow tcp/1 for ever\ndeny udp/53\n",
      &complaints);
  EXPECT_EQ(k.entries().size(), 2U);
  ASSERT_EQ(complaints.size(), 6U);
  EXPECT_EQ(complaints[0].line, 4U);
  EXPECT_EQ(complaints[5].line, 9U);
}

TEST(Kept, IsBounded) {
  Kept k;
  for (std::size_t i = 1; i <= kMostKept; ++i)
    ASSERT_TRUE(k.allow(entry(("tcp/" + std::to_string(i)).c_str()))) << i;
  EXPECT_FALSE(k.allow(entry("udp/1")));
  EXPECT_FALSE(k.deny(entry("udp/1"), true));
  EXPECT_TRUE(k.allow(entry("tcp/7"))) << "one that is there already";
  std::string text, junk;
  for (int i = 0; i < 5000; ++i)
    text += "allow tcp/" + std::to_string(1 + i % 60000) + "\n", junk += "\x01\xff x\n";
  EXPECT_EQ(Kept::parse(text).entries().size(), kMostKept);
  std::vector<Kept::Complaint> complaints;
  EXPECT_TRUE(Kept::parse(junk, &complaints).entries().empty());
  EXPECT_LE(complaints.size(), 20U);
}

TEST(Span, HasANumberAndAUnit) {
  EXPECT_EQ(parse_span("90s"), 90);
  EXPECT_EQ(parse_span("30m"), 1800);
  EXPECT_EQ(parse_span("1h"), 3600);
  EXPECT_EQ(parse_span("2d"), 172800);
  for (const char* bad : {"", "h", "10", "0h", "-1h", "1w", "1 h", "99999999999999h", "4000d", "1hh"})
    EXPECT_FALSE(parse_span(bad)) << bad;
}

}  // namespace
}  // namespace weft::firewall
