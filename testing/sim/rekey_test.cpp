// New keys under traffic, at the shortest interval that may be configured.
#include <set>

#include "sim/sim_test.h"
#include "wire/link_frame.h"

namespace weft::sim {
namespace {

constexpr Duration kMarathon = 12min;

WorldParams eager(std::uint64_t seed) {
  auto p = world(seed);
  p.configure = [](NodeId, config::Config& c) { c.node.rekey.after_secs = 16; };
  return p;
}

bool is_phase(Bytes frame, wire::LinkPhase phase) {
  const auto p = wire::classify_link_frame(frame);
  return p && *p == phase;
}

/// Counts session epochs at one end by looking every second.
class SessionRekeys {
 public:
  SessionRekeys(World& w, NodeId a, NodeId b) : world_(w), a_(a), b_(b) { look(); }
  std::size_t count() const { return starts_.size() - 1; }

 private:
  void look() {
    if (const auto v = world_[a_].node().sessions().view(world_[b_].addr());
        v && v->state == session::State::established)
      starts_.insert(v->epoch_start);
    world_.net().after(1s, [this] { look(); });
  }
  World& world_;
  NodeId a_, b_;
  std::set<Instant> starts_;
};

std::uint32_t link_rekeys(World& w, NodeId a, NodeId b) {
  const auto* p = w[a].node().links().find(w[b].addr());
  return p ? p->rekeys : 0;
}

struct Marathon {
  Marathon(WorldParams p, std::uint32_t nodes) : w(line(nodes), std::move(p)), last(nodes - 1) {}
  void run(const std::function<void()>& once_up = [] {}) {
    w.start();
    expect_converges(w, 20s);
    expect_reach(w, w.all_pairs(), 60s);
    once_up();
    SessionRekeys sessions(w, 0, last);
    talk = std::make_unique<Talk>(w, 0, last, 40ms, kMarathon);
    w.run_for(kMarathon + 2s);
    EXPECT_GE(link_rekeys(w, 0, 1), 10u);
    EXPECT_GE(sessions.count(), 10u);
    EXPECT_EQ(w[0].node().links().find(w[1].addr())->up_since < w.net().now() - kMarathon, true)
        << "the link was replaced";
    expect_well(w);
  }
  World w;
  NodeId last;
  std::unique_ptr<Talk> talk;
};

TEST(Rekey, AMarathonWithoutLossLosesNothing) {
  for (const std::uint32_t nodes : {2u, 3u}) {
    Marathon m(eager(20 + nodes), nodes);
    m.run();
    EXPECT_EQ(m.talk->lost(), 0u) << nodes << " nodes" << all_drops(m.w);
  }
}

TEST(Rekey, AMarathonOverReorderingLosesNothing) {
  auto p = eager(23);
  p.link.reorder = 0.1;
  p.link.jitter = 4ms;
  p.link.duplicate = 0.05;
  p.node.shards = 2;
  p.node.missteer = 0.1;
  Marathon m(p, 3);
  m.run();
  EXPECT_EQ(m.talk->lost(), 0u) << all_drops(m.w);
}

TEST(Rekey, AMarathonOverALossyNetworkHasNoOutage) {
  auto p = eager(24);
  p.link.loss = 0.05;
  Marathon m(p, 3);
  m.run();
  EXPECT_LT(m.talk->outage(), 1s) << all_drops(m.w);
}

TEST(Rekey, OneLostAnswerPerRekeyCostsNoPacket) {
  Marathon m(eager(25), 2);
  std::set<Buffer> seen;
  std::size_t dropped = 0;
  m.run([&] {
    m.w.underlay().set_filter([&](const Datagram& d) {
      if (!is_phase(d.bytes, wire::LinkPhase::msg2)) return true;
      if (!seen.insert(Buffer(d.bytes.begin(), d.bytes.end())).second) return true;
      ++dropped;
      return false;
    });
  });
  EXPECT_GE(dropped, 10u);
  EXPECT_EQ(m.talk->lost(), 0u) << all_drops(m.w);
}

TEST(Rekey, AnswersThatNeverArriveLeaveTheOldKeysInUse) {
  World w(line(2), eager(26));
  w.start();
  expect_converges(w, 5s);
  expect_reach(w, w.all_pairs(), 5s);
  w.underlay().set_filter([](const Datagram& d) { return !is_phase(d.bytes, wire::LinkPhase::msg2); });
  Talk talk(w, 0, 1, 40ms, 5min);
  w.run_for(5min + 1s);
  EXPECT_EQ(talk.lost(), 0u) << all_drops(w);
  EXPECT_EQ(link_rekeys(w, 0, 1), 0u);
  expect_well(w);
}

TEST(Rekey, AReplayedFirstMessageDoesNotDisturbALiveLink) {
  World w(line(2), eager(27));
  std::vector<std::pair<Endpoint, Buffer>> recorded;
  w.underlay().set_filter([&](const Datagram& d) {
    if (is_phase(d.bytes, wire::LinkPhase::msg1))
      recorded.emplace_back(d.to, Buffer(d.bytes.begin(), d.bytes.end()));
    return true;
  });
  w.start();
  expect_converges(w, 5s);
  expect_reach(w, w.all_pairs(), 5s);
  Talk talk(w, 0, 1, 40ms, 4min);
  const Endpoint elsewhere = Endpoint::v4({203, 0, 113, 9}, 9);
  for (int round = 0; round < 80; ++round) {
    w.run_for(3s);
    const auto copy = recorded;
    for (const auto& [to, frame] : copy) w.underlay().inject(elsewhere, to, frame);
    if (round == 40) {  // an answer to what was recorded before a restart must not fool anybody either
      w[1].kill();
      w[1].start();
    }
  }
  w.run_for(1s);
  for (const NodeId i : {0u, 1u}) {
    const auto* peer = w[i].node().links().find(w[1 - i].addr());
    ASSERT_NE(peer, nullptr);
    EXPECT_EQ(peer->to, w[1 - i].endpoint());
    EXPECT_LE(w[i].node().links().candidates(), 8u);
  }
  EXPECT_LT(talk.outage(), 3s) << all_drops(w);  // the restart
  EXPECT_LT(talk.lost(), 100u);
  expect_well(w);
}

}  // namespace
}  // namespace weft::sim
