// Schedule, spin bit, path MTU, congestion: the known answers and their edges.
#include <gtest/gtest.h>

#include "metrics/congestion.h"
#include "metrics/path_mtu.h"
#include "metrics/schedule.h"
#include "metrics/spin.h"
#include "testing/vectors/load.h"

namespace weft {
namespace {

const nlohmann::json& mmp() {
  static const nlohmann::json j = vectors::load("mesh.json")["mmp"];
  return j;
}
Instant at(Duration d) { return Instant{} + std::chrono::hours(1) + d; }

// ---- schedule
// -------------------------------------------------------------------------------------------------------

TEST(ReportSchedule, IntervalsFollowTheModel) {
  for (const auto& v : mmp()["report_interval"]) {
    ReportSchedule link(MetricsLayer::link, MetricsMode::full);
    ReportSchedule session(MetricsLayer::session, MetricsMode::full);
    for (int i = 0; i < v["update_number"]; ++i) {
      link.retune(v["srtt_us"]);
      session.retune(v["srtt_us"]);
    }
    EXPECT_EQ(to_ms(link.interval(ReportKind::sender)), v["link_sender_ms"]) << v;
    EXPECT_EQ(to_ms(link.interval(ReportKind::receiver)), v["link_receiver_ms"]) << v;
    EXPECT_EQ(to_ms(session.interval(ReportKind::sender)), v["session_sender_ms"]) << v;
    EXPECT_EQ(to_ms(session.interval(ReportKind::receiver)), v["session_receiver_ms"]) << v;
  }
}

TEST(ReportSchedule, BeforeTheFirstSrttALinkWaits200MsAndASessionASecond) {
  EXPECT_EQ(ReportSchedule(MetricsLayer::link, MetricsMode::full).interval(ReportKind::receiver), 200ms);
  EXPECT_EQ(ReportSchedule(MetricsLayer::session, MetricsMode::full).interval(ReportKind::receiver), 1s);
}

TEST(ReportSchedule, FirstReportIsDueAtOnceAndTheNextAtItsIntervalWithoutATick) {
  ReportSchedule s(MetricsLayer::link, MetricsMode::full);
  EXPECT_TRUE(s.is_due(ReportKind::sender, at(0s)));
  s.done(ReportKind::sender, at(0s));
  s.done(ReportKind::receiver, at(50ms));
  EXPECT_EQ(s.deadline(), at(200ms));
  EXPECT_FALSE(s.is_due(ReportKind::sender, at(199ms)));
  EXPECT_TRUE(s.is_due(ReportKind::sender, at(200ms)));
  s.retune(1'000'000);
  EXPECT_EQ(s.due(ReportKind::receiver), at(1050ms)) << "a new interval counts from the last report";
}

TEST(ReportSchedule, ModesDecideWhichReportsGoOut) {
  ReportSchedule light(MetricsLayer::link, MetricsMode::lightweight);
  EXPECT_EQ(light.due(ReportKind::sender), kNever);
  EXPECT_TRUE(light.is_due(ReportKind::receiver, at(0s)));
  ReportSchedule minimal(MetricsLayer::session, MetricsMode::minimal);
  EXPECT_EQ(minimal.deadline(), kNever);
  EXPECT_EQ(parse_metrics_mode("lightweight"), MetricsMode::lightweight);
  EXPECT_FALSE(parse_metrics_mode("Full"));
}

TEST(ReportSchedule, FailedRoundsDelayTheSenderReportOnlyAndAnySuccessClears) {
  ReportSchedule s(MetricsLayer::session, MetricsMode::full);
  s.done(ReportKind::sender, at(0s));
  s.done(ReportKind::receiver, at(0s));
  for (const auto& v : mmp()["send_failure_multiplier"]) {
    EXPECT_EQ(s.failure_multiplier(), v["multiplier"]);
    EXPECT_EQ(s.due(ReportKind::sender), at(std::chrono::seconds(v["multiplier"].get<int>())));
    EXPECT_EQ(s.due(ReportKind::receiver), at(1s));
    s.on_send_round(false);
  }
  s.on_send_round(true);
  EXPECT_EQ(s.failure_multiplier(), 1u);
}

TEST(ReportSchedule, SenselessSrttChangesNothing) {
  ReportSchedule s(MetricsLayer::link, MetricsMode::full);
  s.retune(0);
  s.retune(-5);
  EXPECT_EQ(s.interval(ReportKind::sender), 200ms);
  s.retune(INT64_MAX);
  EXPECT_EQ(s.interval(ReportKind::sender), 5s);
}

// ---- spin bit
// -------------------------------------------------------------------------------------------------------

void run_spin(SpinBit::Role role, const nlohmann::json& steps) {
  SpinBit spin(role);
  for (const auto& s : steps) {
    spin.on_frame(s["counter"], s["rx_bit"]);
    EXPECT_EQ(spin.bit(), s["tx_bit_after"]) << s;
  }
}
TEST(SpinBit, InitiatorFollowsTheModel) { run_spin(SpinBit::Role::initiator, mmp()["spin"]["initiator"]); }
TEST(SpinBit, ResponderFollowsTheModel) { run_spin(SpinBit::Role::responder, mmp()["spin"]["responder"]); }

TEST(SpinBit, CutoverLetsLowCountersCountAgain) {
  SpinBit spin(SpinBit::Role::responder);
  spin.on_frame(1000, false);
  spin.cutover();
  spin.on_frame(0, true);
  EXPECT_TRUE(spin.bit());
}

// ---- path MTU, source
// -----------------------------------------------------------------------------------------------

TEST(PathMtuLimit, FollowsTheModel) {
  const auto& v = mmp()["path_mtu_source"];
  const Duration interval = std::chrono::milliseconds(v["interval_ms"].get<int>());
  PathMtuLimit limit;
  limit.seed(v["seed"]);
  for (const auto& s : v["steps"]) {
    const auto effect =
        limit.on_claim(s["notified"], at(std::chrono::milliseconds(s["t_ms"].get<int>())), interval);
    EXPECT_EQ(effect == PathMtuLimit::Effect::lowered || effect == PathMtuLimit::Effect::raised, s["changed"])
        << s;
    EXPECT_EQ(limit.current(), s["current"]) << s;
  }
}

TEST(PathMtuLimit, ClaimsBelowTheFloorAreNotBelieved) {
  PathMtuLimit limit;
  limit.seed(1400);
  for (const auto v : std::vector<std::uint16_t>{0, 1, 137, 138, 200, 255})
    EXPECT_EQ(limit.on_claim(v, at(0s), 10s), PathMtuLimit::Effect::below_floor);
  EXPECT_EQ(limit.current(), 1400);
  EXPECT_EQ(limit.on_claim(800, at(0s), 10s), PathMtuLimit::Effect::lowered);
  EXPECT_EQ(limit.on_claim(576, at(0s), 10s), PathMtuLimit::Effect::lowered);
  EXPECT_EQ(limit.on_claim(256, at(0s), 10s), PathMtuLimit::Effect::lowered);
}

TEST(PathMtuLimit, RisesAtTheThirdEqualClaimOverTwoIntervals) {
  PathMtuLimit limit;
  limit.seed(500);
  EXPECT_EQ(limit.on_claim(1000, at(0s), 10s), PathMtuLimit::Effect::none);
  EXPECT_EQ(limit.on_claim(1000, at(10s), 10s), PathMtuLimit::Effect::none);
  EXPECT_EQ(limit.on_claim(1000, at(20s), 10s), PathMtuLimit::Effect::raised);
  EXPECT_EQ(limit.current(), 1000);
}

TEST(PathMtuLimit, ManyClaimsAtOneInstantDoNotRaise) {
  PathMtuLimit limit;
  limit.seed(1000);
  for (int i = 0; i < 600; ++i) limit.on_claim(1200, at(0s), 10s);
  EXPECT_EQ(limit.current(), 1000);
}

TEST(PathMtuLimit, OtherHigherValueOrADecreaseRestartsTheCount) {
  PathMtuLimit limit;
  limit.seed(500);
  limit.on_claim(1000, at(0s), 10s);
  limit.on_claim(1000, at(10s), 10s);
  limit.on_claim(900, at(20s), 10s);
  EXPECT_EQ(limit.on_claim(1000, at(30s), 10s), PathMtuLimit::Effect::none);
  limit.on_claim(1000, at(40s), 10s);
  limit.on_claim(400, at(45s), 10s);
  EXPECT_EQ(limit.on_claim(1000, at(50s), 10s), PathMtuLimit::Effect::none);
  limit.on_claim(1000, at(60s), 10s);
  EXPECT_EQ(limit.on_claim(1000, at(70s), 10s), PathMtuLimit::Effect::raised);
}

TEST(PathMtuLimit, ResetForgetsValueAndCountAndTheNextSendSeedsAgain) {
  PathMtuLimit limit;
  limit.seed(500);
  limit.on_claim(1000, at(0s), 10s);
  limit.on_claim(1000, at(10s), 10s);
  limit.reset();
  EXPECT_EQ(limit.current(), wire::kMtuUnknown);
  limit.seed(600);
  limit.seed(1280);
  EXPECT_EQ(limit.current(), 600) << "a seed only lowers";
  EXPECT_EQ(limit.on_claim(1000, at(20s), 10s), PathMtuLimit::Effect::none);
}

TEST(PathMtuInterval, IsFiveRoundTripsAndAtLeastTenSeconds) {
  EXPECT_EQ(path_mtu_interval(std::nullopt), 10s);
  EXPECT_EQ(path_mtu_interval(1'000'000), 10s);
  EXPECT_EQ(path_mtu_interval(3'000'000), 15s);
  EXPECT_EQ(path_mtu_interval(INT64_MAX), 5h);
}

// ---- path MTU, destination
// ------------------------------------------------------------------------------------------

TEST(PathMtuObserver, NotifiesAtOnceThenPeriodically) {
  PathMtuObserver o;
  EXPECT_EQ(o.due(1280, 10s), kNever);
  EXPECT_FALSE(o.take_notice(at(0s), 1280, 10s));
  o.observe(1280);
  EXPECT_EQ(o.take_notice(at(0s), 1280, 10s), 1280);
  EXPECT_FALSE(o.take_notice(at(9s), 1280, 10s));
  EXPECT_EQ(o.due(1280, 10s), at(10s));
  EXPECT_EQ(o.take_notice(at(10s), 1280, 10s), 1280);
}

TEST(PathMtuObserver, ChangeBelowOurOwnSendingMtuIsToldAtOnceAnyOtherWaits) {
  PathMtuObserver o;
  o.observe(1280);
  o.take_notice(at(0s), 1280, 10s);
  o.observe(1400);
  EXPECT_FALSE(o.take_notice(at(1s), 1280, 10s));
  o.observe(900);
  EXPECT_EQ(o.take_notice(at(1s), 1280, 10s), 900);
  EXPECT_FALSE(o.take_notice(at(2s), 1280, 10s)) << "told once";
}

TEST(PathMtuObserver, NeverNotifiesAnUnknownValue) {
  PathMtuObserver o;
  o.observe(1280);
  o.take_notice(at(0s), 1280, 10s);
  o.observe(wire::kMtuUnknown);
  EXPECT_FALSE(o.take_notice(at(100s), 1280, 10s));
}

// ---- congestion
// -----------------------------------------------------------------------------------------------------

TEST(Congestion, AnyOfLossEtxOrKernelDropsSuffices) {
  const CongestionRule rule;
  EXPECT_FALSE(is_congested(rule, 0.049, 2.99, false));
  EXPECT_TRUE(is_congested(rule, 0.05, 1, false));
  EXPECT_TRUE(is_congested(rule, 0, 3, false));
  EXPECT_TRUE(is_congested(rule, 0, 1, true));
  EXPECT_FALSE(is_congested({.enabled = false}, 1, 100, true));
}

TEST(DropWatch, SeesOnlyARise) {
  DropWatch w;
  EXPECT_FALSE(w.rose(500)) << "drops from before we looked";
  EXPECT_FALSE(w.rose(500));
  EXPECT_TRUE(w.rose(501));
  EXPECT_FALSE(w.rose(3)) << "a new socket counts from zero";
  EXPECT_TRUE(w.rose(4));
}

TEST(Ip6Ce, MarkFollowsTheModel) {
  for (const auto& v : mmp()["ipv6_ce_mark"]) {
    auto packet = vectors::bytes(v["in"]);
    set_ip6_ce(packet);
    EXPECT_EQ(to_hex(packet), v["out"]);
  }
}

}  // namespace
}  // namespace weft
