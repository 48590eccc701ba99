#include "bloom/exchange.h"

#include <gtest/gtest.h>

#include <set>

#include "crypto/hash.h"
#include "testing/vectors/load.h"
#include "wire/filter_announce.h"

namespace weft {
namespace {

using vectors::node;

Instant at_ms(std::int64_t ms) { return Instant{} + std::chrono::milliseconds(ms); }
const BloomExchange::Predicate kNobody = [](const NodeAddr&) { return false; };

Filter of(const std::vector<unsigned>& members) {
  Filter f;
  for (const auto m : members) f.insert(FilterKey::of(node(m)));
  return f;
}
Buffer message_of(const Filter& f, std::uint64_t sequence) {
  Buffer out;
  const auto bits = f.bytes();
  wire::encode_filter_announce(out, {sequence, bits});
  return out;
}
Filter full(std::size_t ones) {
  std::array<std::uint8_t, 1024> bits{};
  for (std::size_t b = 0; b < ones; ++b)
    bits[b / 8] = static_cast<std::uint8_t>(bits[b / 8] | (1U << (b % 8)));
  return Filter::from(bits);
}

/// We are node 9; 1 and 2 are tree peers, 3 is not. All have been sent their first filter at 0 ms.
struct Rig {
  BloomExchange x;
  std::set<NodeAddr> tree{node(1), node(2)};
  explicit Rig(bool early = false) : x(node(9), Now{Instant{}, 1000}, limits(early)) {
    for (const unsigned p : {1U, 2U, 3U}) x.add_peer(node(p), at_ms(0));
    sync(0);
    take(0);
  }
  /// Early repeats would only be in the way of most tests.
  static BloomLimits limits(bool early) {
    BloomLimits l;
    if (!early) l.early_repeats = {l.repeat, l.repeat};
    return l;
  }
  void sync(std::int64_t ms) {
    x.set_tree_peers([&](const NodeAddr& a) { return tree.contains(a); }, at_ms(ms));
  }
  std::vector<BloomExchange::Send> take(std::int64_t ms) { return x.take_due(at_ms(ms), kNobody); }
  std::vector<NodeAddr> to(std::int64_t ms) {
    std::vector<NodeAddr> out;
    for (const auto& s : take(ms)) out.push_back(s.to);
    std::ranges::sort(out);
    return out;
  }
  Result<void, Drop> hear(unsigned from, const Filter& f, std::uint64_t sequence, std::int64_t ms = 1000) {
    return x.on_filter(node(from), message_of(f, sequence), at_ms(ms));
  }
};

TEST(BloomExchange, TellsEachPeerWhatTheVectorsSay) {
  const auto v = vectors::load("mesh.json")["bloom"]["split_horizon"];
  Rig r;
  unsigned peer = 0;
  for (const auto& [name, members] : v["inbound"].items())
    ASSERT_TRUE(r.hear(++peer, of(members.get<std::vector<unsigned>>()), 5));
  for (const auto& [name, out] : v["outgoing"].items()) {
    const auto f = r.x.outgoing(node(static_cast<unsigned>(name.back() - 'A' + 1)));
    EXPECT_EQ(f, of(out["members"].get<std::vector<unsigned>>())) << name;
    EXPECT_EQ(to_hex(crypto::sha256(f.bytes())), out["sha256"]) << name;
  }
  EXPECT_EQ(r.x.mesh_size(), v["mesh_size_rounded"].get<std::uint64_t>());
}

TEST(BloomExchange, ANewPeerHearsOfUsAtOnceAndNobodyElseAgain) {
  Rig r;
  r.x.add_peer(node(4), at_ms(1000));
  EXPECT_EQ(r.to(1000), std::vector{node(4)});
  EXPECT_EQ(r.x.outgoing(node(4)), of({9}));
}

TEST(BloomExchange, MarksOnlyThoseWhoseFilterDiffers) {
  Rig r;
  ASSERT_TRUE(r.hear(1, of({1, 11}), 5));
  EXPECT_EQ(r.to(1000), (std::vector{node(2), node(3)}));
  ASSERT_TRUE(r.hear(1, of({1, 11}), 6, 2000));
  EXPECT_TRUE(r.to(2000).empty());
  ASSERT_TRUE(r.hear(3, of({3, 31}), 5, 3000));  // no tree peer: kept, never passed on
  EXPECT_TRUE(r.to(3000).empty());
  EXPECT_TRUE(r.x.may_reach(node(3), FilterKey::of(node(31))));
  EXPECT_TRUE(r.x.any_reaches(FilterKey::of(node(31))));
  EXPECT_FALSE(r.x.any_reaches(FilterKey::of(node(77))));
}

TEST(BloomExchange, AFilterHeardBeforeItsSenderBecameATreePeerIsPassedOnThen) {
  Rig r;
  ASSERT_TRUE(r.hear(3, of({3, 31}), 5));
  r.tree.insert(node(3));
  r.sync(1000);
  EXPECT_EQ(r.to(1000), (std::vector{node(1), node(2)}));
  r.tree.erase(node(3));
  r.sync(2000);
  EXPECT_EQ(r.to(2000), (std::vector{node(1), node(2)}));
  EXPECT_EQ(r.x.outgoing(node(1)), of({9}));
}

TEST(BloomExchange, SpacesFiltersAndSendsTheNewestContent) {
  Rig r;
  ASSERT_TRUE(r.hear(1, of({1}), 5, 100));
  EXPECT_TRUE(r.take(499).empty());
  ASSERT_TRUE(r.hear(1, of({1, 11}), 6, 499));
  const auto sent = r.take(500);
  ASSERT_EQ(sent.size(), 2u);
  const auto m = wire::decode_filter_announce(sent[0].message);
  ASSERT_TRUE(m);
  EXPECT_EQ(Filter::from(m->bits), of({9, 1, 11}));
  EXPECT_TRUE(r.take(600).empty());
}

TEST(BloomExchange, NumbersRiseNodeWideFromTheClock) {
  Rig r;
  EXPECT_EQ(r.x.sequence(), 1003u);
  r.x.mark_all(at_ms(1000));
  std::uint64_t last = 1003;
  for (const auto& s : r.take(1000)) {
    const auto m = wire::decode_filter_announce(s.message);
    EXPECT_EQ(m->sequence, ++last);
  }
  EXPECT_EQ(last, 1006u);
}

TEST(BloomExchange, RepeatsANewFilterSoonAndEachFilterEveryMinute) {
  Rig r(true);
  std::vector<std::int64_t> times;
  while (times.size() < 4) {
    times.push_back(to_ms(*r.x.deadline() - Instant{}));
    EXPECT_TRUE(r.take(times.back() - 1).empty());
    EXPECT_EQ(r.take(times.back()).size(), 3u);
  }
  EXPECT_EQ(times, (std::vector<std::int64_t>{2'000, 10'000, 70'000, 130'000}));
  r.x.mark_all(at_ms(131'000));  // nothing new to say: no early repeat
  EXPECT_EQ(r.take(131'000).size(), 3u);
  EXPECT_EQ(*r.x.deadline(), at_ms(191'000));
}

TEST(BloomExchange, AFilterWaitsForItsAnnounce) {
  Rig r;
  r.x.mark_all(at_ms(1000));
  const auto sent = r.x.take_due(at_ms(1000), [](const NodeAddr& a) { return a == node(2); });
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_EQ(*r.x.deadline(), at_ms(1050));
  EXPECT_EQ(r.to(1050), std::vector{node(2)});
}

TEST(BloomExchange, RemovingAPeerForgetsItsFilterAndMarksAll) {
  Rig r;
  ASSERT_TRUE(r.hear(1, of({1, 11}), 5));
  r.to(1000);
  r.x.remove_peer(node(1), at_ms(2000));
  EXPECT_EQ(r.to(2000), (std::vector{node(2), node(3)}));
  EXPECT_EQ(r.x.outgoing(node(2)), of({9}));
  EXPECT_EQ(r.x.inbound(node(1)), nullptr);
  EXPECT_FALSE(r.hear(1, of({1}), 9));
}

TEST(BloomExchange, ARestartedPeerStartsItsNumbersAgainAndIsToldAgain) {
  Rig r;
  ASSERT_TRUE(r.hear(1, of({1, 11}), 500));
  r.to(1000);
  EXPECT_FALSE(r.hear(1, of({1}), 1));
  r.x.peer_restarted(node(1), at_ms(1100));
  EXPECT_EQ(r.to(1100), std::vector{node(1)});
  EXPECT_EQ(r.x.outgoing(node(2)), of({9, 1, 11}));  // until it says otherwise
  EXPECT_FALSE(r.hear(1, of({1}), 0));
  EXPECT_TRUE(r.hear(1, of({1}), 1));
  EXPECT_EQ(r.x.outgoing(node(2)), of({9, 1}));
}

TEST(BloomExchange, RefusalsKeepFilterAndNumber) {
  Rig r;
  const auto good = of({1, 11});
  ASSERT_TRUE(r.hear(1, good, 5));
  r.to(1000);
  const auto refuse = [&](unsigned from, Buffer m, Drop why) {
    const auto result = r.x.on_filter(node(from), m, at_ms(2000));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), why) << name_of(result.error());
  };
  auto k = message_of(good, 6);
  for (const int n : {0, 1, 4, 6, 255}) {
    k[9] = static_cast<std::uint8_t>(n);
    refuse(1, k, Drop::bad_hash_count);
  }
  auto other_class = message_of(good, 6);
  for (const int n : {0, 2, 3, 200}) {
    other_class[10] = static_cast<std::uint8_t>(n);
    refuse(1, other_class, Drop::bad_filter_size);
  }
  auto longer = message_of(good, 6);
  longer.push_back(0);
  refuse(1, longer, Drop::wrong_length);
  for (std::size_t n = 0; n < 1035; ++n) {
    const auto m = message_of(good, 6);
    EXPECT_FALSE(r.x.on_filter(node(1), Bytes(m).first(n), at_ms(2000)));
  }
  refuse(8, message_of(good, 6), Drop::unknown_peer);
  refuse(1, message_of(good, 5), Drop::stale);
  refuse(2, message_of(good, 0), Drop::stale);
  refuse(1, message_of(full(8192), 6), Drop::filter_too_full);
  refuse(1, message_of(full(5938), 6), Drop::filter_too_full);
  EXPECT_EQ(r.x.inbound(node(1))->sequence, 5u);
  EXPECT_EQ(r.x.inbound(node(1))->filter, good);
  EXPECT_TRUE(r.to(3000).empty());
  EXPECT_TRUE(r.hear(1, full(5937), 6));
  const auto& c = r.x.counters();
  EXPECT_EQ(c.invalid, 5u);
  EXPECT_EQ(c.non_v1, 4u);
  EXPECT_EQ(c.decode_error, 1036u);
  EXPECT_EQ(c.unknown_peer, 1u);
  EXPECT_EQ(c.stale, 2u);
  EXPECT_EQ(c.fill_exceeded, 2u);
  EXPECT_EQ(c.accepted, 2u);
}

TEST(BloomExchange, TheCapOfOlderVersionsAdmits5168Ones) {
  BloomLimits limits;
  limits.max_inbound_fpr = 0.10;
  BloomExchange x(node(9), Now{}, limits);
  x.add_peer(node(1), at_ms(0));
  EXPECT_FALSE(x.on_filter(node(1), message_of(full(5169), 1), at_ms(0)));
  EXPECT_TRUE(x.on_filter(node(1), message_of(full(5168), 1), at_ms(0)));
}

TEST(BloomExchange, MeshSizeIsUnknownWithoutFiltersAndWhenTheUnionIsTooFull) {
  Rig r;
  EXPECT_FALSE(r.x.mesh_size());
  ASSERT_TRUE(r.hear(3, of({3}), 1));
  EXPECT_EQ(r.x.mesh_size(), 2u);
  ASSERT_TRUE(r.hear(1, full(5937), 1));
  Filter high;
  for (unsigned i = 0; i < 256; ++i) high.insert(FilterKey::of(node(i)));
  ASSERT_TRUE(r.hear(2, high, 1));
  EXPECT_FALSE(r.x.mesh_size());
}

TEST(BloomExchange, DependantsAreToldToEverybody) {
  Rig r;
  r.x.set_dependants({node(40)}, at_ms(1000));
  EXPECT_EQ(r.to(1000).size(), 3u);
  EXPECT_EQ(r.x.outgoing(node(3)), of({9, 40}));
}

TEST(BloomExchange, AFailedSendIsTriedAgainUnderAnotherNumber) {
  Rig r;
  const auto before = r.x.sequence();
  r.x.on_send_failed(node(2), at_ms(0));
  EXPECT_EQ(r.to(500), std::vector{node(2)});
  EXPECT_EQ(r.x.sequence(), before + 1);
  EXPECT_EQ(r.x.counters().send_failed, 1u);
}

}  // namespace
}  // namespace weft
