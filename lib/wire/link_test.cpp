#include "wire/link_frame.h"
#include "wire/link_msg.h"
#include "wire/testing.h"

namespace weft::wire {
namespace {

Buffer sealed_frame(std::size_t plaintext) {
  Buffer f(kMinLinkFrame + plaintext, 0xaa);
  write_link_header(
      f, {LinkFlags::of(5), static_cast<std::uint16_t>(plaintext), {0xdeadbeef}, 0x0807060504030201});
  return f;
}

Buffer msg1() {
  LinkMsg1 m;
  m.sender.value = 0x12345678;
  m.noise.fill(7);
  Buffer out;
  encode_link_msg1(out, m);
  return out;
}

Buffer msg2() {
  LinkMsg2 m;
  m.sender.value = 0x9abcdef0;
  m.receiver.value = 0x12345678;
  m.noise.fill(9);
  Buffer out;
  encode_link_msg2(out, m);
  return out;
}

TEST(Prefix, IsReadAndWrittenBackUnchanged) {
  const Prefix p{3, 2, 0xff, 0x1234};
  Buffer out;
  encode_prefix(out, p);
  EXPECT_EQ(out, (Buffer{0x32, 0xff, 0x34, 0x12}));
  EXPECT_EQ(*decode_prefix(out), p);
  expect_refuses_cuts(out, 4, decode_prefix);
}

TEST(LinkFrame, HeaderIsTheSixteenBytesThatThePeerAuthenticates) {
  const auto f = sealed_frame(40);
  EXPECT_EQ(to_hex(Bytes(f).first(16)), "00052800efbeadde0102030405060708");
  EXPECT_EQ(f.size(), 72U);
  const auto h = decode_link_header(f);
  ASSERT_TRUE(h);
  EXPECT_EQ(*h, (LinkHeader{{true, false, true}, 40, {0xdeadbeef}, 0x0807060504030201}));
}

TEST(LinkFrame, ReservedFlagBitsAreIgnoredAndNeverSent) {
  const auto f = with(sealed_frame(5), 1, 0xff);
  const auto h = decode_link_header(f);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->flags.bits(), 0x07);
  Buffer out(16);
  write_link_header(out, *h);
  EXPECT_EQ(out[1], 0x07);
}

TEST(LinkFrame, EmptyPlaintextIsTheSmallestSealedFrame) {
  const auto f = sealed_frame(0);
  EXPECT_EQ(f.size(), 32U);
  EXPECT_TRUE(decode_link_header(f));
  for (std::size_t n = 4; n < 32; ++n) expect_drop(decode_link_header(Bytes(f).first(n)), Drop::too_short);
  EXPECT_EQ(*classify_link_frame(f), LinkPhase::sealed);
}

TEST(LinkFrame, CutsAndTrailersAreRefusedBecauseTheLengthFieldDisagrees) {
  const auto f = sealed_frame(40);
  expect_refuses_cuts(f, f.size(), decode_link_header);
  expect_refuses_cuts(f, f.size(), classify_link_frame);
  Buffer longer = f;
  longer.push_back(0);
  expect_drop(decode_link_header(longer), Drop::wrong_length);
  expect_drop(classify_link_frame(longer), Drop::wrong_length);
}

TEST(LinkFrame, ForeignVersionsAndPhasesAreRefusedByName) {
  for (unsigned version = 1; version < 16; ++version) {
    const auto f = with(sealed_frame(9), 0, static_cast<std::uint8_t>(version << 4));
    expect_drop(decode_link_header(f), Drop::wrong_version);
    expect_drop(classify_link_frame(f), Drop::wrong_version);
  }
  for (unsigned phase = 1; phase < 16; ++phase) {
    const auto f = with(sealed_frame(9), 0, static_cast<std::uint8_t>(phase));
    expect_drop(decode_link_header(f), Drop::unknown_phase);
    if (phase > 2) expect_drop(classify_link_frame(f), Drop::unknown_phase);
  }
  for (std::size_t n = 0; n < 4; ++n) expect_drop(classify_link_frame(Buffer(n)), Drop::too_short);
}

TEST(LinkFrame, HolePunchProbesAreToldFromForeignVersions) {
  expect_drop(classify_link_frame(Buffer{0x4e, 0x50, 0x54, 0x43, 1, 2}), Drop::punch_probe);
  expect_drop(classify_link_frame(Buffer{0x4e, 0x50, 0x54, 0x41}), Drop::punch_probe);
  expect_drop(classify_link_frame(Buffer{0x4e, 0x50, 0x54, 0x42}), Drop::wrong_version);
}

TEST(LinkFrame, HandshakesHaveOneSizeAndNoFlags) {
  for (const auto& f : {msg1(), msg2()}) {
    expect_refuses_cuts(f, f.size(), classify_link_frame);
    Buffer longer = f;
    longer.push_back(0);
    expect_drop(classify_link_frame(longer), Drop::wrong_length);
    expect_drop(classify_link_frame(with(f, 2, 0x6d)), Drop::wrong_length);
    for (unsigned bit = 0; bit < 8; ++bit)
      expect_drop(classify_link_frame(with(f, 1, static_cast<std::uint8_t>(1 << bit))), Drop::bad_flags);
  }
  EXPECT_EQ(msg1().size(), 114U);
  EXPECT_EQ(msg2().size(), 69U);
}

TEST(LinkFrame, HandshakesComeBackAsTheyWereSent) {
  const auto m1 = decode_link_msg1(msg1());
  ASSERT_TRUE(m1);
  EXPECT_EQ(m1->sender.value, 0x12345678U);
  Buffer again;
  encode_link_msg1(again, *m1);
  EXPECT_EQ(again, msg1());
  const auto m2 = decode_link_msg2(msg2());
  ASSERT_TRUE(m2);
  EXPECT_EQ(m2->receiver.value, 0x12345678U);
  again.clear();
  encode_link_msg2(again, *m2);
  EXPECT_EQ(again, msg2());
  expect_refuses_cuts(msg1(), 114, decode_link_msg1);
  expect_refuses_cuts(msg2(), 69, decode_link_msg2);
  expect_drop(decode_link_msg1(msg2()), Drop::unknown_phase);
  expect_drop(decode_link_msg2(msg1()), Drop::unknown_phase);
  expect_drop(decode_link_msg1(sealed_frame(114 - 32)), Drop::unknown_phase);
}

TEST(LinkFrame, AuthenticFrameWithoutRoomForATypeIsRefused) {
  const Buffer plain{1, 2, 3, 4, 0x51, 9};
  const auto in = decode_link_inner(plain);
  ASSERT_TRUE(in);
  EXPECT_EQ(in->timestamp, 0x04030201U);
  EXPECT_EQ(to_hex(in->message), "5109");
  expect_refuses_cuts(plain, 5, decode_link_inner);
  expect_drop(decode_link_inner(Bytes(plain).first(4)), Drop::inner_short);
}

TEST(LinkFrame, StreamReaderLearnsEachSizeFromFourBytes) {
  EXPECT_EQ(*stream_frame_size(sealed_frame(40), 1400), 72U);
  EXPECT_EQ(*stream_frame_size(msg1(), 1400), 114U);
  EXPECT_EQ(*stream_frame_size(msg2(), 1400), 69U);
  EXPECT_EQ(*stream_frame_size(Buffer{0, 0, 0, 0}, 1400), 32U);
  expect_drop(stream_frame_size(Buffer{0, 0, 0}, 1400), Drop::too_short);
}

TEST(LinkFrame, StreamReaderRefusesWhatNoPeerSends) {
  EXPECT_EQ(*stream_frame_size(Buffer{0, 0, 0x58, 0x05}, 1400), 1400U);
  expect_drop(stream_frame_size(Buffer{0, 0, 0x59, 0x05}, 1400), Drop::wrong_length);
  expect_drop(stream_frame_size(Buffer{0, 0, 0xff, 0xff}, 1400), Drop::wrong_length);
  expect_drop(stream_frame_size(Buffer{1, 0, 0x6d, 0}, 1400), Drop::wrong_length);
  expect_drop(stream_frame_size(Buffer{2, 0, 0x6e, 0}, 1400), Drop::wrong_length);
  expect_drop(stream_frame_size(Buffer{3, 0, 0x6e, 0}, 1400), Drop::unknown_phase);
  expect_drop(stream_frame_size(Buffer{0x16, 3, 1, 2}, 1400), Drop::wrong_version);  // a TLS hello
}

TEST(LinkMsg, KnowsItsThirteenTypesAndNoOthers) {
  unsigned known = 0;
  for (unsigned t = 0; t < 256; ++t) {
    const auto m = link_msg_of(Buffer{static_cast<std::uint8_t>(t)});
    if (m) {
      ++known;
      EXPECT_EQ(static_cast<unsigned>(*m), t);
      EXPECT_NE(name_of(*m), "unknown");
    } else {
      expect_drop(m, Drop::unknown_link_message);
    }
  }
  EXPECT_EQ(known, 13U);
  expect_drop(link_msg_of({}), Drop::too_short);
}

TEST(LinkMsg, DisconnectKeepsItsReasonAndIgnoresTrailers) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto m = decode_disconnect(Buffer{0x50, static_cast<std::uint8_t>(code), 0x77});
    ASSERT_TRUE(m);
    if (code <= 7 || code == 255) {
      EXPECT_EQ(static_cast<unsigned>(m->reason), code);
    } else {
      EXPECT_EQ(m->reason, DisconnectReason::other);
    }
  }
  Buffer out;
  encode_disconnect(out, {DisconnectReason::configuration_change});
  EXPECT_EQ(to_hex(out), "5006");
}

TEST(LinkMsg, DisconnectWithoutReasonIsIgnored) {
  expect_drop(decode_disconnect(Buffer{0x50}), Drop::no_reason);
  expect_drop(decode_disconnect({}), Drop::too_short);
  expect_drop(decode_disconnect(Buffer{0x51, 0}), Drop::wrong_type);
}

TEST(LinkMsg, HeartbeatIsItsTypeByte) {
  Buffer out;
  encode_heartbeat(out);
  EXPECT_EQ(to_hex(out), "51");
  EXPECT_TRUE(decode_heartbeat(out));
  expect_drop(decode_heartbeat(Buffer{0x50}), Drop::wrong_type);
  expect_drop(decode_heartbeat({}), Drop::too_short);
}

}  // namespace
}  // namespace weft::wire
