#include "weft/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>

#include "io/fd.h"
#include "weft/commands.h"

namespace weft::cli {
namespace {

TEST(Client, SaysHowLongItWaitedForTheNextLine) {
  std::string dir = testing::TempDir() + "weft-XXXXXX";
  const std::string path = std::string(mkdtemp(dir.data())) + "/sock";
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size());
  // Takes connections, and never says a word.
  const io::Fd silent(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(silent.get(), 4), 0);
  const auto done = ask_following(path, "probe", {{"target", "bee"}}, 1, [](const Json&) { return true; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), "weftd did not answer within 1 s");
  std::filesystem::remove_all(dir);
}

TEST(Client, AStoppedDaemonIsNotTakenForAnUnknownPeer) {
  std::string words[] = {"weft", "-s", "/nonexistent/sock", "stats", "bee", "srtt_ms"};
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(static_cast<int>(argv.size()), argv.data()), kFailed);
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("weftd is not running"), std::string::npos) << said;
}

}  // namespace
}  // namespace weft::cli
