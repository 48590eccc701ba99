#include "acl/acl.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/identity.h"

namespace weft::acl {
namespace {

PublicKey key_of(std::uint64_t seed) {
  SeededRng rng(seed);
  return crypto::Identity::generate(rng).key();
}
const PublicKey kA = key_of(1), kB = key_of(2), kC = key_of(3);
const std::string kNpubA = crypto::npub_of(kA), kNpubB = crypto::npub_of(kB);

std::optional<PublicKey> names(std::string_view name) {
  if (name == "alice") return kA;
  if (name == "bob") return kB;
  return std::nullopt;
}
Acl make(std::string_view allow, std::string_view deny) { return Acl::parse(allow, deny, names); }

struct Mode {
  const char *allow, *deny, *mode, *unlisted;
  bool a, b, c;
};

TEST(Acl, DecidesInTheOrderAllowDenyAllow) {
  const Mode modes[] = {
      {"", "", "default_open", "allow", true, true, true},
      {"alice", "", "allowlist", "allow", true, true, true},  // an allow list alone restricts nothing
      {"", "bob", "denylist", "allow", true, false, true},
      {"alice", "bob", "allow_then_deny", "allow", true, false, true},
      {"alice", "alice\nbob", "allow_then_deny", "allow", true, false, true},  // allow comes first
      {"alice", "ALL", "allow_then_deny_all", "deny", true, false, false},
      {"", "all", "deny_all", "deny", false, false, false},
      {"All", "ALL", "allow_all", "allow", true, true, true},
      {"ALL", "bob", "allow_all", "allow", true, true, true},
  };
  for (const auto& m : modes) {
    const Acl acl = make(m.allow, m.deny);
    EXPECT_EQ(acl.effective_mode(), m.mode);
    EXPECT_EQ(acl.default_decision(), m.unlisted) << m.mode;
    EXPECT_EQ(acl.check(kA).allowed, m.a) << m.mode;
    EXPECT_EQ(acl.check(kB).allowed, m.b) << m.mode;
    EXPECT_EQ(acl.check(kC).allowed, m.c) << m.mode;
    EXPECT_EQ(acl.enforcement_active(), std::string_view(m.mode) != "default_open");
  }
}

TEST(Acl, TheVerdictNamesTheLineThatDecided) {
  const Acl acl = make("# friends\nalice # since spring\n", "\n" + kNpubB + "\nALL\n");
  EXPECT_EQ(acl.check(kA).text(), "allowed by peers.allow line 2 (alice)");
  EXPECT_EQ(acl.check(kB).text(), "denied by peers.deny line 2 (" + kNpubB + ")")
      << "the line that names it, not ALL";
  EXPECT_EQ(acl.check(kC).text(), "denied by peers.deny line 3 (ALL)");
  EXPECT_EQ(make("", "").check(kC).text(), "allowed: in neither list");
}

TEST(Acl, ShowsTokensAsWrittenAndWhatTheyMean) {
  const Acl acl = make("bob\nalice\nalice\n" + kNpubA + "\nALL\n", "");
  EXPECT_EQ(acl.allow_file_entries(), (std::vector<std::string>{"alice", "bob", kNpubA}));
  std::vector<std::string> npubs{kNpubA, kNpubB};
  std::ranges::sort(npubs);
  EXPECT_EQ(acl.allow_entries(), npubs);
  EXPECT_TRUE(acl.allow_all());
  EXPECT_FALSE(acl.deny_all());
}

TEST(Acl, BadLinesAreSkippedWithAWarning) {
  const Acl acl = make("alice bob\nnobody\n" + std::string(5000, 'x') + "\nnpub1junk\nalice\n", "carol\n");
  ASSERT_EQ(acl.warnings().size(), 5U);
  EXPECT_EQ(acl.warnings()[1].line, 2U);
  EXPECT_EQ(acl.warnings()[4].file, "peers.deny");
  EXPECT_TRUE(acl.check(kC).allowed) << "a list of nothing but mistakes denies nobody";
  EXPECT_EQ(acl.allow_entries().size(), 1U);
}

TEST(Acl, AHalfWrittenFileIsToldFromOneWithAnUnknownName) {
  EXPECT_FALSE(first_malformed("alice\nnobody # yet\n", "ALL\n" + kNpubA + "\n"));
  EXPECT_EQ(first_malformed("", "ALL\n" + kNpubA.substr(0, 40)).value().line, 2U);
  EXPECT_EQ(first_malformed("alice\n", "alice bob\n").value().file, "peers.deny");
  EXPECT_EQ(first_malformed("al\xFF\n", "").value().line, 1U);
  EXPECT_TRUE(first_malformed(std::string(64, 'x'), ""));
}

TEST(Acl, CrlfTabsAndByteOrderMarkAreTrimmed) {
  const Acl acl = make(
      "\xEF\xBB\xBF"
      "alice\r\n\t \r\n",
      "\tALL\t# strict\r\n");
  EXPECT_TRUE(acl.warnings().empty());
  EXPECT_EQ(acl.effective_mode(), "allow_then_deny_all");
}

TEST(Acl, JunkIsBounded) {
  std::string junk;
  for (int i = 0; i < 10000; ++i) junk += "\x01\xFF\n";
  EXPECT_LE(make(junk, junk).warnings().size(), 50U);
}

}  // namespace
}  // namespace weft::acl
