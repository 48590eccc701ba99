#include "tree/tree.h"

#include <gtest/gtest.h>

#include "crypto/identity.h"
#include "testing/vectors/load.h"

namespace weft {
namespace {

using vectors::node;

Now at_ms(std::int64_t ms) { return {Instant{} + std::chrono::milliseconds(ms), 1'700'000'000'000 + ms}; }

Buffer message_of(const Path& path, std::uint64_t sequence) {
  wire::TreeAnnounce m;
  m.sequence = sequence;
  m.parent = path.size() > 1 ? path[1] : path[0];
  for (const auto& a : path) m.ancestry.push_back({a, sequence, 0});
  Buffer out;
  wire::encode_tree_announce(out, m);
  return out;
}

const Tree::Verify kTrue = [](const auto&, const auto&) { return true; };
const Tree::Verify kFalse = [](const auto&, const auto&) { return false; };
const Tree::Sign kSign = [](const auto&) { return crypto::Signature{}; };

/// One node at address 5, its peers, and an announce of theirs per call.
struct Rig {
  Tree tree;
  std::int64_t ms = 0;
  std::uint64_t sequence = 1;
  LinkCosts costs;

  explicit Rig(std::initializer_list<unsigned> peers, unsigned own = 5, TreeLimits limits = {})
      : tree(node(own), at_ms(0), limits) {
    for (const auto p : peers) tree.add_peer(node(p), at_ms(0).mono);
    drain();
  }
  std::vector<NodeAddr> drain() { return tree.take_due(at_ms(ms).mono); }
  Result<TreeChange, Drop> hear(const Path& path) {
    return tree.on_announce(path.front(), message_of(path, ++sequence), kTrue, costs, at_ms(ms));
  }
  Result<TreeChange, Drop> raw(const NodeAddr& from, Bytes m, const Tree::Verify& verify = kTrue) {
    return tree.on_announce(from, m, verify, costs, at_ms(ms));
  }
  /// Lets everything that is owed go out, and then the pause between two announces pass.
  void settle(std::int64_t t) {
    due_at(t - 1000);
    ms = t;
  }
  std::vector<NodeAddr> due_at(std::int64_t t) {
    ms = t;
    return drain();
  }
};

TEST(Tree, ANewPeerIsTreatedToAnAnnounceAtOnce) {
  Tree t(node(5), at_ms(0));
  t.add_peer(node(1), at_ms(0).mono);
  EXPECT_TRUE(t.announce_pending(node(1)));
  EXPECT_EQ(t.take_due(at_ms(0).mono), std::vector{node(1)});
  EXPECT_FALSE(t.announce_pending(node(1)));
  const auto* bytes = t.announce(kSign);
  ASSERT_NE(bytes, nullptr);
  const auto m = wire::decode_tree_announce(*bytes);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->parent, node(5));
  EXPECT_EQ(m->ancestry.size(), 1u);
}

TEST(Tree, SignsWhatTheVectorsSign) {
  const auto v = vectors::load("mesh.json")["tree_announce"][1];
  const auto me = vectors::id<NodeAddr>(v["node_addr"]);
  const auto root = vectors::load("mesh.json")["tree_announce"][0];
  Tree t(me, Now{Instant{}, 1});  // the first own sequence is 1, the next 2
  t.add_peer(vectors::id<NodeAddr>(root["node_addr"]), Instant{});
  const Now then{Instant{}, v["timestamp"].get<std::int64_t>() * 1000};
  const auto verify = [&](const crypto::Digest& d, const crypto::Signature& s) {
    return crypto::verify(vectors::id<PublicKey>(root["xonly"]), d, s);
  };
  ASSERT_TRUE(t.on_announce(vectors::id<NodeAddr>(root["node_addr"]), vectors::bytes(root["message"]), verify,
                            {}, then));
  crypto::Digest signed_digest{};
  const auto signature = vectors::bytes(v["signature"]);
  const auto* bytes = t.announce([&](const crypto::Digest& d) {
    signed_digest = d;
    crypto::Signature s{};
    std::copy(signature.begin(), signature.end(), s.begin());
    return s;
  });
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(to_hex(signed_digest), v["digest"]);
  EXPECT_EQ(to_hex(*bytes), v["message"]);
}

TEST(Tree, TakesAndRefusesTheKnownMessages) {
  const auto cases = vectors::load("mesh.json")["tree_announce"];
  for (const auto& v : cases) {
    SCOPED_TRACE(v["name"].get<std::string>());
    const auto from = vectors::id<NodeAddr>(v["node_addr"]);
    Tree t(node(0xff), at_ms(0));
    t.add_peer(from, Instant{});
    const auto verify = [&](const crypto::Digest& d, const crypto::Signature& s) {
      EXPECT_EQ(to_hex(d), v["digest"]);
      return crypto::verify(vectors::id<PublicKey>(v["xonly"]), d, s);
    };
    const auto message = vectors::bytes(v["message"]);
    const auto r = t.on_announce(from, message, verify, {}, at_ms(0));
    const auto expect = v["expect"].get<std::string>();
    if (expect.starts_with("reject")) {
      ASSERT_FALSE(r);
      EXPECT_EQ(r.error(), Drop::bad_ancestry);
      EXPECT_EQ(t.path_of(from), nullptr);
      EXPECT_EQ(t.counters().ancestry_invalid, 1u);
    } else {
      EXPECT_TRUE(r);
      EXPECT_EQ(t.counters().accepted, 1u);
    }
    for (std::size_t n = 0; n < message.size(); ++n)
      EXPECT_FALSE(t.on_announce(from, Bytes(message).first(n), kTrue, {}, at_ms(0))) << n;
  }
}

TEST(Tree, StoresAPathThroughUsButNeverFollowsIt) {
  Rig r({2});
  const auto change = r.hear({node(2), node(5), node(0)});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->move, TreeMove::none);
  EXPECT_TRUE(r.tree.state().is_root());
  EXPECT_NE(r.tree.path_of(node(2)), nullptr);
  EXPECT_TRUE(r.tree.is_child(node(2)));
}

TEST(Tree, RefusalsChangeNothingAndAreCounted) {
  Rig r({2});
  ASSERT_TRUE(r.hear({node(2), node(1)}));
  const auto before = *r.tree.path_of(node(2));
  r.due_at(1000);
  const auto sequence = r.tree.state().sequence();
  const auto good = message_of({node(2), node(0)}, 100);
  auto bad_version = good;
  bad_version[1] = 2;
  auto none = good;
  none[34] = 0;
  auto many = good;
  many[35] = 0xff;
  const auto refuse = [&](const NodeAddr& from, const Buffer& m, Drop why,
                          const Tree::Verify& verify = kTrue) {
    const auto result = r.raw(from, m, verify);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), why) << name_of(result.error());
  };
  refuse(node(2), bad_version, Drop::wrong_version);
  refuse(node(2), none, Drop::bad_count);
  refuse(node(2), many, Drop::bad_count);
  refuse(node(7), message_of({node(7)}, 100), Drop::unknown_peer);
  refuse(node(2), message_of({node(3), node(0)}, 100), Drop::addr_mismatch);
  refuse(node(2), good, Drop::bad_signature, kFalse);
  refuse(node(2), message_of({node(2), node(0), node(1)}, 100), Drop::bad_ancestry);
  refuse(node(2), message_of({node(2), node(4), node(4), node(0)}, 100), Drop::duplicate_ancestor);
  refuse(node(2), message_of({node(2), node(0)}, 2), Drop::stale);
  refuse(node(2), message_of({node(2), node(0)}, 1), Drop::stale);
  EXPECT_EQ(*r.tree.path_of(node(2)), before);
  EXPECT_EQ(r.tree.state().sequence(), sequence);
  EXPECT_FALSE(r.tree.announce_pending(node(2)));
  const auto& c = r.tree.counters();
  EXPECT_EQ(c.decode_error, 3u);
  EXPECT_EQ(c.unknown_peer, 1u);
  EXPECT_EQ(c.addr_mismatch, 1u);
  EXPECT_EQ(c.sig_failed, 1u);
  EXPECT_EQ(c.ancestry_invalid, 2u);
  EXPECT_EQ(c.stale, 2u);
  EXPECT_EQ(c.received, 11u);
  EXPECT_EQ(c.accepted, 1u);
}

TEST(Tree, LooksAtNoSignatureOfAStaleAnnounce) {
  Rig r({2});
  ASSERT_TRUE(r.hear({node(2)}));
  bool looked = false;
  const auto verify = [&](const auto&, const auto&) { return looked = true; };
  EXPECT_FALSE(r.raw(node(2), message_of({node(2)}, r.sequence), verify));
  EXPECT_FALSE(looked);
}

TEST(Tree, AFloodOfFreshAnnouncesCostsABoundedNumberOfSignatureChecks) {
  Rig r({2});
  int checks = 0;
  const auto verify = [&](const auto&, const auto&) { return ++checks < 0; };
  for (std::uint64_t i = 0; i < 1000; ++i) r.raw(node(2), message_of({node(2)}, 10 + i), verify);
  EXPECT_EQ(checks, 32);
  r.ms = 1000;
  for (std::uint64_t i = 0; i < 1000; ++i) r.raw(node(2), message_of({node(2)}, 10 + i), verify);
  EXPECT_EQ(checks, 40);
}

TEST(Tree, TheLargestSequenceMutesAPeerUntilItBeginsAnew) {
  Rig r({2});
  ASSERT_TRUE(r.raw(node(2), message_of({node(2)}, UINT64_MAX)));
  EXPECT_FALSE(r.raw(node(2), message_of({node(2)}, 7)));
  r.tree.peer_restarted(node(2), at_ms(0).mono);
  EXPECT_TRUE(r.raw(node(2), message_of({node(2), node(1)}, 7)));
  EXPECT_EQ(r.drain(), std::vector{node(2)});  // it knows nothing of us either
}

TEST(Tree, ASwitchTellsEverybodyAndMarksAllFilters) {
  Rig r({1, 2, 7});
  r.settle(5000);
  const auto sequence = r.tree.state().sequence();
  const auto change = r.hear({node(2), node(0)});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->move, TreeMove::switched);
  EXPECT_TRUE(change->path_changed);
  EXPECT_TRUE(change->mark_all_filters);
  EXPECT_TRUE(change->drop_paths_through_us);
  EXPECT_FALSE(change->drop_foreign_roots);
  EXPECT_TRUE(change->clear_lookup_backoff);
  EXPECT_EQ(r.tree.state().sequence(), sequence + 1);
  EXPECT_TRUE(r.tree.is_parent(node(2)));
  EXPECT_EQ(r.tree.path(), (Path{node(5), node(2), node(0)}));
  EXPECT_EQ(r.drain(), (std::vector{node(1), node(2), node(7)}));
  EXPECT_EQ(r.tree.damping().held_until(), at_ms(35'000).mono);
}

TEST(Tree, BecomesRootWhenNobodyVisibleIsSmaller) {
  Rig r({2}, 1);
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  const auto change = r.hear({node(2)});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->move, TreeMove::self_root);
  EXPECT_TRUE(change->mark_all_filters);
  EXPECT_TRUE(change->drop_foreign_roots);
  EXPECT_FALSE(change->drop_paths_through_us);
  EXPECT_TRUE(r.tree.state().is_root());
}

TEST(Tree, LeavesAParentThatLoopsThroughUs) {
  Rig r({2});
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  const auto change = r.hear({node(2), node(5), node(0)});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->move, TreeMove::loop_drop);
  EXPECT_TRUE(change->drop_paths_through_us);
  EXPECT_TRUE(change->drop_foreign_roots);
  EXPECT_FALSE(change->mark_all_filters);
  EXPECT_TRUE(change->clear_lookup_backoff);
  EXPECT_TRUE(r.tree.state().is_root());
  EXPECT_EQ(r.tree.counters().loop_detected, 1u);
}

TEST(Tree, FollowsItsParentsNewPathAndSaysSoOnce) {
  Rig r({2, 7});
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  r.settle(10'000);
  const auto change = r.hear({node(2), node(3), node(0)});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->move, TreeMove::ancestry_update);
  EXPECT_TRUE(change->path_changed);
  EXPECT_FALSE(change->mark_all_filters);
  EXPECT_TRUE(change->drop_paths_through_us);
  EXPECT_EQ(r.drain().size(), 2u);
  EXPECT_EQ(r.tree.counters().ancestry_changed, 1u);
}

TEST(Tree, CountsUpSilentlyWithAParentThatOnlyCountedUp) {
  Rig r({2, 7});
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  r.due_at(10'000);
  r.settle(20'000);
  const auto sequence = r.tree.state().sequence();
  const auto change = r.hear({node(2), node(0)});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->move, TreeMove::ancestry_update);
  EXPECT_FALSE(change->path_changed);
  EXPECT_EQ(r.tree.state().sequence(), sequence + 1);
  EXPECT_EQ(r.tree.damping().held_until(), at_ms(50'000).mono);
  EXPECT_TRUE(r.drain().empty());
}

TEST(Tree, FindsAnotherParentWhenItsParentGoes) {
  Rig r({2, 3});
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  ASSERT_TRUE(r.hear({node(3), node(4), node(1), node(0)}));
  const auto change = r.tree.remove_peer(node(2), {}, at_ms(0));
  EXPECT_EQ(change.move, TreeMove::parent_lost);
  EXPECT_TRUE(change.drop_paths_through_us);
  EXPECT_TRUE(change.drop_foreign_roots);
  EXPECT_FALSE(change.clear_lookup_backoff);
  EXPECT_TRUE(r.tree.is_parent(node(3)));
  EXPECT_EQ(r.tree.counters().parent_losses, 1u);
}

TEST(Tree, BecomesRootWhenItsOnlyParentGoes) {
  Rig r({2});
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  r.tree.remove_peer(node(2), {}, at_ms(0));
  EXPECT_TRUE(r.tree.state().is_root());
  EXPECT_EQ(r.tree.remove_peer(node(2), {}, at_ms(0)).move, TreeMove::none);
}

TEST(Tree, NeverPublishesAPathWhoseRootIsNotItsSmallestEntry) {
  // Peer 1 is the smallest visible root's only bearer but loops through us, so nobody is chosen while the
  // parent's root grows past our own address.
  Rig r({1, 8});
  ASSERT_TRUE(r.hear({node(8), node(0)}));
  ASSERT_TRUE(r.hear({node(1), node(8), node(5), node(0)}));
  const auto change = r.hear({node(8), node(6)});
  ASSERT_TRUE(change);
  EXPECT_TRUE(r.tree.state().is_root());
  EXPECT_TRUE(change->drop_foreign_roots);
  const auto m = wire::decode_tree_announce(*r.tree.announce(kSign));
  EXPECT_TRUE(check_ancestry(*m, node(5)));
}

TEST(Tree, AnswersAPeerUnderALargerRootButNotAStaleOne) {
  Rig r({2, 7});
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  r.due_at(10'000);
  r.settle(20'000);
  ASSERT_TRUE(r.hear({node(7), node(3)}));
  EXPECT_EQ(r.drain(), std::vector{node(7)});
  r.due_at(30'000);
  EXPECT_FALSE(r.raw(node(7), message_of({node(7), node(3)}, r.sequence)));
  EXPECT_TRUE(r.drain().empty());
  ASSERT_TRUE(r.hear({node(7), node(0)}));
  EXPECT_TRUE(r.drain().empty());
}

TEST(Tree, SpacesAnnouncesToAPeerAndSendsTheNewestState) {
  Rig r({2});
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  EXPECT_TRUE(r.due_at(499).empty());
  EXPECT_TRUE(r.tree.announce_pending(node(2)));
  EXPECT_EQ(*r.tree.deadline(), at_ms(500).mono);
  ASSERT_TRUE(r.hear({node(2), node(1), node(0)}));
  EXPECT_EQ(r.due_at(500).size(), 1u);
  EXPECT_TRUE(r.due_at(600).empty());
  EXPECT_EQ(wire::decode_tree_announce(*r.tree.announce(kSign))->ancestry.size(), 4u - 0u);
  EXPECT_GE(r.tree.counters().rate_limited, 2u);
}

TEST(Tree, SaysEachThingAgainAndAgainInCaseItWasLost) {
  Rig r({2});
  for (const std::int64_t ms : {2'000, 10'000, 42'000, 102'000, 162'000}) {
    EXPECT_TRUE(r.due_at(ms - 1).empty()) << ms;
    EXPECT_EQ(r.due_at(ms).size(), 1u) << ms;
  }
}

TEST(Tree, AFailedSignatureIsCountedAndTriedAgain) {
  Rig r({2});
  EXPECT_EQ(r.tree.announce([](const auto&) { return std::nullopt; }), nullptr);
  EXPECT_EQ(r.tree.counters().outbound_sign_failed, 1u);
  EXPECT_FALSE(r.tree.is_signed());
  EXPECT_NE(r.tree.announce(kSign), nullptr);
  int calls = 0;
  r.tree.announce([&](const auto&) { return ++calls, crypto::Signature{}; });
  EXPECT_EQ(calls, 0);
}

TEST(Tree, RepeatsItselfEveryMinuteWhenNothingChanges) {
  Rig r({2, 7});
  for (const std::int64_t ms : {2'000, 10'000, 42'000}) r.due_at(ms);
  r.ms = 59'999;
  EXPECT_EQ(r.tree.on_deadline({}, at_ms(59'999)).move, TreeMove::none);
  EXPECT_EQ(r.tree.on_deadline({}, at_ms(60'000)).move, TreeMove::rebroadcast);
  const auto sequence = r.tree.state().sequence();
  EXPECT_EQ(r.due_at(60'000).size(), 2u);
  EXPECT_EQ(r.tree.state().sequence(), sequence);
  EXPECT_EQ(*r.tree.deadline(), at_ms(120'000).mono);
}

TEST(Tree, TheFirstMeasurementAttachesAndHoldDownStopsOnlyImprovements) {
  Rig r({1, 2, 3});
  r.costs = {{node(1), 1.0}};
  ASSERT_TRUE(r.hear({node(2), node(0)}));
  EXPECT_TRUE(r.tree.state().is_root());  // somebody is measured, 2 is not
  r.costs = {{node(1), 1.0}, {node(2), 9.0}};
  EXPECT_EQ(r.tree.on_first_cost(r.costs, at_ms(0)).move, TreeMove::switched);
  r.costs[node(3)] = 1.0;
  ASSERT_TRUE(r.hear({node(3), node(0)}));
  EXPECT_TRUE(r.tree.is_parent(node(2)));  // held down
  r.ms = 31'000;
  EXPECT_EQ(r.tree.on_first_cost(r.costs, at_ms(31'000)).move, TreeMove::switched);
  EXPECT_TRUE(r.tree.is_parent(node(3)));
}

}  // namespace
}  // namespace weft
