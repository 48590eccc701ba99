#include "wire/envelope.h"

#include "wire/ip6_shim.h"
#include "wire/testing.h"

namespace weft::wire {
namespace {

Buffer envelope(std::uint8_t ttl, std::uint16_t mtu, Bytes payload) {
  Buffer out;
  encode_envelope(out, {ttl, mtu, node(1), node(2), payload});
  return out;
}

TEST(Envelope, ComesBackAsItWasSentAndBorrowsItsPayload) {
  const Buffer payload{0xde, 0xad};
  const auto b = envelope(64, 1280, payload);
  const auto e = decode_envelope(b);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->ttl, 64);
  EXPECT_EQ(e->path_mtu, 1280);
  EXPECT_EQ(e->from, node(1));
  EXPECT_EQ(e->to, node(2));
  EXPECT_EQ(e->payload.data(), b.data() + 36);
  EXPECT_EQ(to_hex(e->payload), "dead");
}

TEST(Envelope, PayloadMayBeEmptyButTheHeaderIsWhole) {
  const auto b = envelope(0, 0, Buffer{9, 9, 9});
  expect_refuses_cuts(b, 36, decode_envelope);
  expect_drop(decode_envelope(Bytes(b).first(35)), Drop::too_short);
  expect_drop(decode_envelope(with(b, 0, 0x10)), Drop::wrong_type);
}

TEST(Envelope, AdvancesOneHopInPlaceAndTouchesNothingElse) {
  auto b = envelope(5, 65535, Buffer{0x42});
  const auto before = b;
  ASSERT_TRUE(advance_envelope(b, 1400));
  auto expected = before;
  expected[1] = 4;
  expected[2] = 0x78;
  expected[3] = 0x05;
  EXPECT_EQ(b, expected);
}

TEST(Envelope, PathMtuOnlyEverFalls) {
  auto b = envelope(64, 900, {});
  ASSERT_TRUE(advance_envelope(b, 1400));
  EXPECT_EQ(decode_envelope(b)->path_mtu, 900);
  ASSERT_TRUE(advance_envelope(b, 899));
  EXPECT_EQ(decode_envelope(b)->path_mtu, 899);
}

TEST(Envelope, TransitEndsAtTtlOneAndLeavesTheMessageAlone) {
  for (const auto ttl : Buffer{0, 1}) {
    auto b = envelope(ttl, 65535, Buffer{1});
    const auto before = b;
    expect_drop(advance_envelope(b, 1280), Drop::ttl_spent);
    EXPECT_EQ(b, before);
  }
  auto b = envelope(2, 1280, {});
  ASSERT_TRUE(advance_envelope(b, 1280));
  EXPECT_EQ(decode_envelope(b)->ttl, 1);
}

Buffer packet(std::size_t payload, std::uint8_t hop_limit = 64) {
  Buffer p(40 + payload, 0x5a);
  p[0] = 0x6a;  // class ab, flow fedcb
  p[1] = 0xbf;
  p[2] = 0xed;
  p[3] = 0xcb;
  p[4] = static_cast<std::uint8_t>(payload >> 8);
  p[5] = static_cast<std::uint8_t>(payload);
  p[6] = 6;
  p[7] = hop_limit;
  const auto from = mesh_addr_of(node(1));
  const auto to = mesh_addr_of(node(2));
  std::copy(from.bytes.begin(), from.bytes.end(), p.begin() + 8);
  std::copy(to.bytes.begin(), to.bytes.end(), p.begin() + 24);
  return p;
}

TEST(Shim, PressesFortyBytesIntoSeven) {
  EXPECT_EQ(compress_ip6(packet(100))->size(), 107U);
  EXPECT_EQ(to_hex(*compress_ip6(packet(0))), "006abfedcb0640");
}

TEST(Shim, RebuildsThePacketFromTheSessionsAddresses) {
  for (const auto hops : Buffer{0, 1, 64, 128, 255}) {
    const auto p = packet(33, hops);
    EXPECT_EQ(*rebuild_ip6(*compress_ip6(p), mesh_addr_of(node(1)), mesh_addr_of(node(2))), p);
  }
  const auto forged = *rebuild_ip6(*compress_ip6(packet(0)), mesh_addr_of(node(9)), mesh_addr_of(node(2)));
  EXPECT_EQ(MeshAddr::from(Bytes(forged).subspan(8, 16)), mesh_addr_of(node(9)));
}

TEST(Shim, ForcesVersionSixOnWhateverThePeerSent) {
  const auto p = rebuild_ip6(Buffer{0, 0x4a, 0, 0, 0, 17, 1}, {}, {});
  ASSERT_TRUE(p);
  EXPECT_EQ((*p)[0], 0x6a);
}

TEST(Shim, LengthOfTheSliceCountsNotTheHeadersField) {
  auto p = packet(10);
  p[5] = 200;
  const auto back = *rebuild_ip6(*compress_ip6(p), mesh_addr_of(node(1)), mesh_addr_of(node(2)));
  EXPECT_EQ(back.size(), 50U);
  EXPECT_EQ(back[5], 10);
}

TEST(Shim, RefusesWhatIsNotIpv6) {
  expect_drop(shim_of(with(packet(0), 0, 0x45)), Drop::not_ipv6);
  expect_drop(shim_of(Buffer(39, 0x60)), Drop::packet_truncated);
  expect_drop(shim_of({}), Drop::packet_truncated);
  expect_refuses_cuts(packet(3), 40, [](Bytes b) { return shim_of(b); });
}

TEST(Shim, RefusesWhatDoesNotRebuild) {
  expect_drop(rebuild_ip6(Buffer{1, 0x60, 0, 0, 0, 6, 64}, {}, {}), Drop::bad_shim);
  expect_drop(rebuild_ip6(Buffer(6), {}, {}), Drop::bad_shim);
  EXPECT_TRUE(rebuild_ip6(Buffer(7 + 65535 - 40), {}, {}));
  expect_drop(rebuild_ip6(Buffer(7 + 65535 - 39), {}, {}), Drop::rebuilt_too_long);
  expect_refuses_cuts(*compress_ip6(packet(9)), 7, [](Bytes b) { return ip6_header_of(b, {}, {}); });
}

TEST(Shim, MarksOnlyPacketsThatUnderstandTheMark) {
  Buffer not_ect{0x60, 0x00};
  EXPECT_FALSE(mark_congested(not_ect));
  EXPECT_EQ(to_hex(not_ect), "6000");
  Buffer ect0{0x6b, 0x2a};
  EXPECT_TRUE(mark_congested(ect0));
  EXPECT_EQ(to_hex(ect0), "6b3a");
  Buffer stub{0x60};
  EXPECT_FALSE(mark_congested(stub));
}

TEST(Limits, EverySumAddsUp) {
  EXPECT_EQ(kFrameCost, 36U);
  EXPECT_EQ(kFipsOverhead, 106U);
  EXPECT_EQ(1280 - kShimOverhead, 1203U);
  EXPECT_EQ(1280 - kTcpOverhead, 1143U);
  EXPECT_EQ(kMinSessionFrame, 28U);
}

}  // namespace
}  // namespace weft::wire
