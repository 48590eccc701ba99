#include "weft/config_reference.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

TEST(ConfigReference, HasEveryKeyOnce) {
  const auto all = config::describe();
  EXPECT_GT(all.size(), 150U);
  const auto text = config_reference(matching_keys(all, ""), {});
  for (const auto& k : all) EXPECT_NE(text.find(k.key + "  ("), std::string::npos) << k.key;
}

TEST(ConfigReference, CanBeAskedForASectionOrAName) {
  const auto all = config::describe();
  for (const auto& k : matching_keys(all, "node.limits"))
    EXPECT_TRUE(k.key.starts_with("node.limits.")) << k.key;
  const auto mtu = matching_keys(all, "mtu");
  EXPECT_GE(mtu.size(), 4U);
  for (const auto& k : mtu) EXPECT_TRUE(k.key.ends_with(".mtu")) << k.key;
  EXPECT_TRUE(matching_keys(all, "no-such-key").empty());
}

TEST(ConfigReference, SaysWhatMustBeWritten) {
  const auto text = config_reference(matching_keys(config::describe(), "peers[].npub"), {});
  EXPECT_NE(text.find("(required)"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::cli
