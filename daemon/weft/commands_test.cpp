#include "weft/commands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::cli {
namespace {

struct Said {
  int code = 0;
  std::string error;
};
Said run_with(std::vector<std::string> words) {
  std::vector<char*> argv;
  words.insert(words.begin(), "weft");
  for (auto& w : words) argv.push_back(w.data());
  testing::internal::CaptureStderr();
  const int code = run(static_cast<int>(argv.size()), argv.data());
  return {code, testing::internal::GetCapturedStderr()};
}

TEST(Commands, SayWhichWordIsNone) {
  const auto top = run_with({"--json", "-s", "/nowhere", "statsu"});
  EXPECT_EQ(top.code, 2);
  EXPECT_NE(top.error.find("weft has no command \"statsu\"; did you mean stat"), std::string::npos) << top.error;
  const auto below = run_with({"peer", "ad", "npub1"});
  EXPECT_EQ(below.code, 2);
  EXPECT_NE(below.error.find("peer has no command \"ad\"; did you mean add?"), std::string::npos) << below.error;
}

TEST(Commands, LeaveOtherMistakesToWhatIsWrongWithThem) {
  const auto said = run_with({"peer", "add"});
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(said.error.find("no command"), std::string::npos) << said.error;
}

}  // namespace
}  // namespace weft::cli
