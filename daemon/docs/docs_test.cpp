#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "docs/pages.h"
#include "weft/commands.h"
#include "weftd/command_line.h"

namespace weft::docs {
namespace {

Command weft() {
  Command c;
  cli::with_commands([&](const CLI::App& app) { c = read(app); });
  return c;
}
Command weftd() {
  CLI::App app{"", "weftd"};
  daemon::CommandLine line;
  daemon::add_options(app, line);
  return read(app);
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string man_text(std::string s) {
  std::string out;
  for (const char c : s) out += c == '-' ? std::string("\\-") : std::string(1, c);
  return out;
}

TEST(Docs, ReadTheTreeOfCommands) {
  CLI::App app{"does things", "tool"};
  auto* add = app.add_subcommand("add", "Add one");
  std::string what, mode = "fast";
  std::vector<std::string> more;
  add->add_option("WHAT", what, "The thing")->required();
  add->add_option("MORE", more, "Others");
  add->add_option("-m,--mode", mode, "How")->check(CLI::IsMember({"fast", "slow"}))->capture_default_str();
  app.add_subcommand("secret", "Not for manuals")->group("");
  const auto c = read(app);
  ASSERT_EQ(c.commands.size(), 1U);
  const auto& a = c.commands[0];
  EXPECT_EQ(a.usage(), "tool add [OPTIONS] WHAT [MORE...]");
  ASSERT_EQ(a.arguments.size(), 2U);
  EXPECT_TRUE(a.arguments[1].many);
  const auto& m = a.options.back();
  EXPECT_EQ(m.names, (std::vector<std::string>{"-m", "--mode"}));
  EXPECT_EQ(m.choices, (std::vector<std::string>{"fast", "slow"}));
  EXPECT_EQ(m.by_default, "fast");
  EXPECT_EQ(m.value, "MODE");
}

TEST(Docs, EveryCommandAndOptionIsInEveryPage) {
  const auto c = weft();
  const auto man = man_weft(c), page = commands_page(c, weftd(), weftd());
  const auto bash = bash_completion(c), zsh = zsh_completion(c), fish = fish_completion(c);
  EXPECT_GT(all_of(c).size(), 20U);
  for (const Command* below : all_of(c)) {
    EXPECT_TRUE(has(man, man_text(below->name()))) << below->name();
    EXPECT_TRUE(has(page, below->usage()) || below == &*all_of(c).front()) << below->name();
    EXPECT_TRUE(has(bash, "\"" + below->name() + "\"")) << below->name();
    EXPECT_TRUE(has(fish, below->name())) << below->name();
    EXPECT_TRUE(has(zsh, below->path.back())) << below->name();
    EXPECT_FALSE(below->meaning.empty()) << below->name();
    for (const auto& o : below->options)
      for (const auto& n : o.names) {
        EXPECT_TRUE(has(man, man_text(n))) << n;
        EXPECT_TRUE(has(bash, n)) << n;
        EXPECT_TRUE(has(zsh, n)) << n;
      }
  }
}

TEST(Docs, EveryKeyIsInTheReference) {
  const auto keys = config::describe();
  const auto man = man_weft_yaml(keys), page = configuration_page(keys);
  for (const auto& k : keys) {
    EXPECT_TRUE(has(man, man_text(k.key))) << k.key;
    EXPECT_TRUE(has(page, "| `" + k.key.substr(section_of(k.key).size() + 1) + "` |")) << k.key;
  }
}

TEST(Docs, ALineNeverBecomesARoffCommand) {
  Command c;
  c.path = {"tool"};
  c.meaning = ".so /etc/passwd\n'quoted";
  const auto man = man_weftd(c);
  EXPECT_FALSE(has(man, "\n.so"));
  EXPECT_FALSE(has(man, "\n'quoted"));
}

}  // namespace
}  // namespace weft::docs
