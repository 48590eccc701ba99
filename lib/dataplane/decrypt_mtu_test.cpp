// Rounds of MTU discovery: a probe, the notice behind it, and what the far side makes of them.
#include "dataplane/decrypt_shard.h"

#include "dataplane/test_rig.h"
#include "wire/own_msg.h"
#include "wire/report.h"

namespace weft {
namespace {

using rig::Pair;

struct MtuRound : Pair {
  MtuRound() : Pair(1280) { a.home(SendProbe{link_id(a, b), 7, 1472}); }
  void arrives(std::size_t frame) { b.wire({a.dec_io.frames().at(frame)}, a.endpoint); }
  std::vector<std::uint16_t> arrived() const {
    std::vector<std::uint16_t> out;
    for (const Punt& p : b.dec_io.punts)
      if (const auto* m = std::get_if<PuntMtuProbe>(&p)) out.push_back(m->arrived);
    return out;
  }
  /// What b reports of a: frames, highest counter, bursts of loss.
  wire::ReceiverReport report() {
    b.dec_io.sent.clear();
    b.home(SendLinkReports{link_id(b, a), false, true});
    a.dec_io.punts.clear();
    carry(b, a);
    const auto r =
        wire::decode_receiver_report(a.dec_io.first<PuntLinkMessage>().message, wire::ReportForm::link);
    EXPECT_TRUE(r);
    return r.value_or(wire::ReceiverReport{});
  }
};

TEST(DecryptShard, SendsAProbeOfItsSizeAloneAndWholeAndANoticeBehindIt) {
  MtuRound m;
  ASSERT_EQ(m.a.dec_io.sent.size(), 2U) << "in no run together";
  EXPECT_EQ(m.a.dec_io.sent[0].frames[0].size(), 1472U);
  EXPECT_LT(m.a.dec_io.sent[1].frames[0].size(), 80U);
  EXPECT_EQ(m.a.dec_io.whole, 1U) << "the notice may be fragmented as anything else";
  m.arrives(0);
  EXPECT_TRUE(m.arrived().empty()) << "the notice is what is answered";
  m.arrives(1);
  EXPECT_EQ(m.arrived(), std::vector<std::uint16_t>{1472});
  EXPECT_EQ(m.b.dec_io.first<PuntMtuProbe>().id, 7U);
  const auto r = m.report();
  EXPECT_EQ(r.total_frames, 2U);
  EXPECT_EQ(r.burst_count, 0U);
  EXPECT_EQ(m.b.all_drops(), 0U);
}

TEST(DecryptShard, CountsAProbeThatDidNotComeAsOneThatCame) {
  MtuRound m;
  m.arrives(1);
  EXPECT_EQ(m.arrived(), std::vector<std::uint16_t>{0});
  EXPECT_EQ(m.b.links[1].stats->epoch_frames_recv.get(), 2U);
  EXPECT_EQ(m.b.links[1].stats->epoch_highest.get(), 1U);
  const auto r = m.report();
  EXPECT_EQ(r.highest_counter, 1U);
  EXPECT_EQ(r.total_frames, 2U);
  EXPECT_EQ(r.burst_count, 0U);
  EXPECT_EQ(r.max_burst_loss, 0U);
}

TEST(DecryptShard, TellsOfAProbeThatComesBehindItsNoticeAndCountsItOnce) {
  MtuRound m;
  m.arrives(1);
  m.arrives(0);
  EXPECT_EQ(m.arrived(), (std::vector<std::uint16_t>{0, 1472}));
  EXPECT_EQ(m.b.links[1].stats->epoch_frames_recv.get(), 2U);
  EXPECT_EQ(m.report().total_frames, 2U);
  m.arrives(0);
  m.arrives(1);
  EXPECT_EQ(m.arrived().size(), 2U) << "replays";
}

TEST(DecryptShard, TakesNoNoticeOfWhatWasNotSentBeforeIt) {
  Pair p;
  for (const std::uint64_t counter : {std::uint64_t{0}, std::uint64_t{5}, UINT64_MAX}) {
    Buffer notice;
    wire::encode_mtu_notice(notice, {1, 1400, counter});
    p.a.home(SendLink{link_id(p.a, p.b), notice});
    carry(p.a, p.b);
  }
  EXPECT_EQ(p.b.drops(Drop::probe_mismatch), 3U);
  Buffer notice;
  wire::encode_mtu_notice(notice, {1, 1400, 1});  // a frame that has come: true, and no excuse
  for (int i = 0; i < 2; ++i) p.a.home(SendLink{link_id(p.a, p.b), notice});
  carry(p.a, p.b);
  EXPECT_EQ(p.b.dec_io.count<PuntMtuProbe>(), 2U);
  EXPECT_EQ(p.b.links[1].stats->epoch_frames_recv.get(), 5U);
}

TEST(DecryptShard, ALyingNoticeExcusesNothingTwice) {
  Pair p;
  p.a.links[2].key->reserve(10);
  for (int i = 0; i < 5; ++i) {
    Buffer notice;
    wire::encode_mtu_notice(notice, {1, 1400, 3});
    p.a.home(SendLink{link_id(p.a, p.b), notice});
  }
  carry(p.a, p.b);
  EXPECT_EQ(p.b.links[1].stats->epoch_frames_recv.get(), 6U);
}

TEST(DecryptShard, RefusesProbesThatAreNotWhatTheySay) {
  Pair p;
  Buffer probe(100);
  wire::write_mtu_probe(probe, 1);
  probe.pop_back();
  p.a.home(SendLink{link_id(p.a, p.b), probe});
  carry(p.a, p.b);
  EXPECT_EQ(p.b.drops(Drop::probe_mismatch), 1U);
  p.a.home(SendProbe{link_id(p.a, p.b), 1, 20});
  EXPECT_EQ(p.a.drops(Drop::probe_mismatch), 1U);
  EXPECT_TRUE(p.a.dec_io.sent.empty());
}

TEST(DecryptShard, CarriesFramesAsLargeAsADatagramCanBe) {
  Pair p(65507);
  const Buffer packet = rig::udp(p.a, p.b, 65507 - 77);
  p.a.tun({packet, packet, rig::udp(p.a, p.b, 9000)});
  p.pass();
  EXPECT_EQ(p.b.dec_io.packets().size(), 3U);
  EXPECT_EQ(p.b.dec_io.packets()[0], packet);
  EXPECT_EQ(p.a.all_drops() + p.b.all_drops(), 0U);
}

}  // namespace
}  // namespace weft
