#include <gtest/gtest.h>

#include <algorithm>

#include "probe/probes.h"
#include "probe/walk.h"
#include "probe/words.h"
#include "seam/outbox.h"

namespace weft::probe {
namespace {

NodeAddr node(std::uint8_t n) {
  NodeAddr a;
  a.bytes[0] = n;
  return a;
}
std::string name(const NodeAddr& a) { return "n" + std::to_string(a.bytes[0]); }

/// A mesh of one's wishes: what is not set is not there. Node 1 is us, 9 the target, 2 the next hop.
struct Fake final : World {
  std::size_t n_links = 3;
  bool neighbour = false;
  std::vector<Claim> claimed = {{node(2), true}};
  std::optional<Coords> place;
  std::optional<Coords> answer = Coords{{node(9), node(5), node(0)}, 0s};
  bool can_hop = true;
  bool session_up = false, answers_handshake = true, answers_reports = true;
  bool answers_echo = true;
  std::size_t carries = 1203, largest = 1203;
  std::uint8_t ttl = 62;
  std::vector<Signal> said;
  std::uint32_t attempt = 0;
  Path own = {node(1), node(0)};
  std::vector<std::pair<std::uint16_t, std::size_t>> echoes;
  std::optional<Session> state;
  Probes* probes = nullptr;

  std::size_t links() const override { return n_links; }
  const Path& own_path() const override { return own; }
  bool is_neighbour(const NodeAddr&) const override { return neighbour; }
  std::vector<Claim> claims(const NodeAddr&) const override { return claimed; }
  std::optional<Coords> coords(Instant, const NodeAddr&) const override { return place; }
  std::optional<Hop> next_hop(Instant, const NodeAddr&) override {
    if (!can_hop || (!place && !neighbour)) return std::nullopt;
    if (neighbour) return Hop{node(9), HopClass::direct_peer, 1280, 1.0, {}};
    return Hop{node(2), HopClass::tree_up, 1280, 1.0, {node(2), node(0)}};
  }
  LookupState lookup(const NodeAddr&) const override { return {attempt}; }
  std::optional<Session> session(const NodeAddr&) const override { return state; }
  std::vector<Signal> signals(const NodeAddr&, Instant) const override { return said; }
  std::size_t largest_packet(const NodeAddr&) override { return largest; }
  Reason start_lookup(Now, const NodeAddr&, Outbox&) override {
    attempt = 1;
    return Reason::none;
  }
  Result<void, Drop> open_session(Now, const NodeAddr&, Outbox&) override {
    if (!place && !neighbour) return bad(Drop::no_route);
    state = Session{};
    return {};
  }
  bool send_warmup(Now, const NodeAddr&, Outbox&) override { return true; }
  void send_echo(Now, const NodeAddr&, std::uint16_t sequence, std::size_t size, Outbox&) override {
    echoes.emplace_back(sequence, size);
  }
};

struct Rig {
  Fake world;
  Probes probes{Budgets{}};
  Instant t{1000s};
  std::uint64_t id = 0;
  Outbox out;

  void start(bool thorough) { id = *probes.start(node(9), PublicKey{}, thorough, Now{t, 0}, world, out); }
  const Report& report() { return probes.find(id)->probe.report(); }
  /// One look, and what the mesh does meanwhile.
  void look() {
    t += Probe::kLook;
    if (world.attempt > 0 && world.answer && !world.place) {
      world.place = world.answer;
      probes.on_lookup(node(9), true);
    }
    if (world.state && !world.state->established && world.answers_handshake) world.state->established = true;
    if (world.state && world.state->established && world.answers_reports) {
      world.state->ttl = world.ttl;
      ++world.state->trips.reports;
      ++world.state->trips.samples;
      world.state->trips.last = 12ms;
    }
    for (const auto& [sequence, size] : std::exchange(world.echoes, {}))
      if (world.answers_echo && size <= world.carries) probes.on_echo(node(9), sequence, size, t);
    probes.on_deadline(Now{t, 0}, world, out);
  }
  const Report& run() {
    for (int i = 0; i < 5000 && !report().ended; ++i) look();
    return report();
  }
  std::string text(Stage s) { return words_of(report(), s, name).text; }
};

Verdict verdict(const Report& r, Stage s) { return r.at(s).verdict; }

TEST(Probe, AllIsWell) {
  Rig g;
  g.start(true);
  const Report& r = g.run();
  EXPECT_EQ(r.overall, Overall::ok);
  for (std::size_t i = 0; i + 1 < kStages; ++i) EXPECT_EQ(r.stages[i].verdict, Verdict::ok) << i;
  EXPECT_EQ(verdict(r, Stage::recheck), Verdict::skipped);
  EXPECT_TRUE(r.rtt_by_echo);
  EXPECT_EQ(r.largest_passed, 1203U);
  EXPECT_LT(*r.ended - r.started, 1s);
  EXPECT_EQ(conclusion_of(r), "reachable");
}

TEST(Probe, NobodyClaimsIt) {
  Rig g;
  g.world.claimed.clear();
  g.start(true);
  g.look();
  EXPECT_FALSE(g.report().ended) << "a filter may still be on its way";
  const Report& r = g.run();
  EXPECT_EQ(r.at(Stage::filter).reason, Reason::bloom_miss);
  EXPECT_EQ(r.at(Stage::session).reason, Reason::not_reached);
  EXPECT_EQ(r.overall, Overall::failed);
  EXPECT_FALSE(r.lookup_issued);
  EXPECT_NE(g.text(Stage::filter).find("none of 3 neighbours"), std::string::npos);
  EXPECT_FALSE(words_of(r, Stage::filter, name).remedies.empty());
}

TEST(Probe, WithoutAnyLinkThereIsNothingToWaitFor) {
  Rig g;
  g.world.claimed.clear();
  g.world.n_links = 0;
  g.start(true);
  EXPECT_EQ(g.report().at(Stage::filter).reason, Reason::no_links);
  EXPECT_EQ(g.report().overall, Overall::failed);
}

TEST(Probe, AClaimThatNobodyAnswersFor) {
  Rig g;
  g.world.answer.reset();
  g.start(true);
  for (int i = 0; i < 200; ++i) g.look();
  g.world.attempt = 4;
  g.look();
  g.probes.on_lookup(node(9), false);
  const Report& r = g.run();
  EXPECT_EQ(r.at(Stage::lookup).reason, Reason::bloom_unconfirmed);
  EXPECT_EQ(r.attempts, 4U);
  EXPECT_EQ(r.overall, Overall::failed);
  EXPECT_NE(g.text(Stage::lookup).find("asked 4 times"), std::string::npos);
}

TEST(Probe, ALookupEndsByItsBudgetEvenIfNobodySaysSo) {
  Rig g;
  g.world.answer.reset();
  g.start(false);
  const Report& r = g.run();
  EXPECT_EQ(r.overall, Overall::failed);
  EXPECT_NEAR(static_cast<double>(to_ms(*r.ended - r.started)), 17'000, 100);
}

TEST(Probe, WhatIsKnownIsNotAskedAgainWhileItServes) {
  Rig g;
  g.world.place = g.world.answer;
  g.start(true);
  const Report& r = g.run();
  EXPECT_FALSE(r.lookup_issued);
  EXPECT_EQ(r.at(Stage::filter).reason, Reason::cached);
  EXPECT_EQ(r.at(Stage::recheck).reason, Reason::not_asked);
  EXPECT_EQ(r.overall, Overall::ok);
}

TEST(Probe, AnOldPlaceThatServesNoMoreIsAskedForAnew) {
  for (const bool still_there : {true, false}) {
    Rig g;
    g.world.place = g.world.answer;
    g.world.state = Session{};  // of better days
    g.world.state->established = true;
    g.world.answers_echo = g.world.answers_reports = false;
    g.world.answer.reset();
    g.start(true);
    while (g.report().at(Stage::recheck).verdict != Verdict::running) g.look();
    g.probes.on_lookup(node(9), still_there);
    const Report& r = g.run();
    EXPECT_EQ(verdict(r, Stage::recheck), still_there ? Verdict::ok : Verdict::failed);
    EXPECT_EQ(verdict(r, Stage::ping), Verdict::skipped);
    EXPECT_EQ(r.overall, still_there ? Overall::partial : Overall::failed);
    EXPECT_EQ(conclusion_of(r).find("not reachable") != std::string::npos, !still_there);
  }
}

TEST(Probe, ANeighbourIsNotLookedUp) {
  Rig g;
  g.world.neighbour = true;
  g.start(true);
  const Report& r = g.run();
  EXPECT_EQ(r.at(Stage::lookup).reason, Reason::direct_peer);
  EXPECT_EQ(verdict(r, Stage::path), Verdict::ok);
  EXPECT_EQ(r.overall, Overall::ok);
}

TEST(Probe, AnotherRootIsNamed) {
  Rig g;
  g.world.answer = Coords{{node(9), node(7)}, std::nullopt};
  g.world.can_hop = false;
  g.start(true);
  const Report& r = g.run();
  EXPECT_EQ(r.at(Stage::path).reason, Reason::disjoint_trees);
}

TEST(Probe, AHandshakeThatIsNotAnsweredNamesWhoComplains) {
  Rig g;
  g.world.answers_handshake = false;
  g.start(true);
  for (int i = 0; i < 20; ++i) g.look();
  g.world.said.push_back({node(4), Signal::Kind::path_broken, 0, g.t});
  const Report& r = g.run();
  EXPECT_EQ(r.at(Stage::session).reason, Reason::handshake_timeout);
  const auto w = words_of(r, Stage::session, name);
  ASSERT_FALSE(w.remedies.empty());
  EXPECT_NE(w.remedies.front().find("n4"), std::string::npos);
}

TEST(Probe, ADaemonThatAnswersWithoutItsIpSide) {
  Rig g;
  g.world.answers_echo = false;
  g.start(true);
  const Report& r = g.run();
  EXPECT_EQ(verdict(r, Stage::round_trip), Verdict::ok);
  EXPECT_EQ(r.rtt, Duration(12ms));
  EXPECT_EQ(r.at(Stage::ping).reason, Reason::ip_silent);
  EXPECT_EQ(verdict(r, Stage::full_size), Verdict::skipped);
  EXPECT_EQ(r.overall, Overall::partial);
}

TEST(Probe, SilenceAfterTheHandshake) {
  Rig g;
  g.world.answers_echo = g.world.answers_reports = false;
  g.start(true);
  const Report& r = g.run();
  EXPECT_EQ(r.at(Stage::round_trip).reason, Reason::no_report);
  EXPECT_EQ(r.warmups, 2U);
  EXPECT_EQ(r.overall, Overall::partial);
}

TEST(Probe, FindsTheLargestPacketThatPasses) {
  for (const std::size_t carries : {std::size_t{900}, std::size_t{1202}, std::size_t{130}}) {
    Rig g;
    g.world.carries = carries;
    g.start(true);
    const Report& r = g.run();
    EXPECT_EQ(r.at(Stage::full_size).reason, Reason::too_big_lost) << carries;
    EXPECT_LE(r.largest_passed, carries);
    EXPECT_GE(r.largest_passed + 16, carries);
    EXPECT_EQ(r.overall, Overall::partial);
  }
}

TEST(Probe, APathThatTurnsOutSmallerIsNoFailure) {
  Rig g;
  g.world.carries = 1000;
  g.start(true);
  while (g.report().at(Stage::full_size).verdict != Verdict::running) g.look();
  g.world.largest = 1000;  // a node on the way said so
  const Report& r = g.run();
  EXPECT_EQ(verdict(r, Stage::full_size), Verdict::ok);
  EXPECT_EQ(r.full_size, 1000U);
}

TEST(Probe, TheReferencesProbeNeitherPingsNorLoads) {
  Rig g;
  g.start(false);
  const Report& r = g.run();
  EXPECT_EQ(r.echoes_sent, 0U);
  EXPECT_EQ(r.at(Stage::ping).reason, Reason::not_asked);
  EXPECT_EQ(r.overall, Overall::ok);
}

TEST(Probes, AreBoundedCancelledAndForgotten) {
  Rig g;
  g.world.answer.reset();
  for (std::size_t i = 0; i < Probes::kMostRunning; ++i) g.start(true);
  const auto more = g.probes.start(node(9), PublicKey{}, true, Now{g.t, 0}, g.world, g.out);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error(), "too many probes in flight");
  EXPECT_TRUE(g.probes.cancel(g.id, g.t));
  EXPECT_EQ(g.report().overall, Overall::cancelled);
  EXPECT_FALSE(g.probes.cancel(99, g.t));
  EXPECT_TRUE(g.probes.start(node(9), PublicKey{}, true, Now{g.t, 0}, g.world, g.out));
  while (g.probes.deadline()) {
    g.t = *g.probes.deadline();
    g.probes.on_deadline(Now{g.t, 0}, g.world, g.out);
  }
  EXPECT_TRUE(g.probes.idle());
  EXPECT_LT(g.t, Instant{1000s + 120s}) << "every probe ends by itself";
}

TEST(Walk, FollowsTheTreeFromTheNextHop) {
  EXPECT_EQ(tree_walk({node(1), node(3), node(0)}, {node(9), node(5), node(0)}),
            (Path{node(1), node(3), node(0), node(5), node(9)}));
  EXPECT_EQ(tree_walk({node(1), node(0)}, {node(0)}), (Path{node(1), node(0)}));
  EXPECT_EQ(tree_walk({node(0)}, {node(9), node(0)}), (Path{node(0), node(9)}));
  EXPECT_EQ(tree_walk({node(1)}, {node(1)}), Path{node(1)});
  EXPECT_TRUE(tree_walk({node(1), node(0)}, {node(9), node(7)}).empty());
}

TEST(Walk, SaysWhatIsKnownAndWhatIsInferred) {
  Rig g;
  g.start(true);
  const Report& r = g.run();
  const Walk w = walk_of(r);
  ASSERT_EQ(w.steps.size(), 4U);  // 2, 0, 5, 9
  EXPECT_TRUE(w.complete);
  EXPECT_TRUE(w.steps[0].known);
  EXPECT_FALSE(w.steps[1].known);
  EXPECT_FALSE(w.steps[2].known);
  EXPECT_EQ(w.steps[3].node, node(9));
  EXPECT_TRUE(w.steps[3].known);
  EXPECT_EQ(w.links_back, 3U);  // 64 at the start, 62 here
}

TEST(Words, EveryFailureHasARemedy) {
  Report r;
  r.target = node(9);
  const std::pair<Stage, std::vector<Reason>> all[] = {
      {Stage::filter, {Reason::no_links, Reason::bloom_miss}},
      {Stage::lookup, {Reason::bloom_unconfirmed, Reason::backoff_suppressed, Reason::too_many_lookups}},
      {Stage::path, {Reason::disjoint_trees, Reason::no_next_hop}},
      {Stage::session, {Reason::send_error, Reason::handshake_timeout}},
      {Stage::round_trip, {Reason::no_report}},
      {Stage::ping, {Reason::ip_silent}},
      {Stage::full_size, {Reason::too_big_lost}},
      {Stage::recheck, {Reason::bloom_miss, Reason::bloom_unconfirmed}}};
  for (const auto& [stage, reasons] : all)
    for (const Reason why : reasons) {
      r.at(stage) = {Verdict::failed, why, "", 1s};
      const auto w = words_of(r, stage, name);
      EXPECT_FALSE(w.text.empty()) << name_of(why);
      EXPECT_FALSE(w.remedies.empty()) << name_of(why);
    }
  EXPECT_EQ(duration_text(420us), "0.42 ms");
  EXPECT_EQ(duration_text(12ms), "12 ms");
  EXPECT_EQ(duration_text(1500ms), "1.5 s");
}

}  // namespace
}  // namespace weft::probe
