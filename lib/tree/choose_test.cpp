#include "tree/choose.h"

#include <gtest/gtest.h>

#include "testing/vectors/load.h"

namespace weft {
namespace {

using vectors::node;

Path path_of(const nlohmann::json& ids) {
  Path out;
  for (const auto& id : ids) out.push_back(node(id.get<unsigned>()));
  return out;
}

wire::TreeAnnounce announce_of(const Path& path, std::uint64_t sequence = 1) {
  wire::TreeAnnounce m;
  m.sequence = sequence;
  m.parent = path.size() > 1 ? path[1] : path[0];
  for (const auto& a : path) m.ancestry.push_back({a, sequence, 0});
  return m;
}

struct Case {
  TreeState state;
  LinkCosts costs;
};

Case build(const nlohmann::json& v) {
  const auto parent = node(v["my_parent"].get<unsigned>());
  const auto root = node(v["my_root"].get<unsigned>());
  Case c{TreeState(node(v["me"].get<unsigned>()), Now{}), {}};
  if (parent != c.state.own()) {
    c.state.store(parent, announce_of(parent == root ? Path{parent} : Path{parent, root}));
    c.state.attach(parent, 0);
    c.state.forget(parent);
  }
  for (const auto& [id, path] : v["peers"].items())
    c.state.store(node(static_cast<unsigned>(std::stoul(id))), announce_of(path_of(path), 2));
  for (const auto& [id, cost] : v["costs"].items())
    c.costs[node(static_cast<unsigned>(std::stoul(id)))] = cost.get<double>();
  return c;
}

std::string name_of_kind(Candidate::Kind k) {
  return k == Candidate::Kind::none        ? "none"
         : k == Candidate::Kind::mandatory ? "mandatory"
                                           : "discretionary";
}
std::string name_of_move(TreeMove m) {
  switch (m) {
    case TreeMove::none:
      return "no_change";
    case TreeMove::switched:
      return "switch";
    case TreeMove::self_root:
      return "self_root";
    case TreeMove::loop_drop:
      return "loop_drop";
    case TreeMove::ancestry_update:
      return "ancestry_update";
    default:
      return "?";
  }
}

TEST(ChooseParent, AgreesWithEveryKnownAnswer) {
  const auto cases = vectors::load("mesh.json")["parent_selection"];
  ASSERT_EQ(cases.size(), 20u);
  for (const auto& v : cases) {
    SCOPED_TRACE(v["name"].get<std::string>());
    const auto c = build(v);
    const auto h = v["hysteresis"].get<double>();
    const auto best = choose_parent(c.state, c.costs, h);
    EXPECT_EQ(name_of_kind(best.kind), v["evaluate"][0]);
    if (!v["evaluate"][1].is_null()) {
      EXPECT_EQ(best.parent, node(v["evaluate"][1].get<unsigned>()));
    }
    const auto d = decide_on_announce(c.state, node(v["announce_from"].get<unsigned>()), c.costs, h,
                                      v["suppressed"].get<bool>());
    EXPECT_EQ(name_of_move(d.move), v["decision"][0]);
    if (!v["decision"][1].is_null()) {
      EXPECT_EQ(d.parent, node(v["decision"][1].get<unsigned>()));
    }
  }
}

TEST(ChooseParent, LeavesAParentThatFellToALargerRootWithoutWaitingForAMargin) {
  TreeState s(node(9), Now{});
  s.store(node(2), announce_of({node(2), node(0)}));
  s.attach(node(2), 0);
  s.store(node(2), announce_of({node(2)}, 2));
  s.store(node(4), announce_of({node(4), node(5), node(6), node(1)}));
  EXPECT_EQ(choose_parent(s, {}, 0.2).kind, Candidate::Kind::mandatory);
}

TEST(ChooseParent, TakesAnyWayOutOfALoopEvenIfItIsNotBetter) {
  TreeState s(node(9), Now{});
  s.store(node(2), announce_of({node(2), node(0)}));
  s.attach(node(2), 0);
  s.store(node(2), announce_of({node(2), node(9), node(0)}, 2));
  s.store(node(4), announce_of({node(4), node(5), node(6), node(0)}));
  const auto c = choose_parent(s, {}, 0.2);
  EXPECT_EQ(c.kind, Candidate::Kind::mandatory);
  EXPECT_EQ(c.parent, node(4));
}

TEST(ChooseParent, NeverTakesAPathThatLeavesNoRoomForUs) {
  Path longest;
  for (unsigned i = 0; i < 255; ++i) longest.push_back(NodeAddr{{static_cast<std::uint8_t>(255 - i), 7}});
  TreeState s(NodeAddr{{0xff, 0xff}}, Now{});
  s.store(longest.front(), announce_of(longest));
  EXPECT_EQ(choose_parent(s, {}, 0.2).kind, Candidate::Kind::none);
  longest.erase(longest.begin() + 1);
  s.store(longest.front(), announce_of(longest, 2));
  EXPECT_EQ(choose_parent(s, {}, 0.2).kind, Candidate::Kind::mandatory);
}

TEST(TreeState, ForgetsAPeersNumbersOnlyWhenItBeganAnew) {
  const auto cases = vectors::load("mesh.json")["tree_freshness"];
  for (const auto& v : cases) {
    TreeState s(node(9), Now{});
    if (!v["stored"].is_null()) s.store(node(1), announce_of({node(1)}, v["stored"].get<std::uint64_t>()));
    EXPECT_EQ(s.is_fresh(node(1), v["got"].get<std::uint64_t>()), v["result"] == "accept") << v;
    s.forget_sequence(node(1));
    EXPECT_TRUE(s.is_fresh(node(1), v["got"].get<std::uint64_t>()));
  }
}

TEST(TreeState, DeclaresItselfRootUnderTheSameNumberWhenTheParentsRootIsLarger) {
  TreeState s(node(5), Now{});
  const auto before = s.sequence();
  s.store(node(7), announce_of({node(7), node(6)}));
  EXPECT_FALSE(s.attach(node(7), 77));
  EXPECT_TRUE(s.is_root());
  EXPECT_EQ(s.sequence(), before + 1);
  EXPECT_EQ(s.path(), Path{node(5)});
  EXPECT_EQ(s.timestamp(), 77u);
}

TEST(TreeState, StartsAboveWhateverARunBeforeItCanHaveSaid) {
  const Now first{Instant{}, 1'700'000'000'000};
  TreeState s(node(5), first);
  for (int i = 0; i < 500; ++i) s.become_root(0);
  const TreeState later(node(5), Now{Instant{}, first.unix_ms + 1000});
  EXPECT_GT(later.sequence(), s.sequence());
  EXPECT_GT(TreeState(node(5), Now{Instant{}, -5}).sequence(), 0u);
}

}  // namespace
}  // namespace weft
