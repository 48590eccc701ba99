#include "wire/link_msg.h"
#include "wire/own_msg.h"
#include "wire/testing.h"

namespace weft::wire {
namespace {

Buffer probe_of(std::size_t frame, std::uint32_t id) {
  Buffer m(frame - kFrameCost, 0xaa);
  write_mtu_probe(m, id);
  return m;
}

TEST(OwnMessages, AHelloIsReadBackWhateverFollowsIt) {
  Buffer out;
  encode_hello(out, {true, kWideWindow | kMtuProbes | 0x8000'0000});
  ASSERT_EQ(out, (Buffer{0xe0, 1, 3, 0, 0, 0x80}));
  expect_refuses_cuts(out, 6, decode_hello);
  out.insert(out.end(), {9, 9, 9});
  const auto m = decode_hello(out);
  ASSERT_TRUE(m);
  EXPECT_TRUE(m->answer);
  EXPECT_EQ(m->features, 0x8000'0003U);
  expect_drop(decode_hello(with(out, 0, 0xe1)), Drop::wrong_type);
}

TEST(OwnMessages, UnknownFlagsOfAHelloMeanNothing) {
  const auto m = decode_hello(Buffer{0xe0, 0xfe, 1, 0, 0, 0});
  ASSERT_TRUE(m);
  EXPECT_FALSE(m->answer);
}

TEST(OwnMessages, AProbeFillsTheFrameSizeThatItNames) {
  const auto probe = probe_of(1400, 0x01020304);
  EXPECT_EQ(probe.size() + kFrameCost, 1400U);
  const auto m = decode_mtu_probe(probe);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->id, 0x01020304U);
  EXPECT_EQ(m->size, 1400);
  EXPECT_TRUE(std::all_of(probe.begin() + kProbeHeader, probe.end(), [](auto b) { return b == 0; }));
  expect_drop(decode_mtu_probe(Bytes(probe).first(probe.size() - 1)), Drop::probe_mismatch);
  auto longer = probe;
  longer.push_back(0);
  expect_drop(decode_mtu_probe(longer), Drop::probe_mismatch);
  expect_refuses_cuts(probe_of(kFrameCost + kProbeHeader, 1), kProbeHeader, decode_mtu_probe);
  ASSERT_TRUE(decode_mtu_probe(probe_of(65507, 1)));
}

TEST(OwnMessages, NoticeAndAckAreReadBack) {
  Buffer notice, ack;
  encode_mtu_notice(notice, {7, 9000, 0x1122334455667788});
  EXPECT_EQ(to_hex(notice), "e2000700000028238877665544332211");
  expect_refuses_cuts(notice, 16, decode_mtu_notice);
  EXPECT_EQ(decode_mtu_notice(notice)->counter, 0x1122334455667788U);
  EXPECT_EQ(decode_mtu_notice(notice)->size, 9000);
  encode_mtu_ack(ack, {7, 9000});
  EXPECT_EQ(to_hex(ack), "e300070000002823");
  expect_refuses_cuts(ack, 8, decode_mtu_ack);
  EXPECT_EQ(decode_mtu_ack(ack)->id, 7U);
}

TEST(OwnMessages, AreLinkMessagesWithNames) {
  for (std::uint8_t type = 0xe0; type <= 0xe3; ++type) {
    const auto m = link_msg_of(Buffer{type});
    ASSERT_TRUE(m) << int(type);
    EXPECT_NE(name_of(*m), "unknown");
  }
  expect_drop(link_msg_of(Buffer{0xe4}), Drop::unknown_link_message);
  expect_drop(link_msg_of(Buffer{0xdf}), Drop::unknown_link_message);
}

}  // namespace
}  // namespace weft::wire
