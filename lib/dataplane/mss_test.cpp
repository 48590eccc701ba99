#include "dataplane/mss.h"

#include "dataplane/test_rig.h"

namespace weft {
namespace {

TEST(MssCeiling, IsTheTableOfTheSheet) {
  struct Row {
    std::optional<std::uint16_t> flow;
    std::uint16_t general, ceiling;
  };
  const Row rows[] = {{std::nullopt, 1360, 1143},
                      {std::nullopt, 1100, 1100},
                      {1280, 1360, 1143},
                      {1452, 1360, 1315},
                      {1452, 1143, 1315},
                      {138, 1360, 1},
                      {240, 1360, 103},
                      {255, 1360, 118},
                      {256, 1360, 119},
                      {0, 1360, 1143},
                      {1, 1360, 1143},
                      {100, 1360, 1143},
                      {137, 1360, 1143}};
  for (const Row& r : rows)
    EXPECT_EQ(mss_ceiling(static_cast<std::uint16_t>(r.general + 137), r.flow), r.ceiling)
        << r.flow.value_or(0) << " " << r.general;
  EXPECT_EQ(mss_ceiling(100, std::nullopt), 0);
}

class Clamp : public testing::Test {
 protected:
  rig::Node a{1}, b{2};
};

TEST_F(Clamp, OnlyLowersAndMendsTheChecksum) {
  for (const std::uint8_t flags : Buffer{0x02, 0x12}) {
    Buffer p = rig::syn(a, b, 1460, flags);
    EXPECT_TRUE(clamp_mss(p, 1200));
    EXPECT_EQ(rig::mss_of(p), 1200);
    EXPECT_TRUE(rig::checksum_holds(p));
  }
  Buffer low = rig::syn(a, b, 1000);
  const Buffer before = low;
  EXPECT_FALSE(clamp_mss(low, 1200));
  EXPECT_EQ(low, before);
}

TEST_F(Clamp, LeavesEverythingElseAlone) {
  Buffer zero = rig::syn(a, b, 1460), ack = rig::syn(a, b, 1460, 0x10), udp = rig::udp(a, b, 100);
  const Buffer zero0 = zero, ack0 = ack, udp0 = udp;
  EXPECT_FALSE(clamp_mss(zero, 0));
  EXPECT_FALSE(clamp_mss(ack, 1000));
  EXPECT_FALSE(clamp_mss(udp, 1000));
  EXPECT_EQ(zero, zero0);
  EXPECT_EQ(ack, ack0);
  EXPECT_EQ(udp, udp0);
}

TEST_F(Clamp, ReadsNoOptionThatRunsOutOfTheHeader) {
  const std::vector<Buffer> option_lists = {
      {2, 0, 5, 0xb4}, {1, 1, 1, 2}, {8, 200, 2, 4}, {2, 3, 5, 0xb4}, {0, 2, 4, 9}};
  for (const Buffer& o : option_lists) {
    Buffer p = rig::tcp(a, b, 1, {}, 0x02, o);
    const Buffer before = p;
    EXPECT_FALSE(clamp_mss(p, 100));
    EXPECT_EQ(p, before);
  }
  Buffer p = rig::syn(a, b, 1460);
  for (const std::uint8_t offset : Buffer{0x00, 0x40, 0xf0}) {
    p[52] = offset;
    EXPECT_FALSE(clamp_mss(p, 100));
  }
  for (std::size_t n = 0; n < 64; ++n) {
    Buffer cut = rig::syn(a, b, 1460);
    cut.resize(n);
    EXPECT_FALSE(clamp_mss(cut, 100)) << n;
  }
}

TEST_F(Clamp, FindsTheOptionBehindOthers) {
  const Buffer options = {1, 1, 4, 2, 2, 4, 0x05, 0xb4, 3, 3, 7, 0};
  Buffer p = rig::tcp(a, b, 1, {}, 0x02, options);
  EXPECT_TRUE(clamp_mss(p, 1143));
  EXPECT_EQ(load_be<std::uint16_t>(p.data() + 40 + 20 + 6), 1143);
  EXPECT_TRUE(rig::checksum_holds(p));
}

TEST_F(Clamp, CompletesWhatAKernelLeftOpen) {
  Buffer t = rig::tcp(a, b, 1, rig::pattern(33)), u = rig::udp(a, b, 77);
  const Buffer t0 = t, u0 = u;
  store_be<std::uint16_t>(t.data() + 56, 0x8ece);
  store_be<std::uint16_t>(u.data() + 46, 0x8ece);
  EXPECT_TRUE(complete_checksum(t));
  EXPECT_TRUE(complete_checksum(u));
  EXPECT_EQ(t, t0);
  EXPECT_EQ(u, u0);
  Buffer none = rig::ip6_packet(a.mesh, b.mesh, 59, rig::pattern(20)), cut = rig::udp(a, b, 48);
  cut.resize(47);
  const Buffer none0 = none, cut0 = cut;
  EXPECT_FALSE(complete_checksum(none));
  EXPECT_FALSE(complete_checksum(cut));
  EXPECT_EQ(none, none0);
  EXPECT_EQ(cut, cut0);
}

TEST_F(Clamp, WritesAUdpSumOfZeroAsAllOnes) {
  Buffer p = rig::udp(a, b, 50);
  store_be<std::uint16_t>(p.data() + 48, 0);
  complete_checksum(p);
  const std::uint16_t sum = load_be<std::uint16_t>(p.data() + 46);
  store_be<std::uint16_t>(p.data() + 48, sum);  // adding the sum itself makes the next one zero
  complete_checksum(p);
  EXPECT_EQ(load_be<std::uint16_t>(p.data() + 46), 0xffff);
}

}  // namespace
}  // namespace weft
