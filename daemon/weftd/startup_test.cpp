#include "weftd/startup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weft::daemon {
namespace {

namespace fs = std::filesystem;

/// A configuration folder, a state folder, and an environment that names the latter.
class Startup : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "weft-XXXXXX";
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ + "/etc");
    fs::create_directories(root_ + "/state");
    setenv("STATE_DIRECTORY", (root_ + "/state").c_str(), 1);
    for (const char* name : {"WEFT_LOG", "RUST_LOG", "WEFT_ENCRYPT_WORKERS", "FIPS_ENCRYPT_WORKERS"})
      unsetenv(name);
  }
  void TearDown() override {
    unsetenv("STATE_DIRECTORY");
    fs::remove_all(root_);
  }
  std::string write(const std::string& name, const std::string& text, unsigned mode = 0600) {
    const auto path = root_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  Settings settings(const std::string& yaml = "") {
    auto s = load_settings(write("etc/weft.yaml", yaml));
    EXPECT_TRUE(s) << s.error();
    return s ? std::move(*s) : Settings{};
  }
  bool exists(const std::string& name) { return fs::exists(root_ + "/" + name); }

  std::string root_;
  SeededRng rng_{1};
};

TEST_F(Startup, AMissingFileIsAnErrorThatNamesIt) {
  const auto s = load_settings(root_ + "/none.yaml");
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().find("none.yaml"), std::string::npos);
}

TEST_F(Startup, AWrongFileIsAnErrorWithItsLine) {
  const auto s = load_settings(write("etc/weft.yaml", "node:\n  limits: { max_peers: many }\n"));
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().find("weft.yaml:2:"), std::string::npos) << s.error();
}

TEST_F(Startup, TheEnvironmentWinsOverTheFile) {
  setenv("FIPS_ENCRYPT_WORKERS", "3", 1);
  EXPECT_EQ(settings("weft: { dataplane: { encrypt_workers: 7 } }").config.weft.dataplane.encrypt_workers,
            3U);
  setenv("WEFT_ENCRYPT_WORKERS", "4", 1);
  EXPECT_EQ(settings("weft: { dataplane: { encrypt_workers: 7 } }").config.weft.dataplane.encrypt_workers,
            4U);
}

TEST_F(Startup, ANewKeyGoesToTheStateFolderOnlyWhenItIsKept) {
  auto s = settings();
  auto first = choose_identity(s, rng_);
  ASSERT_TRUE(first) << first.error();
  EXPECT_TRUE(first->fresh);
  EXPECT_FALSE(exists("state/weft.key"));
  keep_identity(*first, s.warnings);
  struct stat st {};
  ASSERT_EQ(stat((root_ + "/state/weft.key").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0600U);
  EXPECT_TRUE(exists("state/weft.pub"));
  const auto second = choose_identity(s, rng_);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->fresh);
  EXPECT_EQ(second->identity.npub(), first->identity.npub());
}

TEST_F(Startup, AKeyBesideTheFileWinsOverTheStateFolder) {
  const auto beside = crypto::Identity::generate(rng_), state = crypto::Identity::generate(rng_);
  write("state/weft.key", state.nsec() + "\n");
  write("etc/fips.key", beside.nsec() + "\n");
  auto s = settings();
  const auto chosen = choose_identity(s, rng_);
  ASSERT_TRUE(chosen) << chosen.error();
  EXPECT_EQ(chosen->identity.npub(), beside.npub());
}

TEST_F(Startup, ASecretInTheFileWinsOverKeyFilesAndIsWiped) {
  const auto inline_key = crypto::Identity::generate(rng_);
  write("etc/weft.key", crypto::Identity::generate(rng_).nsec());
  auto s = settings("node: { identity: { nsec: " + inline_key.nsec() + " } }");
  const auto chosen = choose_identity(s, rng_);
  ASSERT_TRUE(chosen) << chosen.error();
  EXPECT_EQ(chosen->identity.npub(), inline_key.npub());
  EXPECT_EQ(s.config.node.identity.nsec, "");
}

TEST_F(Startup, AFileThatOthersMayReadAndThatHoldsTheSecretIsWarnedAbout) {
  const auto path = write(
      "etc/weft.yaml", "node: { identity: { nsec: " + crypto::Identity::generate(rng_).nsec() + " } }", 0644);
  const auto s = load_settings(path);
  ASSERT_TRUE(s);
  ASSERT_FALSE(s->warnings.empty());
  EXPECT_NE(s->warnings.back().find("others may read it"), std::string::npos);
}

TEST_F(Startup, AKeyFileThatHoldsNoKeyIsAnErrorAndStays) {
  for (const std::string text : {"", "nsec1nonsense\n", "\x01\x02"}) {
    write("etc/weft.key", text);
    auto s = settings();
    EXPECT_FALSE(choose_identity(s, rng_)) << "\"" << text << "\"";
    EXPECT_EQ(fs::file_size(root_ + "/etc/weft.key"), text.size());
  }
}

TEST_F(Startup, WithoutPersistenceTheKeyIsNewAndKeyFilesAreLeftAlone) {
  const auto old = crypto::Identity::generate(rng_);
  write("state/weft.key", old.nsec());
  auto s = settings("node: { identity: { persistent: false } }");
  auto chosen = choose_identity(s, rng_);
  ASSERT_TRUE(chosen);
  EXPECT_NE(chosen->identity.npub(), old.npub());
  keep_identity(*chosen, s.warnings);
  EXPECT_EQ(fs::file_size(root_ + "/state/weft.key"), old.nsec().size());
}

TEST_F(Startup, AKeyThatCannotBeWrittenMakesAWarningAndAShortLivedNode) {
  setenv("STATE_DIRECTORY", "/proc/none", 1);
  auto s = settings();
  auto chosen = choose_identity(s, rng_);
  ASSERT_TRUE(chosen);
  keep_identity(*chosen, s.warnings);
  EXPECT_FALSE(chosen->persistent);
  ASSERT_FALSE(s.warnings.empty());
  EXPECT_NE(s.warnings.back().find("cannot be kept"), std::string::npos);
}

}  // namespace
}  // namespace weft::daemon
