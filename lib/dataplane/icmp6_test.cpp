#include "dataplane/icmp6.h"

#include "dataplane/test_rig.h"
#include "offload/checksum.h"

namespace weft {
namespace {

class Icmp : public testing::Test {
 protected:
  bool sum_holds(std::size_t size) const {
    const auto seed = offload::pseudo_header_sum(out.data(), 58, static_cast<std::uint32_t>(size - 40));
    return offload::checksum_fold(offload::checksum_add(Bytes(out.data() + 40, size - 40), seed)) == 0xffff;
  }
  rig::Node a{1}, b{2};
  IcmpError out{};
};

TEST_F(Icmp, TooBigIsByteForByteWhatAKernelHeeds) {
  const Buffer p = rig::udp(a, b, 1400);
  ASSERT_EQ(make_packet_too_big(out, p, 1203), 1280U);
  Buffer head = {0x60, 0, 0, 0, 0x04, 0xd8, 58, 64};
  head.insert(head.end(), b.mesh.bytes.begin(), b.mesh.bytes.end());  // from the packet's destination
  head.insert(head.end(), a.mesh.bytes.begin(), a.mesh.bytes.end());
  head.insert(head.end(), {2, 0});
  EXPECT_TRUE(equal(Bytes(out).first(42), head));
  EXPECT_TRUE(equal(Bytes(out).subspan(44, 4), Buffer{0, 0, 0x05, 0x00}));  // never below 1280
  EXPECT_TRUE(equal(Bytes(out).subspan(48), Bytes(p).first(1232)));
  EXPECT_TRUE(sum_holds(1280));
  ASSERT_EQ(make_packet_too_big(out, p, 1323), 1280U);
  EXPECT_EQ(load_be<std::uint32_t>(out.data() + 44), 1323U);
}

TEST_F(Icmp, UnreachableComesFromUsAndQuotesAShortPacketWhole) {
  const Buffer p = rig::udp(a, b, 60);
  ASSERT_EQ(make_unreachable(out, p, a.mesh), 108U);
  EXPECT_EQ(out[40], 1);
  EXPECT_EQ(out[41], 0);
  EXPECT_EQ(ip6::source(out), a.mesh);
  EXPECT_EQ(ip6::dest(out), a.mesh);
  EXPECT_TRUE(equal(Bytes(out).subspan(48, 60), p));
  EXPECT_TRUE(sum_holds(108));
}

TEST_F(Icmp, NeverAnswersErrorsNorNobody) {
  const Buffer error = rig::ip6_packet(a.mesh, b.mesh, 58, Buffer{1, 0, 0, 0, 0, 0, 0, 0});
  const Buffer echo = rig::ip6_packet(a.mesh, b.mesh, 58, Buffer{128, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(make_packet_too_big(out, error, 1280), 0U);
  EXPECT_GT(make_packet_too_big(out, echo, 1280), 0U);
  Buffer options = {58, 0, 1, 4, 0, 0, 0, 0,
                    1,  0, 0, 0, 0, 0, 0, 0};  // the same error behind an option header
  EXPECT_EQ(make_packet_too_big(out, rig::ip6_packet(a.mesh, b.mesh, 60, options), 1280), 0U);
  MeshAddr multicast;
  multicast.bytes[0] = 0xff;
  const Buffer data = rig::pattern(20);
  EXPECT_EQ(make_packet_too_big(out, rig::ip6_packet({}, b.mesh, 17, data), 1280), 0U);
  EXPECT_EQ(make_packet_too_big(out, rig::ip6_packet(multicast, b.mesh, 17, data), 1280), 0U);
  EXPECT_EQ(make_unreachable(out, rig::ip6_packet(a.mesh, multicast, 17, data), a.mesh), 0U);
  EXPECT_EQ(make_unreachable(out, rig::pattern(39), a.mesh), 0U);
}

TEST_F(Icmp, LimiterLetsOneThroughPerSourceEvery100Ms) {
  IcmpLimiter l;
  EXPECT_TRUE(l.allow(a.mesh, rig::at(0)));
  EXPECT_FALSE(l.allow(a.mesh, rig::at(99)));
  EXPECT_TRUE(l.allow(b.mesh, rig::at(99)));
  EXPECT_TRUE(l.allow(a.mesh, rig::at(100)));
  for (std::uint8_t i = 0; i < 200; ++i) {  // many sources push each other out and cost no memory
    MeshAddr other;
    other.bytes = {0xfd, i};
    EXPECT_TRUE(l.allow(other, rig::at(101)));
  }
}

}  // namespace
}  // namespace weft
