#include "config/tree.h"

#include <gtest/gtest.h>

namespace weft::config {
namespace {

auto parse(const std::string& text) { return parse_tree({"f.yaml", text}); }

std::string problem(const std::string& text) {
  const auto t = parse(text);
  return t ? "accepted" : t.error().text();
}

TEST(Tree, KnowsTheLineOfEveryKey) {
  const auto t = parse("a: 1\nb:\n  c:\n    - x\n    - { y: 2 }\n");
  ASSERT_TRUE(t);
  const Tree* b = t->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->entries[0].place.line, 3U);
  EXPECT_EQ(b->entries[0].value.items[1].place.line, 5U);
}

TEST(Tree, DuplicateKeysAreRefusedWithTheirLine) {
  EXPECT_EQ(problem("a: 1\nb: 2\na: 3\n"), "f.yaml:3: error: key written twice: a");
  EXPECT_NE(problem("x: { a: 1, a: 2 }\n"), "accepted");
}

TEST(Tree, BadYamlNamesFileAndLine) {
  EXPECT_EQ(problem("a: 1\n\tb: 2\n").rfind("f.yaml:2: error: not valid YAML", 0), 0U)
      << problem("a: 1\n\tb: 2\n");
  EXPECT_EQ(problem("a: [1, 2\nb: 3\n").rfind("f.yaml:", 0), 0U);
  EXPECT_EQ(problem("a: 1\nb: \"open\nc: 3\n"), "f.yaml:2: error: not valid YAML: a quote is not closed");
  EXPECT_NE(problem("a: *nobody\n"), "accepted");
}

TEST(Tree, BytesThatAreNoTextAreRefused) {
  EXPECT_EQ(problem(std::string("a: 1\nb: \0x\n", 11)),
            "f.yaml:2: error: not text: a control character, or not UTF-8");
  EXPECT_NE(problem("a: \xC3\x28\n"), "accepted");
  EXPECT_NE(problem("\x7F"
                    "ELF"),
            "accepted");
  EXPECT_EQ(problem("a: \xC3\xA9\r\n"), "accepted");
}

TEST(Tree, SizeAndDepthAreBounded) {
  EXPECT_EQ(problem(std::string(kMaxText + 1, ' ')), "f.yaml: error: larger than 1 MiB");
  EXPECT_NE(problem(std::string(kMaxText, ' ')), "f.yaml: error: larger than 1 MiB");
  EXPECT_NE(problem(std::string(40, '[') + std::string(40, ']')), "accepted");
  EXPECT_NE(problem(std::string(200000, '[')), "accepted");
  EXPECT_NE(problem(std::string(200000, '{')), "accepted");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_NE(problem(deep), "accepted");
  EXPECT_EQ(problem(std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']')), "accepted");
}

TEST(Tree, AliasBombsAreRefused) {
  std::string wide = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string p = std::to_string(i - 1), n = std::to_string(i);
    wide += "a" + n + ": &a" + n + " [*a" + p + ", *a" + p + ", *a" + p + ", *a" + p + ", *a" + p + ", *a" +
            p + "]\n";
  }
  EXPECT_NE(problem(wide), "accepted");
  std::string fat = "a: &a \"" + std::string(200000, 'x') + "\"\nb: [";
  for (int i = 0; i < 1000; ++i) fat += "*a, ";
  EXPECT_NE(problem(fat + "]\n"), "accepted") << "few values, but two hundred megabytes";
  std::string tall = "a0: &a0 [[[[[[[[x]]]]]]]]\n";
  for (int i = 1; i < 10; ++i)
    tall +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [[[[*a" + std::to_string(i - 1) + "]]]]\n";
  EXPECT_NE(problem(tall), "accepted") << "each line is flat, the whole is not";
  EXPECT_NE(problem("a: &a [*a]\n"), "accepted");
}

TEST(Tree, AliasesAndMergeKeysMeanWhatTheySay) {
  const auto t =
      parse("base: &b { x: 1, y: 2 }\nmore: &m { y: 5, z: 6 }\none: *b\ntwo: { <<: [*b, *m], x: 9 }\n");
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_EQ(t->find("one")->find("y")->text, "2");
  EXPECT_EQ(t->find("two")->find("x")->text, "9") << "own keys win";
  EXPECT_EQ(t->find("two")->find("y")->text, "2") << "then the earlier source";
  EXPECT_EQ(t->find("two")->find("z")->text, "6");
  EXPECT_EQ(t->find("two")->find("<<"), nullptr);
  EXPECT_NE(problem("a: { <<: 3 }\n"), "accepted");
}

TEST(Tree, OnlyOneDocumentAndOnlyPlainKeys) {
  EXPECT_NE(problem("a: 1\n---\nb: 2\n"), "accepted");
  EXPECT_EQ(problem("---\na: 1\n...\n"), "accepted");
  EXPECT_NE(problem("? [a, b]\n: 1\n"), "accepted");
  EXPECT_NE(problem("{ {a: 1}: 2 }\n"), "accepted");
}

TEST(EditDistance, CountsChangesAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("bind_adr", "bind_addr"), 1U);
  EXPECT_EQ(edit_distance("alais", "alias"), 1U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
  EXPECT_EQ(nearest_of("zzzzzz", {"alias", "npub"}), "");
  EXPECT_EQ(nearest_of("npbu", {"alias", "npub"}), "npub");
}

}  // namespace
}  // namespace weft::config
