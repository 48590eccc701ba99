// Receiver, sender, link quality: the known answers, then what a faulty or hostile peer can say.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "metrics/link_quality.h"
#include "metrics/receiver.h"
#include "metrics/sender.h"
#include "testing/vectors/load.h"

namespace weft {
namespace {

const nlohmann::json& mmp() {
  static const nlohmann::json j = vectors::load("mesh.json")["mmp"];
  return j;
}
Instant at_ms(std::int64_t ms) { return Instant{} + std::chrono::hours(1) + std::chrono::milliseconds(ms); }
Instant at_ms(const nlohmann::json& ms) { return at_ms(ms.get<std::int64_t>()); }

// ---- receiver
// -------------------------------------------------------------------------------------------------------

class ReceiverVector : public testing::TestWithParam<const char*> {};

TEST_P(ReceiverVector, MeterReportsWhatTheModelReports) {
  ReceiverMeter meter;
  for (const auto& step : mmp()["receiver"][GetParam()]) {
    if (step.contains("recv")) {
      const auto& f = step["recv"];
      meter.on_frame(f["counter"], f["sender_ts"], f["bytes"], f["ce"], at_ms(f["now_ms"]));
      continue;
    }
    const auto got = meter.report(at_ms(step["report_at"]));
    ASSERT_EQ(got.has_value(), !step["report"].is_null());
    if (!got) continue;
    const auto& want = step["report"];
    EXPECT_EQ(got->highest_counter, want["highest_counter"]);
    EXPECT_EQ(got->total_frames, want["cumulative_packets_recv"]);
    EXPECT_EQ(got->total_bytes, want["cumulative_bytes_recv"]);
    EXPECT_EQ(got->timestamp_echo, want["timestamp_echo"]);
    EXPECT_EQ(got->dwell_ms, want["dwell_time"]);
    EXPECT_EQ(got->max_burst_loss, want["max_burst_loss"]);
    EXPECT_EQ(got->mean_burst_loss, want["mean_burst_loss"]);
    EXPECT_EQ(got->jitter_us, want["jitter"]);
    EXPECT_EQ(got->ce_count, want["ecn_ce_count"]);
    EXPECT_EQ(got->burst_count, want["burst_loss_count"]);
    EXPECT_EQ(got->reordered, want["cumulative_reorder_count"]);
    EXPECT_EQ(got->interval_frames, want["interval_packets_recv"]);
    EXPECT_EQ(got->interval_bytes, want["interval_bytes_recv"]);
  }
}
INSTANTIATE_TEST_SUITE_P(Vectors, ReceiverVector,
                         testing::Values("bursts", "adjacent_gaps_are_one_burst", "reorder", "dwell_overflow",
                                         "dwell_at_limit"));

TEST(ReceiverMeter, JitterFollowsTheModel) {
  ReceiverMeter meter;
  std::int64_t now_us = 0;
  std::uint32_t ts = 0;
  meter.on_frame(0, ts, 1, false, at_ms(0));
  std::uint64_t counter = 1;
  for (const auto& step : mmp()["jitter"]) {
    ts += 20;
    now_us += 20'000 + step["transit_delta_us"].get<std::int64_t>();
    meter.on_frame(counter++, ts, 1, false, at_ms(0) + std::chrono::microseconds(now_us));
    EXPECT_EQ(meter.jitter_us(), step["jitter_us"]);
  }
}

TEST(ReceiverMeter, HugeGapSaturatesInsteadOfWrapping) {
  ReceiverMeter meter;
  meter.on_frame(0, 0, 1, false, at_ms(0));
  meter.on_frame(65'537, 0, 1, false, at_ms(0));  // 65,536 lost: 0 modulo 2^16
  meter.on_frame(200'000, 0, 1, false, at_ms(0));
  const auto r = meter.report(at_ms(0));
  EXPECT_EQ(r->max_burst_loss, 65'535);
  EXPECT_EQ(r->mean_burst_loss, 65'535);
  EXPECT_EQ(r->burst_count, 1u);
}

TEST(ReceiverMeter, LastPossibleCounterDoesNotTurnTheNextOnesIntoGaps) {
  ReceiverMeter meter;
  meter.on_frame(UINT64_MAX, 0, 1, false, at_ms(0));
  meter.on_frame(5, 0, 1, false, at_ms(0));
  EXPECT_EQ(meter.report(at_ms(0))->burst_count, 0u);
}

TEST(ReceiverMeter, TimestampWrapIsAStepForwardNotAJump) {
  ReceiverMeter meter;
  meter.on_frame(0, UINT32_MAX - 9, 1, false, at_ms(0));
  meter.on_frame(1, 10, 1, false, at_ms(20));
  EXPECT_EQ(meter.jitter_us(), 0u);
}

TEST(ReceiverMeter, ClockStandingStillOrWildTimestampsStayInRange) {
  ReceiverMeter meter;
  meter.on_frame(0, 0, SIZE_MAX, false, at_ms(1000));
  meter.on_frame(1, 0x7FFFFFFF, SIZE_MAX, false, at_ms(0));
  meter.on_frame(2, 0, 1, false, at_ms(5));
  const auto r = meter.report(at_ms(0));
  EXPECT_EQ(r->dwell_ms, 0);
  EXPECT_EQ(r->interval_bytes, UINT32_MAX);
}

TEST(ReceiverMeter, CutoverKeepsTotalsAndForgetsTheEpoch) {
  ReceiverMeter meter;
  meter.on_frame(7, 100, 50, true, at_ms(0));
  meter.on_frame(3, 90, 50, false, at_ms(40));
  meter.cutover(at_ms(50));
  EXPECT_FALSE(meter.report(at_ms(50))) << "the interval begins anew";
  meter.on_frame(0, 1, 10, false, at_ms(60));
  const auto r = meter.report(at_ms(61));
  EXPECT_EQ(r->total_frames, 3u);
  EXPECT_EQ(r->total_bytes, 110u);
  EXPECT_EQ(r->highest_counter, 0u);
  EXPECT_EQ(r->reordered, 0u);
  EXPECT_EQ(r->ce_count, 0u);
  EXPECT_EQ(r->jitter_us, 0u);
  EXPECT_EQ(r->burst_count, 0u);
}

TEST(ReceiverMeter, JitterRestsForTheGraceAfterACutover) {
  ReceiverMeter meter;
  meter.cutover(at_ms(0), ReceiverMeter::kJitterGrace);
  meter.on_frame(0, 1'000'000, 1, false, at_ms(10));
  meter.on_frame(1, 5, 1, false, at_ms(14'999));
  EXPECT_EQ(meter.jitter_us(), 0u);
  meter.on_frame(2, 100'000, 1, false, at_ms(15'000));
  EXPECT_GT(meter.jitter_us(), 0u);
}

// ---- sender
// ---------------------------------------------------------------------------------------------------------

TEST(SenderMeter, IntervalFollowsFromTheTotals) {
  SenderMeter meter;
  ASSERT_TRUE(meter.report(100, 4'000, 5000));
  const auto r = meter.report(201, 54'000, 6000);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, (wire::SenderReport{.first_counter = 100,
                                    .last_counter = 200,
                                    .first_timestamp = 5000,
                                    .last_timestamp = 6000,
                                    .interval_bytes = 50'000,
                                    .total_frames = 201,
                                    .total_bytes = 54'000}));
  EXPECT_FALSE(meter.report(201, 54'000, 7000)) << "nothing was sent since";
}

TEST(SenderMeter, CutoverRestartsCountersAndKeepsTotals) {
  SenderMeter meter;
  ASSERT_TRUE(meter.report(10, 1'000, 500));
  meter.cutover(12, 1'200);
  const auto r = meter.report(3, 300, 40);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->first_counter, 0u);
  EXPECT_EQ(r->last_counter, 2u);
  EXPECT_EQ(r->first_timestamp, 0u);
  EXPECT_EQ(r->interval_bytes, 300u);
  EXPECT_EQ(r->total_frames, 15u);
  EXPECT_EQ(r->total_bytes, 1'500u);
}

// ---- formulas
// -------------------------------------------------------------------------------------------------------

TEST(SrttEstimator, FollowsTheModelInIntegers) {
  SrttEstimator e;
  for (const auto& step : mmp()["srtt"]) {
    e.add(step["rtt_us"]);
    EXPECT_EQ(e.srtt_us(), step["srtt_us"].get<std::int64_t>());
    EXPECT_EQ(e.rttvar_us(), step["rttvar_us"].get<std::int64_t>());
  }
}

TEST(DualEwma, FollowsTheModel) {
  DualEwma e;
  for (const auto& step : mmp()["dual_ewma"]) {
    e.add(step["sample"]);
    EXPECT_DOUBLE_EQ(e.fast(), step["short"]);
    EXPECT_DOUBLE_EQ(e.slow(), step["long"]);
  }
}

TEST(DualEwma, TrendComparesFastWithSlow) {
  DualEwma e;
  EXPECT_FALSE(e.trend());
  e.add(0);
  EXPECT_EQ(e.trend(), Trend::stable) << "no division by zero";
  DualEwma up;
  up.add(100);
  EXPECT_EQ(up.trend(), Trend::stable);
  up.add(200);
  EXPECT_EQ(up.trend(), Trend::rising);
  DualEwma down;
  down.add(100);
  down.add(10);
  EXPECT_EQ(down.trend(), Trend::falling);
  EXPECT_EQ(name_of(Trend::falling), "falling");
}

TEST(Etx, FollowsTheModelAndNeverDividesByZero) {
  for (const auto& v : mmp()["etx"]) EXPECT_DOUBLE_EQ(etx_of(v["forward"], v["reverse"]), v["etx"]);
  EXPECT_EQ(etx_of(0, 0), 100);
}

TEST(LinkCost, FollowsTheModel) {
  for (const auto& v : mmp()["link_cost"]) {
    std::optional<std::int64_t> srtt;
    if (!v["srtt_ms"].is_null()) srtt = static_cast<std::int64_t>(v["srtt_ms"].get<double>() * 1000);
    EXPECT_NEAR(link_cost(v["etx"], srtt), v["cost"], 1e-12);
  }
}

TEST(Rtt, FollowsTheModelButKeepsSubMillisecondResults) {
  for (const auto& v : mmp()["rtt"]) {
    const auto got = rtt_of(v["our_now_ms"], v["echo"], v["dwell"]);
    if (v["result"].is_number()) {
      EXPECT_EQ(got.kind, RttSample::Kind::taken);
      EXPECT_EQ(got.rtt_us, v["result"].get<std::int64_t>() * 1000);
    } else if (v["result"] == "ignored: zero") {
      EXPECT_EQ(got.kind, RttSample::Kind::taken);
      EXPECT_EQ(got.rtt_us, 500);
    } else {
      EXPECT_NE(got.kind, RttSample::Kind::taken) << v;
    }
  }
}

// ---- link quality
// ---------------------------------------------------------------------------------------------------

constexpr SentSoFar kPlenty{.next_counter = 1'000'000, .frames_total = 1'000'000};

TEST(LinkQuality, FollowsTheModelsSequence) {
  LinkQuality q;
  for (const auto& step : mmp()["metrics_sequence"]) {
    const auto& in = step["in"];
    if (step["event"] == "rr") {
      wire::ReceiverReport r;
      r.highest_counter = in["highest"];
      r.total_frames = in["packets"];
      r.total_bytes = in["bytes"];
      r.timestamp_echo = in["echo"];
      r.dwell_ms = in["dwell"];
      r.ce_count = in["ce"];
      r.reordered = in["reorder"];
      const auto got = q.on_report(r, kPlenty, in["our_now_ts"], at_ms(in["mono_ms"]));
      EXPECT_EQ(got.has_value(), step["outcome"] == "used");
    } else {
      q.on_own_receipts(in["our_recv_packets"], in["peer_highest"]);
    }
    EXPECT_DOUBLE_EQ(q.forward(), step["forward"]);
    EXPECT_DOUBLE_EQ(q.reverse(), step["reverse"]);
    EXPECT_NEAR(q.loss(), step["loss"], 1e-12);
    EXPECT_DOUBLE_EQ(q.etx(), step["etx"]);
    EXPECT_DOUBLE_EQ(q.goodput(), step["goodput_bps"]);
    EXPECT_EQ(q.srtt_us(), step["srtt_us"].get<std::int64_t>());
  }
}

wire::ReceiverReport report(std::uint64_t highest, std::uint64_t frames, std::uint32_t echo = 0) {
  wire::ReceiverReport r;
  r.highest_counter = highest;
  r.total_frames = frames;
  r.total_bytes = frames * 100;
  r.timestamp_echo = echo;
  return r;
}

TEST(LinkQuality, FirstReportIsOnlyABase) {
  LinkQuality q;
  ASSERT_TRUE(q.on_report(report(200, 100), kPlenty, 0, at_ms(0)));
  EXPECT_EQ(q.loss(), 0);
  EXPECT_FALSE(q.smoothed_loss());
  q.on_own_receipts(10, 100);
  EXPECT_EQ(q.reverse(), 1);
}

TEST(LinkQuality, FirstRttIsSaidOnce) {
  LinkQuality q;
  EXPECT_FALSE(q.on_report(report(1, 1), kPlenty, 50, at_ms(0))->rtt_sample);
  EXPECT_EQ(q.cost(), 1.0) << "unmeasured";
  EXPECT_TRUE(q.on_report(report(2, 2, 10), kPlenty, 50, at_ms(1))->first_rtt);
  const auto again = q.on_report(report(3, 3, 10), kPlenty, 50, at_ms(2));
  EXPECT_TRUE(again->rtt_sample);
  EXPECT_FALSE(again->first_rtt);
  EXPECT_NEAR(q.cost(), 1.4, 1e-12);
}

TEST(LinkQuality, AnyFieldLowerOrAllEqualIsIgnoredWholly) {
  auto base = report(100, 100, 1);
  base.ce_count = 5;
  base.reordered = 5;
  auto good = base;
  good.highest_counter = 200;
  good.total_frames = 200;
  good.total_bytes = 20'000;
  good.ce_count = 6;
  good.reordered = 6;
  const std::vector<std::function<void(wire::ReceiverReport&)>> lies = {
      [](auto& r) { r.highest_counter = 99; }, [](auto& r) { r.total_frames = 99; },
      [](auto& r) { r.total_bytes = 9'999; },  [](auto& r) { r.ce_count = 4; },
      [](auto& r) { r.reordered = 4; },        [&](auto& r) { r = base; }};
  for (const auto& lie : lies) {
    LinkQuality q;
    ASSERT_TRUE(q.on_report(base, kPlenty, 11, at_ms(0)));
    auto r = good;
    lie(r);
    r.timestamp_echo = 1;
    const auto got = q.on_report(r, kPlenty, 900, at_ms(1000));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), Drop::bad_report);
    EXPECT_EQ(q.srtt_us(), 10'000);
    EXPECT_EQ(q.goodput(), 0);
    EXPECT_FALSE(q.smoothed_loss());
    EXPECT_TRUE(q.on_report(good, kPlenty, 900, at_ms(2000))) << "the base is still the old one";
  }
}

TEST(LinkQuality, HighestCounterThatWeNeverUsedIsRefused) {
  LinkQuality q;
  const SentSoFar sent{.next_counter = 100, .frames_total = 100};
  EXPECT_FALSE(q.on_report(report(100, 50), sent, 0, at_ms(0)));
  EXPECT_TRUE(q.on_report(report(99, 50), sent, 0, at_ms(1)));
  EXPECT_FALSE(q.on_report(report(UINT64_MAX, 51), sent, 0, at_ms(2)));
  EXPECT_TRUE(q.on_report(report(99, 60), sent, 0, at_ms(3))) << "the honest peer is still heard";
}

TEST(LinkQuality, MoreFramesThanWeEverSentAreRefused) {
  LinkQuality q;
  const SentSoFar sent{.next_counter = 100, .frames_total = 500};
  ASSERT_TRUE(q.on_report(report(10, 410), sent, 0, at_ms(0)))
      << "totals outlive epochs: frames may exceed highest + 1";
  EXPECT_FALSE(q.on_report(report(20, 911), sent, 0, at_ms(1)));
  EXPECT_TRUE(q.on_report(report(20, 420), sent, 0, at_ms(2)));
  EXPECT_EQ(q.loss(), 0);
}

TEST(LinkQuality, PeerThatBeganAnewIsHeardAfterFourReports) {
  LinkQuality q;
  ASSERT_TRUE(q.on_report(report(5000, 5000), kPlenty, 0, at_ms(0)));
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_FALSE(q.on_report(report(i, i), kPlenty, 0, at_ms(0)));
  EXPECT_TRUE(q.on_report(report(4, 4), kPlenty, 0, at_ms(0)));
  EXPECT_EQ(q.loss(), 0);
  EXPECT_TRUE(q.on_report(report(14, 9), kPlenty, 0, at_ms(1)));
  EXPECT_DOUBLE_EQ(q.loss(), 0.5);
}

TEST(LinkQuality, ImpossibleEchoesGiveNoRttButTheRestCounts) {
  LinkQuality q;
  ASSERT_TRUE(q.on_report(report(100, 100), kPlenty, 1000, at_ms(0)));
  auto future = report(200, 150, 2000);
  ASSERT_TRUE(q.on_report(future, kPlenty, 1000, at_ms(1000)));
  auto wrapping = report(300, 200, UINT32_MAX);
  wrapping.dwell_ms = 65'535;
  ASSERT_TRUE(q.on_report(wrapping, kPlenty, 70'000, at_ms(2000)));
  EXPECT_FALSE(q.srtt_us());
  EXPECT_EQ(q.tally().rtt_impossible, 2u);
  EXPECT_DOUBLE_EQ(q.loss(), 0.5);
  EXPECT_DOUBLE_EQ(q.goodput(), 5000);
}

TEST(LinkQuality, LossOfEveryFrameIsEtx100) {
  LinkQuality q;
  ASSERT_TRUE(q.on_report(report(100, 100), kPlenty, 0, at_ms(0)));
  ASSERT_TRUE(q.on_report(report(200, 100), kPlenty, 0, at_ms(1)));
  EXPECT_EQ(q.loss(), 1);
  EXPECT_EQ(q.etx(), 100);
  EXPECT_TRUE(std::isfinite(q.cost()));
}

TEST(LinkQuality, CutoverKeepsWhatWasLearntAndTakesANewBase) {
  LinkQuality q;
  ASSERT_TRUE(q.on_report(report(100, 100, 10), kPlenty, 20, at_ms(0)));
  ASSERT_TRUE(q.on_report(report(200, 150, 10), kPlenty, 20, at_ms(10)));
  const auto etx = q.etx();
  q.cutover(1'000, at_ms(20));
  EXPECT_EQ(q.loss(), 0);
  EXPECT_EQ(q.etx(), etx);
  EXPECT_EQ(q.srtt_us(), 10'000);
  EXPECT_TRUE(q.on_report(report(3, 154), {.next_counter = 5, .frames_total = 1'005}, 0, at_ms(30)));
  EXPECT_EQ(q.etx(), etx);
}

TEST(LinkQuality, PeerThatCountsOldEpochFramesAfterACutoverStillGivesRttButNoLoss) {
  LinkQuality q;
  q.cutover(50'000, at_ms(0));
  const SentSoFar sent{.next_counter = 100, .frames_total = 50'100};
  ASSERT_TRUE(q.on_report(report(20, 50'020), sent, 0, at_ms(1'000)));
  EXPECT_FALSE(q.on_report(report(49'999, 50'050, 5), sent, 5'000, at_ms(5'000)))
      << "its echo may be the old clock's";
  EXPECT_TRUE(q.on_report(report(49'999, 50'090, 19'990), sent, 20'000, at_ms(20'000)));
  EXPECT_EQ(q.srtt_us(), 10'000);
  EXPECT_EQ(q.loss(), 0);
  EXPECT_FALSE(q.on_report(report(50'000, 50'095), sent, 0, at_ms(21'000)))
      << "no epoch reached that counter";
}

}  // namespace
}  // namespace weft
