#include "weftd/run_dir.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace weft::daemon {
namespace {

namespace fs = std::filesystem;

class RunDir : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "weft-XXXXXX";
    root_ = mkdtemp(pattern.data());
    path_ = root_ + "/run/control.sock";
  }
  void TearDown() override { fs::remove_all(root_); }
  /// A socket file whose listener is gone.
  void leave_stale() {
    fs::create_directories(root_ + "/run");
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path_.c_str(), path_.size());
    const io::Fd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }

  std::string root_, path_;
};

TEST_F(RunDir, FileAndFolderAreForTheGroupAndGoWithTheObject) {
  {
    const auto s = SocketFile::listen(path_);
    ASSERT_TRUE(s) << s.error();
    struct stat st {};
    ASSERT_EQ(stat(path_.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777U, 0770U);
    ASSERT_EQ(stat((root_ + "/run").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777U, 0750U);
  }
  EXPECT_FALSE(fs::exists(root_ + "/run"));
}

TEST_F(RunDir, AFolderThatWasThereKeepsItsModeAndStays) {
  fs::create_directories(root_ + "/run");
  chmod((root_ + "/run").c_str(), 0755);
  { ASSERT_TRUE(SocketFile::listen(path_)); }
  struct stat st {};
  ASSERT_EQ(stat((root_ + "/run").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0755U);
}

TEST_F(RunDir, ASocketThatNobodyListensOnIsReplaced) {
  leave_stale();
  EXPECT_TRUE(SocketFile::listen(path_));
}

TEST_F(RunDir, ALiveSocketIsLeftAlone) {
  const auto first = SocketFile::listen(path_);
  ASSERT_TRUE(first);
  const auto second = SocketFile::listen(path_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("in use"), std::string::npos);
  EXPECT_NE(second.error().find("node.control.socket_path"), std::string::npos);
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(RunDir, AnotherSocketsTroubleNamesItsOwnKey) {
  const auto first = SocketFile::listen(path_);
  ASSERT_TRUE(first);
  const auto second = SocketFile::listen(path_, "metrics socket", "weft.metrics.listen");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().find("metrics socket "), 0U) << second.error();
  EXPECT_NE(second.error().find("set weft.metrics.listen"), std::string::npos) << second.error();
}

TEST_F(RunDir, WhatIsNoSocketIsLeftAlone) {
  fs::create_directories(root_ + "/run");
  std::ofstream(path_) << "precious";
  EXPECT_FALSE(SocketFile::listen(path_));
  EXPECT_EQ(fs::file_size(path_), 8U);
}

TEST_F(RunDir, APathThatDoesNotFitIsReported) {
  const auto s = SocketFile::listen(root_ + "/" + std::string(120, 'x'));
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().find("longer than"), std::string::npos);
}

TEST_F(RunDir, ASuccessorsFileIsNotRemoved) {
  auto first = SocketFile::listen(path_);
  ASSERT_TRUE(first);
  fs::rename(path_, path_ + ".old");
  const auto second = SocketFile::listen(path_);
  ASSERT_TRUE(second);
  { const SocketFile gone(std::move(*first)); }
  EXPECT_TRUE(fs::exists(path_));
}

}  // namespace
}  // namespace weft::daemon
