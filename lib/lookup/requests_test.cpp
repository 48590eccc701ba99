#include "lookup/requests.h"

#include <gtest/gtest.h>

#include "crypto/identity.h"
#include "testing/vectors/load.h"

namespace weft {
namespace {

using vectors::node;

Instant at_ms(std::int64_t ms) { return Instant{} + std::chrono::milliseconds(ms); }

Buffer request(std::uint64_t id, unsigned target, unsigned origin = 30, std::uint8_t ttl = 64,
               std::uint16_t min_mtu = 0) {
  Buffer out;
  wire::encode_lookup_request(out, {id, node(target), node(origin), ttl, min_mtu, {node(origin), node(0)}});
  return out;
}
Buffer response(std::uint64_t id, unsigned target, std::uint16_t mtu = 65535) {
  Buffer out;
  wire::encode_lookup_response(out, {id, node(target), mtu, {node(target), node(0)}, {}});
  return out;
}
template <class T, class R>
const T* as(const R& r) {
  return r ? std::get_if<T>(&*r) : nullptr;
}

/// We are node 9 under root 0.
struct Rig {
  Lookups l{node(9)};
  Path own{node(9), node(0)};
  SeededRng rng{1};
  std::vector<LookupPeer> reach{{node(1), true}, {node(2), false}, {node(3), true}};
  Reaching reaching = [this](const NodeAddr&) { return reach; };
};

TEST(Lookups, TransitLowersTheTtlAndNothingElse) {
  const auto v = vectors::load("mesh.json")["lookup"];
  Rig r;
  const auto in = vectors::bytes(v["request"]);
  const auto got = r.l.on_request(node(4), in, at_ms(0));
  const auto* pass = as<Lookups::Pass>(got);
  ASSERT_NE(pass, nullptr);
  const auto send = r.l.fan_out(*pass, node(4), r.reach);
  ASSERT_TRUE(send);
  EXPECT_EQ(to_hex(send->message), v["request_after_one_transit"]);
  EXPECT_EQ(send->to, (std::vector{node(1), node(3)}));
  const auto got2 = r.l.on_request(node(4), request(5, 40, 30, 64, 777), at_ms(0));
  EXPECT_EQ(as<Lookups::Pass>(got2)->request.min_mtu, 777);
}

TEST(Lookups, AnswersAsTheVectorsDo) {
  const auto v = vectors::load("mesh.json")["lookup"];
  const auto target = vectors::id<NodeAddr>(v["target"]);
  Lookups l(target);
  const auto got = l.on_request(node(4), vectors::bytes(v["request"]), at_ms(0));
  const auto* answer = as<Lookups::Answer>(got);
  ASSERT_NE(answer, nullptr);
  const auto whole = wire::decode_lookup_response(vectors::bytes(v["response_at_target_link_mtu_1400"]));
  const auto bytes = l.answer(*answer, whole->path, 1400, [&](const crypto::Digest& d) {
    EXPECT_EQ(to_hex(d), v["proof_digest"]);
    return whole->proof;
  });
  ASSERT_TRUE(bytes);
  EXPECT_EQ(to_hex(*bytes), v["response_at_target_link_mtu_1400"]);
  EXPECT_FALSE(l.answer(*answer, whole->path, 1400, [](const auto&) { return std::nullopt; }));
}

TEST(Lookups, TheTtlRulesAreNotThoseOfDatagrams) {
  const auto cases = vectors::load("mesh.json")["lookup"]["ttl"];
  std::uint64_t id = 0;
  unsigned target = 40;
  Rig r;
  for (const auto& v : cases) {
    const bool mine = v["target_is_me"].get<bool>();
    const auto ttl = v["arriving"].get<std::uint8_t>();
    const auto got = r.l.on_request(node(4), request(++id, mine ? 9 : ++target, 30, ttl), at_ms(0));
    const auto action = v["action"].get<std::string>();
    if (action == "answer") {
      EXPECT_NE(as<Lookups::Answer>(got), nullptr);
    } else if (action == "drop") {
      EXPECT_EQ(got.error(), Drop::ttl_spent);
    } else {
      ASSERT_NE(as<Lookups::Pass>(got), nullptr);
      EXPECT_EQ(action, "forward with ttl " + std::to_string(as<Lookups::Pass>(got)->request.ttl));
    }
  }
}

TEST(Lookups, OneTargetIsForwardedEveryTwoSeconds) {
  const auto cases = vectors::load("mesh.json")["lookup"]["transit_limiter_2s"];
  Rig r;
  std::uint64_t id = 0;
  for (const auto& v : cases) {
    const auto got = r.l.on_request(node(4), request(++id, 40), at_ms(v["t_ms"].get<std::int64_t>()));
    EXPECT_EQ(got.has_value(), v["forward"].get<bool>()) << v;
    if (!got) {
      EXPECT_EQ(got.error(), Drop::request_rate);
    }
  }
}

TEST(Lookups, NodesThatWantTheSameTargetDoNotTakeEachOthersTurn) {
  Rig r;
  for (unsigned origin = 30; origin < 35; ++origin) {
    auto m = *wire::decode_lookup_request(request(origin, 40));
    m.origin = node(origin);
    m.path = {node(origin), node(1)};
    Buffer b;
    wire::encode_lookup_request(b, m);
    EXPECT_TRUE(r.l.on_request(node(4), b, at_ms(0)));
    m.id += 100;
    b.clear();
    wire::encode_lookup_request(b, m);
    EXPECT_EQ(r.l.on_request(node(4), b, at_ms(500)).error(), Drop::request_rate);
  }
}

TEST(Lookups, SendsAndGivesUpOnTheKnownSchedule) {
  const auto v = vectors::load("mesh.json")["lookup"]["retry"];
  Rig r;
  std::vector<std::int64_t> times;
  std::set<std::uint64_t> ids;
  auto first = r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0));
  ASSERT_EQ(first.outcome, Lookups::Start::sent);
  EXPECT_EQ(first.send.to, (std::vector{node(1), node(3)}));
  times.push_back(0);
  ids.insert(wire::decode_lookup_request(first.send.message)->id);
  std::optional<std::int64_t> failed;
  while (const auto due = r.l.deadline()) {
    const auto out = r.l.on_deadline(r.own, r.reaching, r.rng, *due);
    for (const auto& s : out.sends) {
      times.push_back(to_ms(*due - Instant{}));
      const auto m = wire::decode_lookup_request(s.message);
      ids.insert(m->id);
      EXPECT_EQ(m->ttl, 64);
      EXPECT_EQ(m->min_mtu, 0);
      EXPECT_EQ(m->origin, node(9));
      EXPECT_EQ(m->path, r.own);
    }
    if (!out.failed.empty()) failed = to_ms(*due - Instant{});
  }
  EXPECT_EQ(times, v["send_times_ms"].get<std::vector<std::int64_t>>());
  EXPECT_EQ(failed, v["fail_at_ms"].get<std::int64_t>());
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_TRUE(r.l.pending().empty());
  EXPECT_EQ(r.l.counters().req_initiated, 4u);
  EXPECT_EQ(r.l.counters().resp_timed_out, 1u);
}

TEST(Lookups, AsksOthersWhenNoTreePeerReachesTheTarget) {
  Rig r;
  r.reach = {{node(2), false}};
  EXPECT_EQ(r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0)).send.to, std::vector{node(2)});
  r.reach = {};
  EXPECT_EQ(r.l.start(node(41), r.own, r.reaching, r.rng, at_ms(0)).outcome, Lookups::Start::unreachable);
  EXPECT_EQ(r.l.counters().req_bloom_miss, 1u);
  EXPECT_EQ(r.l.deadline(), at_ms(1000));  // of the first target alone
  EXPECT_EQ(r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0)).outcome, Lookups::Start::already_pending);
}

TEST(Lookups, AForwardFallsBackToOthersAndNeverGoesBack) {
  Rig r;
  const auto got = r.l.on_request(node(1), request(1, 40), at_ms(0));
  const auto* pass = as<Lookups::Pass>(got);
  EXPECT_EQ(r.l.fan_out(*pass, node(1), {{node(1), true}, {node(2), false}})->to, std::vector{node(2)});
  EXPECT_EQ(r.l.counters().req_fallback_forwarded, 1u);
  EXPECT_EQ(r.l.fan_out(*pass, node(1), {{node(1), true}}).error(), Drop::no_filter_match);
  EXPECT_EQ(r.l.counters().req_no_tree_peer, 1u);
}

TEST(Lookups, OurOwnRequestComingBackIsNotTransitAndItsAnswerStaysOurs) {
  Rig r;
  const auto sent = r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0));
  EXPECT_EQ(r.l.on_request(node(1), sent.send.message, at_ms(10)).error(), Drop::own_request);
  auto disguised = *wire::decode_lookup_request(sent.send.message);
  disguised.origin = node(77);
  Buffer bytes;
  wire::encode_lookup_request(bytes, disguised);
  EXPECT_EQ(r.l.on_request(node(1), bytes, at_ms(10)).error(), Drop::own_request);
  EXPECT_EQ(r.l.recent_requests(), 0u);
  EXPECT_NE(as<Lookups::Ours>(r.l.on_response(response(disguised.id, 40))), nullptr);
}

TEST(Lookups, AcceptsOnlyAProvenAnswerThatItWaitsFor) {
  SeededRng rng(3);
  const auto target = crypto::Identity::generate(rng);
  const auto other = crypto::Identity::generate(rng);
  Rig r;
  const auto sent = r.l.start(target.addr(), r.own, r.reaching, r.rng, at_ms(0));
  const auto id = wire::decode_lookup_request(sent.send.message)->id;
  wire::LookupResponse good{id, target.addr(), 1280, {target.addr(), node(0)}, {}};
  good.proof = target.sign(crypto::sha256(wire::lookup_proof_preimage(id, good.target, good.path)), rng);
  const auto hear = [&](const wire::LookupResponse& m) {
    Buffer b;
    wire::encode_lookup_response(b, m);
    return r.l.on_response(b);
  };
  auto altered = good;
  altered.path = {target.addr(), node(1), node(0)};
  EXPECT_EQ(r.l.accept(*as<Lookups::Ours>(hear(altered)), target.key()).error(), Drop::bad_proof);
  EXPECT_EQ(r.l.accept(*as<Lookups::Ours>(hear(good)), other.key()).error(), Drop::key_mismatch);
  auto foreign = good;
  foreign.target = other.addr();
  foreign.path.front() = other.addr();
  EXPECT_EQ(hear(foreign).error(), Drop::target_mismatch);
  auto headless = good;
  headless.path.front() = node(4);
  EXPECT_EQ(hear(headless).error(), Drop::target_mismatch);
  auto unknown = good;
  unknown.id = ~id;
  EXPECT_EQ(hear(unknown).error(), Drop::unknown_request);
  EXPECT_EQ(r.l.pending().size(), 1u);

  const auto ours = hear(good);
  EXPECT_TRUE(r.l.accept(*as<Lookups::Ours>(ours), target.key()));
  EXPECT_TRUE(r.l.pending().empty());
  EXPECT_FALSE(r.l.deadline());
  EXPECT_EQ(hear(good).error(), Drop::unknown_request);  // correctly signed, but nobody waits any more
  EXPECT_EQ(r.l.counters().resp_proof_failed, 1u);
  EXPECT_EQ(r.l.counters().resp_accepted, 1u);
}

TEST(Lookups, AnAnswerToAnEarlierAttemptStillCounts) {
  Rig r;
  const auto first = r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0));
  r.l.on_deadline(r.own, r.reaching, r.rng, at_ms(1000));
  EXPECT_NE(
      as<Lookups::Ours>(r.l.on_response(response(wire::decode_lookup_request(first.send.message)->id, 40))),
      nullptr);
}

TEST(Lookups, RelaysOneAnswerToWhereTheRequestCameFrom) {
  Rig r;
  ASSERT_TRUE(r.l.on_request(node(4), request(7, 40), at_ms(0)));
  EXPECT_EQ(r.l.on_request(node(5), request(7, 40), at_ms(1)).error(), Drop::duplicate_request);
  EXPECT_EQ(r.l.on_response(response(7, 41)).error(), Drop::target_mismatch);
  const auto got = r.l.on_response(response(7, 40, 17));
  const auto* relay = as<Lookups::Relay>(got);
  ASSERT_NE(relay, nullptr);
  EXPECT_EQ(relay->to, node(4));
  EXPECT_EQ(relay->response.path_mtu, 17);
  EXPECT_EQ(r.l.on_response(response(7, 40)).error(), Drop::response_repeated);
}

TEST(Lookups, TheWayBackOutlivesItsExpiryUntilTheNextRequest) {
  Rig r;
  ASSERT_TRUE(r.l.on_request(node(4), request(7, 40), at_ms(0)));
  ASSERT_TRUE(r.l.on_request(node(4), request(8, 41), at_ms(10'000)));
  EXPECT_TRUE(r.l.on_response(response(7, 40)));
  ASSERT_TRUE(r.l.on_request(node(4), request(9, 42), at_ms(10'001)));
  EXPECT_EQ(r.l.on_response(response(7, 40)).error(), Drop::unknown_request);
  EXPECT_EQ(r.l.recent_requests(), 2u);
}

TEST(Lookups, OneNeighbourCannotFillTheTable) {
  Rig r;
  for (std::uint64_t id = 1; id <= 1024; ++id) (void)r.l.on_request(node(4), request(id, 40), at_ms(0));
  EXPECT_EQ(r.l.on_request(node(4), request(5000, 41), at_ms(0)).error(), Drop::request_table_full);
  EXPECT_TRUE(r.l.on_request(node(5), request(5001, 41), at_ms(0)));
  std::uint64_t id = 10'000;
  for (const unsigned peer : {6U, 7U, 8U, 10U})
    for (int i = 0; i < 1024; ++i) (void)r.l.on_request(node(peer), request(++id, 40), at_ms(0));
  EXPECT_EQ(r.l.recent_requests(), 4096u);
  EXPECT_EQ(r.l.on_request(node(11), request(9999, 42), at_ms(0)).error(), Drop::request_table_full);
  EXPECT_TRUE(r.l.on_request(node(4), request(5000, 41), at_ms(10'001)));
}

TEST(Lookups, BadRequestsLeaveNoTrace) {
  Rig r;
  const auto whole = request(7, 40);
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(r.l.on_request(node(4), Bytes(whole).first(n), at_ms(0)));
  auto none = whole;
  none[44] = 0;
  EXPECT_EQ(r.l.on_request(node(4), none, at_ms(0)).error(), Drop::bad_count);
  auto many = whole;
  many[45] = 0xff;
  EXPECT_EQ(r.l.on_request(node(4), many, at_ms(0)).error(), Drop::bad_count);
  EXPECT_EQ(r.l.recent_requests(), 0u);
  EXPECT_EQ(r.l.counters().req_decode_error, whole.size() + 2);
}

TEST(Lookups, AFloodOfQuestionsForUsCostsABoundedNumberOfSignaturesPerPeer) {
  Rig r;
  std::uint64_t id = 0;
  const auto flood = [&](unsigned peer) {
    int answered = 0;
    for (int i = 0; i < 500; ++i)
      if (r.l.on_request(node(peer), request(++id, 9), at_ms(0))) ++answered;
    return answered;
  };
  EXPECT_EQ(flood(4), 200);
  EXPECT_EQ(flood(5), 200);
}

TEST(LookupBackoff, IsOffByDefaultAndDoublesUpToItsCapOtherwise) {
  LookupBackoff off(Duration{}, Duration{});
  off.on_failure(node(1), at_ms(0));
  EXPECT_FALSE(off.suppresses(node(1), at_ms(0)));

  LookupBackoff b(10s, 30s);
  b.on_failure(node(1), at_ms(0));
  EXPECT_TRUE(b.suppresses(node(1), at_ms(9'999)));
  EXPECT_FALSE(b.suppresses(node(1), at_ms(10'000)));
  b.on_failure(node(1), at_ms(0));
  EXPECT_TRUE(b.suppresses(node(1), at_ms(19'999)));
  EXPECT_FALSE(b.suppresses(node(1), at_ms(20'000)));
  for (int i = 0; i < 50; ++i) b.on_failure(node(1), at_ms(0));
  EXPECT_TRUE(b.suppresses(node(1), at_ms(29'999)));
  EXPECT_FALSE(b.suppresses(node(1), at_ms(30'000)));
  b.clear();
  EXPECT_EQ(b.failures(node(1)), 0u);
}

TEST(Lookups, ATargetThatFailedIsLeftAloneUntilTheTreeMoves) {
  LookupLimits limits;
  limits.backoff_base = 10s;
  limits.backoff_cap = 300s;
  Rig r;
  r.l = Lookups(node(9), limits);
  r.reach = {};
  EXPECT_EQ(r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0)).outcome, Lookups::Start::unreachable);
  r.reach = {{node(1), true}};
  EXPECT_EQ(r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0)).outcome, Lookups::Start::backoff);
  r.l.clear_backoff();
  EXPECT_EQ(r.l.start(node(40), r.own, r.reaching, r.rng, at_ms(0)).outcome, Lookups::Start::sent);
}

}  // namespace
}  // namespace weft
