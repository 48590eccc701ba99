#include "weft/reply.h"

#include <gtest/gtest.h>

namespace weft::cli::reply {
namespace {

TEST(Reply, ReadsMembersOfMembers) {
  const Json j = {{"a", {{"b", {{"c", 3}}}}}, {"l", {1, 2}}};
  EXPECT_EQ(at(j, "a", "b", "c"), Json(3));
  EXPECT_EQ(&at(j, "a"), &j["a"]) << "nothing is copied";
  EXPECT_EQ(list(j, "l").size(), 2U);
  EXPECT_EQ(word({{"name", "a\tb"}}, "name"), "a\tb") << "as it came";
  EXPECT_EQ(text("a\tb"), "a?b");
  EXPECT_EQ(text(1.5), "1.5");
  EXPECT_EQ(text(true), "yes");
  EXPECT_EQ(integer(-7), -7);
  EXPECT_EQ(num(7), 7);
  EXPECT_EQ(values({1, nullptr, "x", 2.5}), (Values{1.0, std::nullopt, std::nullopt, 2.5}));
}

TEST(Reply, WhatIsMissingOrOddHasAValueToo) {
  const Json odd[] = {Json(), Json(3), Json("x"), Json::array({1}), Json::object()};
  for (const Json& j : odd) {
    EXPECT_TRUE(at(j, "a").is_null());
    EXPECT_TRUE(at(j, "a", "b", "c").is_null());
    EXPECT_TRUE(list(j, "a").empty());
    EXPECT_EQ(word(j, "a"), "");
  }
  EXPECT_EQ(word({{"a", 3}}, "a"), "");
  for (const Json& j : {Json(), Json::array(), Json::object()}) EXPECT_EQ(text(j), "-");
  EXPECT_EQ(num("x"), 0);
  EXPECT_EQ(num("x", 600), 600);
  EXPECT_EQ(integer(1.5), 0);
  EXPECT_FALSE(truth(1));
  EXPECT_TRUE(values(Json::object({{"a", 1}})).empty());
}

}  // namespace
}  // namespace weft::cli::reply
