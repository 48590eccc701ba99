#include "names/hosts.h"

#include <gtest/gtest.h>

#include "crypto/identity.h"

namespace weft::names {
namespace {

PublicKey key_of(std::uint64_t seed) {
  SeededRng rng(seed);
  return crypto::Identity::generate(rng).key();
}
const PublicKey kA = key_of(1), kB = key_of(2), kC = key_of(3);
const std::string kNpubA = crypto::npub_of(kA), kNpubB = crypto::npub_of(kB), kNpubC = crypto::npub_of(kC);

TEST(Hosts, ReadsNamesAndFindsThemInAnyCase) {
  const auto f = parse_hosts("# mine\n\n  Gateway \t " + kNpubA + "\nb " + kNpubB + "\n");
  EXPECT_TRUE(f.warnings.empty());
  ASSERT_NE(f.map.find("gateWAY"), nullptr);
  EXPECT_EQ(*f.map.find("gateWAY"), kA);
  EXPECT_EQ(*f.map.name_of(crypto::node_addr_of(kA)), "gateway");
  EXPECT_EQ(f.map.find("c"), nullptr);
}

TEST(Hosts, CrlfTabsAndByteOrderMarkAreTrimmed) {
  const auto f =
      parse_hosts("\xEF\xBB\xBF" + std::string("a\t") + kNpubA + "\r\n \r\n# c\r\nb " + kNpubB + " \t\r\n");
  EXPECT_TRUE(f.warnings.empty());
  EXPECT_EQ(f.map.size(), 2U);
}

TEST(Hosts, BadLinesAreSkippedWithAWarningAndTheOthersStay) {
  const auto f =
      parse_hosts("a " + kNpubA + "\nonly\nb " + kNpubB + " # trailing\n-b " + kNpubB + "\nnpub1x " + kNpubB +
                  "\nc npub1zzz\nd " + std::string(64, 'a') + "\n" + std::string(64, 'x') + " " + kNpubB +
                  "\n" + std::string(100000, 'y') + "\nlast " + kNpubC + "\n");
  ASSERT_EQ(f.warnings.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(f.warnings[i].line, i + 2);
  EXPECT_EQ(f.map.size(), 2U);
  EXPECT_NE(f.map.find("last"), nullptr);
}

TEST(Hosts, TextThatIsNotUtf8CountsForNothing) {
  for (const std::string& junk :
       std::vector<std::string>{"\xFF\xFE", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    const auto f = parse_hosts("a " + kNpubA + "\n" + junk);
    EXPECT_EQ(f.map.size(), 0U);
    EXPECT_EQ(f.warnings.size(), 1U);
  }
  EXPECT_EQ(parse_hosts("# Zürich\na " + kNpubA + "\n").map.size(), 1U);
}

TEST(Hosts, AHugeFileGivesABoundedNumberOfWarnings) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "bad line here\n";
  const auto f = parse_hosts(text + "a " + kNpubA);
  EXPECT_EQ(f.map.size(), 1U);
  EXPECT_EQ(f.warnings.size(), HostsFile::kMaxWarnings);
}

TEST(Hosts, TheLastDuplicateWinsAndItsFormerNodeKeepsItsOtherNames) {
  const auto f = parse_hosts("x " + kNpubA + "\ny " + kNpubA + "\nY " + kNpubB + "\n");
  EXPECT_EQ(*f.map.find("y"), kB);
  EXPECT_EQ(*f.map.name_of(crypto::node_addr_of(kA)), "x");
  EXPECT_EQ(*f.map.name_of(crypto::node_addr_of(kB)), "y");
}

TEST(Hosts, TheFileOverridesAliases) {
  HostMap map;
  EXPECT_TRUE(map.put("relay", kA));
  EXPECT_FALSE(map.put("not a name", kA));
  map.put_all(parse_hosts("relay " + kNpubB + "\nrelay-b " + kNpubB + "\n").map);
  EXPECT_EQ(*map.find("relay"), kB);
  EXPECT_EQ(map.name_of(crypto::node_addr_of(kA)), nullptr);
  EXPECT_EQ(*map.name_of(crypto::node_addr_of(kB)), "relay-b");
}

TEST(Hosts, ANameIsOneDnsLabel) {
  for (const auto* good : {"a", "A-1", "0", "npub"}) EXPECT_TRUE(valid_host_name(good)) << good;
  EXPECT_TRUE(valid_host_name(std::string(63, 'a')));
  for (const auto* wrong : {"", "-a", "a-", "a.b", "a_b", "ü", "npub1", "NPUB1x"})
    EXPECT_FALSE(valid_host_name(wrong)) << wrong;
  EXPECT_FALSE(valid_host_name(std::string(64, 'a')));
}

TEST(DisplayName, GoesFromTheBestNameToTheWorst) {
  const NodeAddr addr = crypto::node_addr_of(kA);
  HostMap none, map;
  map.put("box", kA);
  EXPECT_EQ(display_name(map, "alias", addr, &kA), "box");
  EXPECT_EQ(display_name(none, "My Relay", addr, &kA), "My Relay");
  EXPECT_EQ(display_name(none, "", addr, &kA), crypto::short_npub_of(kA));
  EXPECT_EQ(display_name(none, "", addr, nullptr), addr.hex().substr(0, 8) + "...");
}

}  // namespace
}  // namespace weft::names
