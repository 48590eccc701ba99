#include "weft/doctor_system.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "io/fd.h"

namespace weft::cli {
namespace {

/// A folder with a configuration whose only port is taken.
class DoctorSystem : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "weft-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    taken_ = io::Fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(taken_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    socklen_t size = sizeof at;
    ASSERT_EQ(getsockname(taken_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    std::ofstream(dir_ + "/weft.yaml")
        << "transports: { udp: { bind_addr: \"127.0.0.1:" << ntohs(at.sin_port) << "\" } }\n";
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  DoctorFacts examined(const std::string& socket) { return examine({socket, dir_ + "/weft.yaml", false}); }

  std::string dir_;
  io::Fd taken_;
};

TEST_F(DoctorSystem, TriesThePortsWhenNobodyListens) {
  const auto f = examined(dir_ + "/sock");
  EXPECT_TRUE(nobody_listens(f));
  EXPECT_EQ(f.port_troubles.size(), 1U);
}

TEST_F(DoctorSystem, LeavesThePortsToADaemonThatDoesNotAnswer) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string path = dir_ + "/sock";
  std::memcpy(name.sun_path, path.c_str(), path.size());
  const io::Fd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(listening.get(), 4), 0);
  std::thread hangs_up([&] {
    for (;;)
      if (const io::Fd client(accept(listening.get(), nullptr, nullptr)); !client) return;
  });
  const auto f = examined(path);
  shutdown(listening.get(), SHUT_RDWR);
  hangs_up.join();
  EXPECT_FALSE(nobody_listens(f));
  EXPECT_FALSE(f.ask_trouble.empty());
  EXPECT_EQ(f.port_troubles, std::vector<std::string>{});
}

TEST_F(DoctorSystem, SaysWhyASocketCannotBeAsked) {
  const auto path = dir_ + "/" + std::string(200, 'x');
  const auto f = examined(path);
  EXPECT_FALSE(nobody_listens(f));
  EXPECT_NE(f.ask_trouble.find(path), std::string::npos) << f.ask_trouble;
  EXPECT_EQ(f.port_troubles, std::vector<std::string>{});
}

}  // namespace
}  // namespace weft::cli
