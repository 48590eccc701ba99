#include "wire/session_frame.h"
#include "wire/testing.h"

namespace weft::wire {
namespace {

Buffer sealed(bool coords, const Path& from, const Path& to, std::size_t ciphertext) {
  Buffer out(kSessionHeader);
  write_session_header(out, {coords, true, static_cast<std::uint16_t>(ciphertext - kTag), 7});
  if (coords) {
    put_path(out, from);
    put_path(out, to);
  }
  out.resize(out.size() + ciphertext, 0xcc);
  return out;
}

Buffer setup(const Path& from = path_of({1, 0}), const Path& to = path_of({2, 1, 0})) {
  SessionSetup m{from, to, {}};
  m.noise.fill(3);
  Buffer out;
  encode_session_setup(out, m);
  return out;
}

Buffer ack() {
  SessionAck m{path_of({2, 0}), path_of({1, 0}), {}};
  m.noise.fill(4);
  Buffer out;
  encode_session_ack(out, m);
  return out;
}

Buffer msg3() {
  SessionMsg3 m;
  m.noise.fill(5);
  Buffer out;
  encode_session_msg3(out, m);
  return out;
}

TEST(Coords, ListIsSelfFirstAndBorrowed) {
  Buffer b;
  put_path(b, path_of({3, 1, 0}));
  EXPECT_EQ(b.size(), coords_size(3));
  Reader in{b};
  const auto v = read_coords(in, CoordForm::strict);
  ASSERT_TRUE(v);
  EXPECT_EQ(v->path(), path_of({3, 1, 0}));
  EXPECT_TRUE(v->belongs_to(node(3)));
  EXPECT_FALSE(v->belongs_to(node(0)));
  EXPECT_FALSE(CoordView{}.belongs_to(node(0)));
}

TEST(Coords, ZeroEntriesAreAbsenceOnlyWhereTheFormAllowsIt) {
  const Buffer none{0, 0};
  Reader strict{none};
  expect_drop(read_coords(strict, CoordForm::strict), Drop::bad_count);
  Reader optional{none};
  EXPECT_TRUE(read_path(optional, CoordForm::optional)->empty());
  Reader cut{Bytes(none).first(1)};
  expect_drop(read_coords(cut, CoordForm::optional), Drop::too_short);
}

TEST(Coords, CountBeyondTheBytesIsRefusedBeforeAnythingIsAllocated) {
  Buffer b;
  put_path(b, path_of({1, 0}));
  b[0] = 0xff;
  b[1] = 0xff;
  Reader in{b};
  expect_drop(read_path(in, CoordForm::strict), Drop::bad_count);
}

TEST(Coords, ListsOverTheCapAreRefused) {
  Buffer b;
  put_path(b, long_path(255));
  Reader ok{b};
  EXPECT_EQ(read_path(ok, CoordForm::strict)->size(), 255U);
  b.clear();
  put_path(b, long_path(256));
  Reader in{b};
  expect_drop(read_path(in, CoordForm::strict), Drop::path_too_long);
}

TEST(SessionPayload, IsSortedByPrefixAlone) {
  const auto kind = [](std::uint8_t first, std::uint8_t flags) {
    return classify_session_payload(Buffer{first, flags, 0, 0});
  };
  EXPECT_EQ(*kind(0x00, 0x01), SessionKind::sealed);
  EXPECT_EQ(*kind(0x00, 0x04), SessionKind::signal);
  EXPECT_EQ(*kind(0x01, 0x00), SessionKind::setup);
  EXPECT_EQ(*kind(0x02, 0x00), SessionKind::ack);
  EXPECT_EQ(*kind(0x03, 0xfb), SessionKind::msg3);  // flags mean nothing here
  for (unsigned phase = 4; phase < 16; ++phase)
    expect_drop(kind(static_cast<std::uint8_t>(phase), 0), Drop::unknown_phase);
  expect_drop(kind(0x10, 0), Drop::wrong_version);
  expect_drop(kind(0x01, 0x04), Drop::bad_flags);
  for (std::size_t n = 0; n < 4; ++n) expect_drop(classify_session_payload(Buffer(n)), Drop::too_short);
}

TEST(SealedSession, HeaderIsTheTwelveBytesThatThePeerAuthenticates) {
  const auto b = sealed(false, {}, {}, 22);
  EXPECT_EQ(to_hex(Bytes(b).first(12)), "000206000700000000000000");
  const auto s = decode_sealed_session(b);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->header, (SessionHeader{false, true, 6, 7}));
  EXPECT_EQ(s->aad.data(), b.data());
  EXPECT_EQ(s->aad.size(), 12U);
  EXPECT_EQ(s->ciphertext.data(), b.data() + 12);
  EXPECT_EQ(s->ciphertext.size(), 22U);
}

TEST(SealedSession, CoordinatesLieBetweenHeaderAndCiphertext) {
  const auto b = sealed(true, path_of({1, 0}), path_of({2, 3, 0}), 22);
  EXPECT_EQ(b.size(), 38U + 16 * 5);  // a CoordsWarmup of these paths
  const auto s = decode_sealed_session(b);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->from.path(), path_of({1, 0}));
  EXPECT_EQ(s->to.path(), path_of({2, 3, 0}));
  EXPECT_EQ(s->aad.size(), 12U);
  EXPECT_EQ(s->ciphertext.size(), 22U);
}

TEST(SealedSession, UnknownDestinationPathIsSentAsCountZero) {
  const auto s = decode_sealed_session(sealed(true, path_of({1}), {}, 22));
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->to.empty());
}

TEST(SealedSession, CutsNeverReachPastTheEnd) {
  const auto plain = sealed(false, {}, {}, 40);
  expect_refuses_cuts(plain, 28, decode_sealed_session);
  const auto cp = sealed(true, path_of({1, 0}), path_of({2}), 16);
  expect_refuses_cuts(cp, cp.size(), decode_sealed_session);
}

TEST(SealedSession, CoordinateCountBeyondTheBytesDropsTheMessage) {
  auto b = sealed(true, path_of({1, 0}), path_of({2}), 22);
  expect_drop(decode_sealed_session(with(b, 13, 0xff)), Drop::bad_count);
  expect_drop(decode_sealed_session(with(b, 12, 6)), Drop::bad_count);
}

TEST(SealedSession, RefusesOtherVersionsPhasesAndSignals) {
  const auto b = sealed(false, {}, {}, 30);
  expect_drop(decode_sealed_session(with(b, 0, 0x10)), Drop::wrong_version);
  expect_drop(decode_sealed_session(with(b, 0, 0x01)), Drop::unknown_phase);
  expect_drop(decode_sealed_session(with(b, 1, 0x04)), Drop::bad_flags);
  const auto reserved = decode_sealed_session(with(b, 1, 0xfa));
  ASSERT_TRUE(reserved);
  EXPECT_TRUE(reserved->header.key_epoch);
}

TEST(SealedSession, LengthFieldIsNotCompared) {
  // Tag and coordinates are outside it, old peers never looked, and the AEAD covers it.
  EXPECT_TRUE(decode_sealed_session(with(sealed(false, {}, {}, 30), 2, 0x77)));
}

TEST(SessionInner, CarriesTimestampTypeSpinAndBody) {
  Buffer b(6);
  write_session_inner(b, {0x01020304, 0x10, true, {}});
  EXPECT_EQ(to_hex(b), "040302011001");
  b.push_back(0x99);
  const auto m = decode_session_inner(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->timestamp, 0x01020304U);
  EXPECT_EQ(m->type, 0x10);
  EXPECT_EQ(to_hex(m->body), "99");
  EXPECT_FALSE(decode_session_inner(with(b, 5, 0xfe))->spin);
  EXPECT_TRUE(decode_session_inner(with(b, 5, 0xff))->spin);
  expect_refuses_cuts(b, 6, decode_session_inner);
  expect_drop(decode_session_inner(Bytes(b).first(5)), Drop::inner_short);
}

TEST(SessionInner, KnowsItsFiveTypes) {
  for (unsigned t = 0; t < 256; ++t) {
    const auto m = session_msg_of(static_cast<std::uint8_t>(t));
    EXPECT_EQ(m.has_value(), t >= 0x10 && t <= 0x14) << t;
  }
}

TEST(DataPacket, PortsComeFirst) {
  Buffer b(4);
  write_ports(b, {kPortShim, kPortShim, {}});
  EXPECT_EQ(to_hex(b), "00010001");
  b.push_back(0x00);
  const auto m = decode_data_packet(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->to_port, kPortShim);
  EXPECT_EQ(m->payload.size(), 1U);
  expect_refuses_cuts(b, 4, decode_data_packet);
}

TEST(SessionHandshake, MessagesHaveTheirStatedSizes) {
  EXPECT_EQ(setup().size(), 44U + 16 * 5);
  EXPECT_EQ(ack().size(), 68U + 16 * 4);
  EXPECT_EQ(msg3().size(), 80U);
  EXPECT_EQ(to_hex(Bytes(msg3()).first(4)), "03004c00");
  EXPECT_EQ(load_le<std::uint16_t>(setup().data() + 2), setup().size() - 4);
}

TEST(SessionHandshake, MessagesComeBackAsTheyWereSent) {
  Buffer again;
  encode_session_setup(again, *decode_session_setup(setup()));
  EXPECT_EQ(again, setup());
  again.clear();
  encode_session_ack(again, *decode_session_ack(ack()));
  EXPECT_EQ(again, ack());
  again.clear();
  encode_session_msg3(again, *decode_session_msg3(msg3()));
  EXPECT_EQ(again, msg3());
}

TEST(SessionHandshake, EveryCutIsRefusedAndTrailersAreIgnored) {
  expect_refuses_cuts(setup(), setup().size(), decode_session_setup);
  expect_refuses_cuts(ack(), ack().size(), decode_session_ack);
  expect_refuses_cuts(msg3(), msg3().size(), decode_session_msg3);
  auto longer = setup();
  longer.push_back(1);
  EXPECT_TRUE(decode_session_setup(longer));
  longer = msg3();
  longer.push_back(1);
  EXPECT_TRUE(decode_session_msg3(longer));
}

TEST(SessionHandshake, OtherNoiseLengthsAreRefused) {
  const auto s = setup();
  const auto at = s.size() - 33 - 2;
  expect_drop(decode_session_setup(with(s, at, 32)), Drop::bad_handshake_length);
  expect_drop(decode_session_msg3(with(msg3(), 5, 72)), Drop::bad_handshake_length);
  expect_drop(decode_session_ack(setup()), Drop::unknown_phase);
  auto as_ack = setup();
  as_ack[0] = 2;
  auto as_setup = ack();  // longer than a setup's, and yet no setup
  as_setup[0] = 1;
  expect_drop(decode_session_setup(as_setup), Drop::bad_handshake_length);
  expect_drop(decode_session_ack(as_ack), Drop::bad_handshake_length);
}

TEST(SessionHandshake, EmptyOrImpossibleListsAreRefused) {
  expect_drop(decode_session_setup(setup({}, path_of({1}))), Drop::bad_count);
  expect_drop(decode_session_setup(setup(path_of({1}), {})), Drop::bad_count);
  expect_drop(decode_session_setup(with(setup(), 6, 0xff)), Drop::bad_count);
  expect_drop(decode_session_setup(setup(long_path(256), path_of({1}))), Drop::path_too_long);
}

TEST(SessionHandshake, ListsThatFitNoTreeStillParse) {
  // A filler, a repeated or an all-zero entry is no reason to refuse a handshake; only nobody caches it.
  EXPECT_TRUE(decode_session_setup(setup(path_of({7, 7, 0}), path_of({0, 0}))));
}

TEST(PassingCoords, AreReadFromSetupAckAndMarkedFrames) {
  const auto bytes = setup();
  const auto from_setup = peek_coords(bytes);
  ASSERT_TRUE(from_setup);
  EXPECT_EQ(from_setup->from.path(), path_of({1, 0}));
  EXPECT_EQ(from_setup->to.path(), path_of({2, 1, 0}));
  EXPECT_EQ(peek_coords(ack())->from.path(), path_of({2, 0}));
  EXPECT_EQ(peek_coords(sealed(true, path_of({9}), {}, 22))->from.path(), path_of({9}));
  EXPECT_EQ(peek_coords(with(setup(), 0, 0x51))->to.path(), path_of({2, 1, 0}));  // version not tested
}

TEST(PassingCoords, AreAbsentElsewhere) {
  EXPECT_TRUE(peek_coords(sealed(false, {}, {}, 22))->from.empty());
  EXPECT_TRUE(peek_coords(msg3())->from.empty());
  for (std::size_t n = 0; n < 4; ++n) EXPECT_TRUE(peek_coords(Buffer(n, 1))->from.empty());
  const auto cp = sealed(true, path_of({1}), path_of({2}), 22);
  EXPECT_TRUE(peek_coords(with(cp, 1, 0x05))->from.empty());  // a signal
  EXPECT_TRUE(peek_coords(with(cp, 0, 0x10))->from.empty());  // another version
}

TEST(PassingCoords, MarkedFrameTooShortForThemIsNamed) {
  for (std::size_t n = 4; n < 28; ++n) expect_drop(peek_coords(with(Buffer(n), 1, 0x01)), Drop::short_cp);
}

TEST(PassingCoords, NeverReadPastTheEnd) {
  for (const auto& b : {setup(), ack()}) {
    for (std::size_t n = 4; n < b.size(); ++n) EXPECT_FALSE(on_exactly(b, n, peek_coords)) << n;
  }
  const auto cp = sealed(true, path_of({1, 0}), path_of({2}), 22);
  for (std::size_t n = 4; n <= cp.size(); ++n) on_exactly(cp, n, peek_coords);
  expect_drop(peek_coords(with(cp, 13, 0xff)), Drop::warm_malformed);
  expect_drop(peek_coords(with(setup(), 6, 0xff)), Drop::warm_malformed);
}

}  // namespace
}  // namespace weft::wire
