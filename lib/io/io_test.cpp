#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/clock.h"
#include "io/failure.h"
#include "io/fd.h"
#include "io/file.h"
#include "io/key_file.h"
#include "io/notify.h"
#include "io/rng_os.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = fs::temp_directory_path() / "weft-io-XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  ~Files() override { fs::remove_all(dir_); }
  std::string at(const std::string& name) const { return dir_ / name; }
  void put(const std::string& name, const std::string& text, unsigned mode = 0600) const {
    std::ofstream(at(name), std::ios::binary) << text;
    ::chmod(at(name).c_str(), static_cast<mode_t>(mode));
  }
  unsigned mode_of(const std::string& name) const {
    struct stat st {};
    ::stat(at(name).c_str(), &st);
    return st.st_mode & 0777;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()));
  }
  fs::path dir_;
};

TEST(Clock, NeverGoesBackAndKnowsTheYear) {
  const auto a = clock_now();
  const auto b = clock_now();
  EXPECT_LE(a.mono, b.mono);
  EXPECT_GT(a.unix_ms, 1'700'000'000'000);
}

TEST(OsRng, GivesDifferentBytes) {
  OsRng rng;
  EXPECT_NE(rng.u64(), rng.u64());
}

TEST(FdOwner, ClosesOnceAndMovesOwnership) {
  int p[2];
  ASSERT_EQ(pipe(p), 0);
  Fd a(p[0]);
  const Fd end(p[1]);
  Fd b(std::move(a));
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): what is left behind is the point
  EXPECT_EQ(b.get(), p[0]);
  b.reset();
  EXPECT_EQ(close(p[0]), -1);
}

TEST(FailureText, NamesTheThingTheReasonAndTheRemedy) {
  EXPECT_EQ(os_failure(ENOENT, "opening x", "make it").text, "opening x: No such file or directory; make it");
  EXPECT_EQ(os_failure(0, "no").text, "no");
}

TEST(SendStatusOf, SeparatesWhatACallerMustTreatDifferently) {
  EXPECT_EQ(classify_send_error(0), SendStatus::ok);
  EXPECT_EQ(classify_send_error(EAGAIN), SendStatus::would_block);
  EXPECT_EQ(classify_send_error(ENOBUFS), SendStatus::no_buffers);
  EXPECT_EQ(classify_send_error(EMSGSIZE), SendStatus::too_big);
  EXPECT_EQ(classify_send_error(ECONNREFUSED), SendStatus::unreachable);
  EXPECT_EQ(classify_send_error(ENETUNREACH), SendStatus::unreachable);
  EXPECT_EQ(classify_send_error(EBADF), SendStatus::gone);
  EXPECT_EQ(classify_send_error(EADDRNOTAVAIL), SendStatus::unreachable);
  EXPECT_EQ(classify_send_error(EINVAL), SendStatus::unreachable);  // a source address that is gone
  EXPECT_EQ(classify_send_error(EPERM), SendStatus::other);         // a packet filter
}

TEST_F(Files, ReadWithinABound) {
  put("a", "hello");
  EXPECT_EQ(read_text_file(at("a"), 5).value(), "hello");
  EXPECT_EQ(read_text_file(at("a"), 4).error().kind, FileError::too_large);
  EXPECT_EQ(read_text_file(at("b"), 4).error().kind, FileError::missing);
  EXPECT_EQ(read_text_file(at("a") + "/b", 4).error().kind, FileError::missing);
  EXPECT_EQ(read_text_file(dir_, 4).error().kind, FileError::not_a_file);
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(at("pipe"), 4).error().kind, FileError::not_a_file);
  EXPECT_NE(read_text_file(at("b"), 4).error().text.find(at("b")), std::string::npos);
}

TEST_F(Files, WriteWholeWithTheirModeAndLeaveNothingElse) {
  ASSERT_TRUE(write_text_file(at("a"), "one", 0640));
  EXPECT_EQ(mode_of("a"), 0640U);
  ASSERT_TRUE(write_text_file(at("a"), "two", 0600));
  EXPECT_EQ(mode_of("a"), 0600U);
  EXPECT_EQ(read_text_file(at("a"), 9).value(), "two");
  EXPECT_EQ(write_text_file(at("a"), "three", 0600, Replace::never).error().kind, FileError::exists);
  EXPECT_EQ(read_text_file(at("a"), 9).value(), "two");
  ASSERT_TRUE(write_text_file(at("b"), "new", 0600, Replace::never));
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Files, AreNeverWrittenThroughALinkOrOverAFolder) {
  fs::create_symlink(at("victim"), at("link"));
  EXPECT_EQ(write_text_file(at("link"), "x", 0600).error().kind, FileError::symlink);
  EXPECT_FALSE(fs::exists(at("victim")));
  fs::create_directory(at("folder"));
  EXPECT_EQ(write_text_file(at("folder"), "x", 0600).error().kind, FileError::not_a_file);
  EXPECT_EQ(write_text_file(at("none/x"), "x", 0600).error().kind, FileError::write_failed);
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Files, ShowEveryReplacementInTheirStamp) {
  EXPECT_FALSE(file_stamp(at("a")).exists);
  put("a", "1");
  const auto before = file_stamp(at("a"));
  EXPECT_TRUE(before.exists);
  EXPECT_EQ(before, file_stamp(at("a")));
  ASSERT_TRUE(write_text_file(at("a"), "2", 0600));
  EXPECT_NE(before, file_stamp(at("a")));
}

TEST_F(Files, KeyIsWrittenPrivatelyAndReadBack) {
  ASSERT_TRUE(write_key_file(at("weft.key"), "nsec1abc"));
  EXPECT_EQ(mode_of("weft.key"), 0600U);
  EXPECT_EQ(read_text_file(at("weft.key"), 99).value(), "nsec1abc\n");
  const auto k = read_key_file(at("weft.key"));
  ASSERT_TRUE(k);
  EXPECT_EQ(k->text.view(), "nsec1abc");
  EXPECT_TRUE(k->warnings.empty());
  ASSERT_TRUE(write_public_key_file(at("weft.pub"), "npub1abc"));
  EXPECT_EQ(mode_of("weft.pub"), 0644U);
  ASSERT_TRUE(write_public_key_file(at("weft.pub"), "npub1def"));
}

TEST_F(Files, KeyIsReplacedOnlyWhenTold) {
  put("k", "old");
  EXPECT_EQ(write_key_file(at("k"), "new").error().kind, KeyFileError::exists);
  EXPECT_EQ(read_key_file(at("k"))->text.view(), "old");
  ASSERT_TRUE(write_key_file(at("k"), "new", true));
  EXPECT_EQ(read_key_file(at("k"))->text.view(), "new");
}

TEST_F(Files, KeyBehindALinkIsReadWithAWarningAndNeverWritten) {
  put("real", "secret\r\n");
  fs::create_symlink(at("real"), at("k"));
  const auto k = read_key_file(at("k"));
  ASSERT_TRUE(k);
  EXPECT_EQ(k->text.view(), "secret");
  ASSERT_EQ(k->warnings.size(), 1U);
  EXPECT_NE(k->warnings[0].find("symbolic link"), std::string::npos);
  EXPECT_EQ(write_key_file(at("k"), "x", true).error().kind, KeyFileError::symlink);
}

TEST_F(Files, KeyOpenToOthersIsReadWithAWarningAndItsModeKept) {
  put("k", "secret", 0644);
  const auto k = read_key_file(at("k"));
  ASSERT_TRUE(k);
  ASSERT_EQ(k->warnings.size(), 1U);
  EXPECT_NE(k->warnings[0].find("chmod 600"), std::string::npos);
  EXPECT_EQ(mode_of("k"), 0644U);
}

TEST_F(Files, KeyThatIsNoKeyIsAnErrorAndStays) {
  put("empty", " \n\t");
  put("binary", std::string("ab\0cd", 5));
  put("lines", "one\ntwo\n");
  put("large", std::string(5000, 'a'));
  EXPECT_EQ(read_key_file(at("empty")).error().kind, KeyFileError::empty);
  EXPECT_EQ(read_key_file(at("binary")).error().kind, KeyFileError::not_text);
  EXPECT_EQ(read_key_file(at("lines")).error().kind, KeyFileError::not_text);
  EXPECT_EQ(read_key_file(at("large")).error().kind, KeyFileError::too_large);
  EXPECT_EQ(read_key_file(dir_).error().kind, KeyFileError::not_a_file);
  EXPECT_EQ(read_key_file(at("none")).error().kind, KeyFileError::missing);
  EXPECT_EQ(read_text_file(at("empty"), 9).value(), " \n\t");
}

TEST_F(Files, KeyOfAnotherUserIsRefused) {
  put("k", "secret");
  if (geteuid() != 0 || chown(at("k").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "needs root to give a file away";
  const auto k = read_key_file(at("k"));
  ASSERT_FALSE(k);
  EXPECT_EQ(k.error().kind, KeyFileError::wrong_owner);
}

TEST_F(Files, ServiceManagerHearsWhatItAskedFor) {
  const auto path = at("notify");
  const Fd fd(socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  path.copy(a.sun_path, sizeof a.sun_path - 1);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "10000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  auto n = Notifier::from_environment();
  const auto heard = [&] {
    char b[200];
    const auto size = recv(fd.get(), b, sizeof b, MSG_DONTWAIT);
    return size < 0 ? std::string("nothing") : std::string(b, static_cast<std::size_t>(size));
  };
  EXPECT_TRUE(n.wanted());
  EXPECT_TRUE(n.ready("3 peers\nEVIL=1"));
  EXPECT_EQ(heard(), "READY=1\nSTATUS=3 peers EVIL=1");
  EXPECT_TRUE(n.watchdog());
  EXPECT_EQ(heard(), "WATCHDOG=1");
  EXPECT_TRUE(n.stopping());
  EXPECT_EQ(heard(), "STOPPING=1");
  EXPECT_EQ(n.watchdog_interval(), std::chrono::seconds(5));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(Notifier::from_environment().watchdog_interval());
  ::unsetenv("NOTIFY_SOCKET");
  auto silent = Notifier::from_environment();
  EXPECT_FALSE(silent.wanted());
  EXPECT_FALSE(silent.ready());
  ::unsetenv("WATCHDOG_USEC");
  ::unsetenv("WATCHDOG_PID");
}

}  // namespace
}  // namespace weft::io
