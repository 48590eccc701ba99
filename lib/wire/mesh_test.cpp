#include "wire/filter_announce.h"
#include "wire/lookup_msg.h"
#include "wire/report.h"
#include "wire/route_error.h"
#include "wire/testing.h"
#include "wire/tree_announce.h"

namespace weft::wire {
namespace {

TreeAnnounce announce_of(std::size_t n) {
  TreeAnnounce m;
  m.sequence = 7;
  m.timestamp = 1700000000;
  const auto path = long_path(n);
  for (const auto& a : path) m.ancestry.push_back({a, 7, 1700000000});
  m.parent = path[n > 1 ? 1 : 0];
  m.signature.fill(0x5a);
  return m;
}

template <class M>
Buffer encoded(void (*encode)(Buffer&, const M&), const M& m) {
  Buffer out;
  encode(out, m);
  return out;
}

Buffer tree(std::size_t n) { return encoded(encode_tree_announce, announce_of(n)); }

TEST(TreeAnnounce, ComesBackAsItWasSent) {
  for (const std::size_t n : {1, 2, 4, 35, 256}) {
    const auto b = tree(n);
    EXPECT_EQ(b.size(), tree_announce_size(n));
    const auto m = decode_tree_announce(b);
    ASSERT_TRUE(m);
    EXPECT_EQ(m->path(), long_path(n));
    EXPECT_EQ(m->sender(), long_path(n).front());
    EXPECT_EQ(m->root(), long_path(n).back());
    EXPECT_EQ(encoded(encode_tree_announce, *m), b);
  }
  EXPECT_EQ(tree_announce_size(35) + kFrameCost, 1256U);
  EXPECT_GT(tree_announce_size(36) + kFrameCost, 1280U);
}

TEST(TreeAnnounce, EveryCutIsRefusedAndTrailersAreIgnored) {
  const auto b = tree(3);
  expect_refuses_cuts(b, b.size(), decode_tree_announce);
  expect_drop(decode_tree_announce(Bytes(tree(1)).first(99)), Drop::too_short);
  auto longer = b;
  longer.push_back(1);
  EXPECT_TRUE(decode_tree_announce(longer));
}

TEST(TreeAnnounce, OtherTypesAndVersionsAreRefused) {
  expect_drop(decode_tree_announce(with(tree(1), 0, 0x20)), Drop::wrong_type);
  expect_drop(decode_tree_announce(with(tree(1), 1, 0)), Drop::wrong_version);
  expect_drop(decode_tree_announce(with(tree(1), 1, 2)), Drop::wrong_version);
}

TEST(TreeAnnounce, EntryCountIsCheckedAgainstTheBytes) {
  expect_drop(decode_tree_announce(with(tree(1), 34, 0)), Drop::bad_count);
  expect_drop(decode_tree_announce(with(tree(1), 34, 2)), Drop::bad_count);
  expect_drop(decode_tree_announce(with(tree(1), 35, 0xff)), Drop::bad_count);
}

TEST(TreeAnnounce, PathsLongerThanAnySaneTreeAreRefused) {
  expect_drop(decode_tree_announce(tree(257)), Drop::path_too_long);
  expect_drop(decode_tree_announce(tree(2000)), Drop::path_too_long);
}

TEST(TreeAnnounce, NamingANodeTwiceIsRefused) {
  auto m = announce_of(5);
  m.ancestry[4].addr = m.ancestry[1].addr;
  expect_drop(decode_tree_announce(encoded(encode_tree_announce, m)), Drop::duplicate_ancestor);
}

TEST(TreeAnnounce, HighestSequenceIsAccepted) {
  auto m = announce_of(1);
  m.sequence = UINT64_MAX;
  EXPECT_EQ(decode_tree_announce(encoded(encode_tree_announce, m))->sequence, UINT64_MAX);
}

TEST(FilterAnnounce, ComesBackAsItWasSentAndHasOneLength) {
  Buffer bits(kFilterBytes);
  bits[873] = 0x10;
  const auto b = encoded(encode_filter_announce, {500, bits});
  EXPECT_EQ(b.size(), kFilterAnnounceSize);
  EXPECT_EQ(to_hex(Bytes(b).first(11)), "20f4010000000000000501");
  const auto m = decode_filter_announce(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->sequence, 500U);
  EXPECT_TRUE(equal(m->bits, bits));
  expect_refuses_cuts(b, b.size(), decode_filter_announce);
  auto longer = b;
  longer.push_back(0);
  expect_drop(decode_filter_announce(longer), Drop::wrong_length);
}

TEST(FilterAnnounce, OtherSizesAndHashCountsAreRefused) {
  const auto b = encoded(encode_filter_announce, {1, Buffer(kFilterBytes)});
  for (unsigned v = 0; v < 256; ++v) {
    if (v != 1)
      expect_drop(decode_filter_announce(with(b, 10, static_cast<std::uint8_t>(v))), Drop::bad_filter_size);
    if (v != 5)
      expect_drop(decode_filter_announce(with(b, 9, static_cast<std::uint8_t>(v))), Drop::bad_hash_count);
  }
  expect_drop(decode_filter_announce(with(b, 0, 0x10)), Drop::wrong_type);
  expect_drop(decode_filter_announce(Bytes(b).first(10)), Drop::too_short);
}

LookupRequest request() { return {0x0102030405060708, node(3), node(7), 64, 0, path_of({7, 1, 0})}; }
LookupResponse response() {
  LookupResponse m{0x0102030405060708, node(3), 1400, path_of({3, 1, 0}), {}};
  m.proof.fill(0x77);
  return m;
}

TEST(Lookup, RequestComesBackAsItWasSent) {
  auto r = request();
  r.min_mtu = 999;  // used by nobody, but passed on
  const auto b = encoded(encode_lookup_request, r);
  EXPECT_EQ(b.size(), 46U + 16 * 3);
  const auto m = decode_lookup_request(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->min_mtu, 999);
  EXPECT_EQ(m->path, r.path);
  EXPECT_EQ(encoded(encode_lookup_request, *m), b);
  expect_refuses_cuts(b, b.size(), decode_lookup_request);
}

TEST(Lookup, ResponseComesBackAsItWasSent) {
  const auto b = encoded(encode_lookup_response, response());
  EXPECT_EQ(b.size(), 93U + 16 * 3);
  const auto m = decode_lookup_response(b);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->path_mtu, 1400);
  EXPECT_EQ(encoded(encode_lookup_response, *m), b);
  expect_refuses_cuts(b, b.size(), decode_lookup_response);
}

TEST(Lookup, EmptyAndImpossiblePathsAreRefused) {
  auto q = request();
  q.path.clear();
  expect_drop(decode_lookup_request(encoded(encode_lookup_request, q)), Drop::bad_count);
  expect_drop(decode_lookup_request(with(encoded(encode_lookup_request, request()), 45, 0xff)),
              Drop::bad_count);
  q.path = long_path(256);
  expect_drop(decode_lookup_request(encoded(encode_lookup_request, q)), Drop::path_too_long);
  auto a = response();
  a.path.clear();
  expect_drop(decode_lookup_response(encoded(encode_lookup_response, a)), Drop::bad_count);
  expect_drop(decode_lookup_response(with(encoded(encode_lookup_response, response()), 28, 0xff)),
              Drop::bad_count);
}

TEST(Lookup, OtherTypesAreRefused) {
  expect_drop(decode_lookup_request(with(encoded(encode_lookup_request, request()), 0, 0x31)),
              Drop::wrong_type);
  expect_drop(decode_lookup_response(with(encoded(encode_lookup_response, response()), 0, 0x30)),
              Drop::wrong_type);
}

TEST(Lookup, ProofCoversIdTargetAndCountedPathOnly) {
  const auto p = lookup_proof_preimage(1, node(3), path_of({3, 0}));
  EXPECT_EQ(p.size(), 26U + 32);
  EXPECT_EQ(load_le<std::uint16_t>(p.data() + 24), 2);
  EXPECT_NE(p, lookup_proof_preimage(1, node(3), path_of({3, 1, 0})));
}

TEST(RouteError, ThreeKindsComeBackAsTheyWereSent) {
  const std::vector<RouteError> all{CoordsRequired{node(1), node(2)}, PathBroken{node(1), node(2), {}},
                                    PathBroken{node(1), node(2), path_of({1, 5, 0})},
                                    MtuExceeded{node(1), node(2), 1280}};
  const std::size_t sizes[] = {38, 40, 88, 40};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto b = encoded(encode_route_error, all[i]);
    EXPECT_EQ(b.size(), sizes[i]);
    EXPECT_EQ(load_le<std::uint16_t>(b.data() + 2), b.size() - 4);
    const auto m = decode_route_error(b);
    ASSERT_TRUE(m);
    EXPECT_EQ(m->index(), all[i].index());
    EXPECT_EQ(dest_of(*m), node(1));
    EXPECT_EQ(reporter_of(*m), node(2));
    EXPECT_EQ(encoded(encode_route_error, *m), b);
    expect_refuses_cuts(b, b.size(), decode_route_error);
    auto longer = b;
    longer.push_back(9);
    EXPECT_TRUE(decode_route_error(longer));
  }
}

TEST(RouteError, ReservedByteAndLengthFieldAreIgnored) {
  const auto b = encoded<RouteError>(encode_route_error, CoordsRequired{node(1), node(2)});
  EXPECT_TRUE(decode_route_error(with(b, 5, 0xff)));
  EXPECT_TRUE(decode_route_error(with(b, 2, 0xff)));
}

TEST(RouteError, UnknownTypesAndOtherPayloadsAreRefused) {
  const auto b = encoded<RouteError>(encode_route_error, CoordsRequired{node(1), node(2)});
  expect_drop(decode_route_error(with(b, 4, 0x23)), Drop::unknown_signal);
  expect_drop(decode_route_error(with(b, 0, 0x10)), Drop::wrong_version);
  expect_drop(decode_route_error(with(b, 0, 0x01)), Drop::unknown_phase);
  expect_drop(decode_route_error(with(b, 1, 0x00)), Drop::bad_flags);
}

TEST(RouteError, PathBrokenWithAHugeListIsRefusedBeforeAllocating) {
  const auto b = encoded<RouteError>(encode_route_error, PathBroken{node(1), node(2), path_of({1})});
  expect_drop(decode_route_error(with(b, 39, 0xff)), Drop::bad_count);
  expect_drop(decode_route_error(encoded<RouteError>(encode_route_error, PathBroken{{}, {}, long_path(256)})),
              Drop::path_too_long);
}

TEST(Report, BothFormsComeBackAsTheyWereSent) {
  const SenderReport s{1, 2, 3, 4, 5, 6, 7};
  const ReceiverReport r{1, 2, 3, 4, 5, 6, 7, 8, 9, -10, 11, 12, 13, 14};
  const std::pair<ReportForm, std::size_t> forms[] = {{ReportForm::link, 48}, {ReportForm::session, 46}};
  for (const auto& [form, size] : forms) {
    Buffer b;
    encode_sender_report(b, s, form);
    EXPECT_EQ(b.size(), size);
    EXPECT_EQ(*decode_sender_report(b, form), s);
    expect_refuses_cuts(b, size, [f = form](Bytes in) { return decode_sender_report(in, f); });
    b.clear();
    encode_receiver_report(b, r, form);
    EXPECT_EQ(b.size(), size + 20);
    EXPECT_EQ(*decode_receiver_report(b, form), r);
    b.push_back(0xee);  // trailers are ignored
    expect_refuses_cuts(b, size + 20, [f = form](Bytes in) { return decode_receiver_report(in, f); });
  }
}

TEST(Report, ReservedBytesAreIgnoredAndOtherTypesRefused) {
  Buffer b;
  encode_sender_report(b, {}, ReportForm::link);
  EXPECT_TRUE(decode_sender_report(with(b, 2, 0xff), ReportForm::link));
  expect_drop(decode_sender_report(with(b, 0, 2), ReportForm::link), Drop::wrong_type);
  expect_drop(decode_sender_report({}, ReportForm::link), Drop::too_short);
}

TEST(Report, PathMtuNotificationIsItsNumber) {
  const auto b = encoded(encode_path_mtu_notification, {1280});
  EXPECT_EQ(to_hex(b), "0005");
  EXPECT_EQ(decode_path_mtu_notification(b)->path_mtu, 1280);
  expect_refuses_cuts(b, 2, decode_path_mtu_notification);
}

}  // namespace
}  // namespace weft::wire
