#include "names/hosts_edit.h"

#include <gtest/gtest.h>

#include "crypto/identity.h"
#include "names/hosts.h"

namespace weft::names {
namespace {

PublicKey key_of(std::uint64_t seed) {
  SeededRng rng(seed);
  return crypto::Identity::generate(rng).key();
}
const PublicKey kA = key_of(1), kB = key_of(2);
const std::string kNpubA = crypto::npub_of(kA), kNpubB = crypto::npub_of(kB);

TEST(HostsEdit, ANewNameIsAddedAtTheEnd) {
  EXPECT_EQ(with_host("", "box", kA), "box " + kNpubA + "\n");
  EXPECT_EQ(with_host("# mine", "box", kA), "# mine\nbox " + kNpubA + "\n") << "the last line had no end";
}

TEST(HostsEdit, AKnownNameChangesInItsPlace) {
  const std::string text = "# first\nbox " + kNpubA + "\n\n  # second\nfar " + kNpubA + "\n";
  EXPECT_EQ(with_host(text, "BOX", kB), "# first\nBOX " + kNpubB + "\n\n  # second\nfar " + kNpubA + "\n");
  EXPECT_EQ(*parse_hosts(with_host(text, "BOX", kB)).map.find("box"), kB);
}

TEST(HostsEdit, OneLinePerNameIsLeft) {
  const std::string text = "box " + kNpubA + "\nfar " + kNpubA + "\nBox junk\r\n";
  EXPECT_EQ(with_host(text, "box", kB), "far " + kNpubA + "\nbox " + kNpubB + "\r\n");
}

TEST(HostsEdit, RemovingTakesEveryLineOfTheNameAndNoComment) {
  const std::string text = "# box is old\nbox " + kNpubA + "\nboxes " + kNpubA + "\n\tBOX " + kNpubB;
  const auto out = without_host(text, "box");
  EXPECT_EQ(out.text, "# box is old\nboxes " + kNpubA + "\n");
  EXPECT_EQ(out.lines, 2U);
  EXPECT_EQ(without_host(text, "nobody").text, text);
}

}  // namespace
}  // namespace weft::names
