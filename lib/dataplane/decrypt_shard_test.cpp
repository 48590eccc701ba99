#include "dataplane/decrypt_shard.h"

#include "dataplane/test_rig.h"
#include "wire/report.h"

namespace weft {
namespace {

using rig::at;
using rig::data_frame;
using rig::heartbeat;
using rig::Pair;
using rig::say;

// ---- what arrives at a socket
// ---------------------------------------------------------------------------------------

TEST(DecryptShard, RefusesEveryMalformedDatagramByItsReason) {
  Pair p;
  const Buffer good = heartbeat(p.a, p.b);
  const auto with = [&](std::size_t i, std::uint8_t v) {
    Buffer f = good;
    f[i] = v;
    return f;
  };
  Buffer stranger = good, shorter(good.begin(), good.end() - 1), probe = {0x4e, 0x50, 0x54, 0x43, 1};
  stranger[4] ^= 0xff;
  const std::vector<std::pair<Buffer, Drop>> rows = {{{}, Drop::too_short},
                                                     {{0, 0, 0}, Drop::too_short},
                                                     {Buffer(31), Drop::too_short},
                                                     {with(0, 0x10), Drop::wrong_version},
                                                     {with(0, 0x03), Drop::unknown_phase},
                                                     {with(0, 0x0f), Drop::unknown_phase},
                                                     {with(2, 9), Drop::wrong_length},
                                                     {shorter, Drop::wrong_length},
                                                     {stranger, Drop::unknown_index},
                                                     {probe, Drop::punch_probe},
                                                     {with(20, good[20] ^ 1), Drop::bad_tag}};
  for (const auto& [datagram, why] : rows) {
    const auto before = p.b.drops(why), all = p.b.all_drops();
    p.b.wire({datagram}, p.a.endpoint);
    EXPECT_EQ(p.b.drops(why), before + 1) << name_of(why);
    EXPECT_EQ(p.b.all_drops(), all + 1) << name_of(why);
  }
  EXPECT_TRUE(p.b.dec_io.punts.empty());
  EXPECT_EQ(p.b.links[1].stats->bad_tags_in_row.get(), 1U);
  p.b.wire({good}, p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.first<PuntLinkMessage>().message, Buffer{0x51});
  EXPECT_EQ(p.b.links[1].stats->bad_tags_in_row.get(), 0U);
}

TEST(DecryptShard, KnowsAnIndexOnlyOnItsOwnTransport) {
  Pair p;
  p.b.wire({heartbeat(p.a, p.b)}, p.a.endpoint, TransportId{7});
  EXPECT_EQ(p.b.drops(Drop::unknown_index), 1U);
}

TEST(DecryptShard, GivesHandshakesToTheCoreBehindABucketPerKind) {
  Pair p;
  Buffer m1(114), m2(69), flagged(114), longer(115);
  m1[0] = flagged[0] = longer[0] = 1;
  m2[0] = 2;
  m1[2] = flagged[2] = longer[2] = 110;
  m2[2] = 65;
  flagged[1] = 1;
  p.b.wire({m1, m2, flagged, longer}, p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.count<PuntHandshake>(), 2U);
  EXPECT_EQ(p.b.dec_io.first<PuntHandshake>().frame, m1);
  EXPECT_EQ(p.b.dec_io.first<PuntHandshake>().from, p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::bad_flags), 1U);
  EXPECT_EQ(p.b.drops(Drop::wrong_length), 1U);
  p.b.wire(std::vector<Buffer>(300, m1), p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::handshake_rate), 45U);
  p.b.wire({m2}, p.a.endpoint);  // a flood of the one does not starve the other
  EXPECT_EQ(p.b.drops(Drop::handshake_rate), 45U);
  p.b.dec_io.lanes_take = false;
  p.b.wire({m2}, p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::handshake_lane_full), 1U);
}

TEST(DecryptShard, OpensTheWholeFramesOfATruncatedRead) {
  Pair p;
  std::vector<Buffer> f = {data_frame(p.a, p.b, 1), data_frame(p.a, p.b, 2), data_frame(p.a, p.b, 3)};
  Buffer all;
  for (const Buffer& x : f) all.insert(all.end(), x.begin(), x.end());
  all.erase(all.end() - 10, all.end());
  const WireRead train{p.a.endpoint, all, f[0].size(), true};
  Buffer one = data_frame(p.a, p.b, 4);
  const WireRead single{p.a.endpoint, one, 0, true};
  auto io = p.b.dec_io.io();
  p.b.dec.on_wire(p.b.now, rig::kUdp, std::vector{train, single}, io);
  EXPECT_EQ(p.b.dec_io.packets().size(), 2U);
  EXPECT_EQ(p.b.drops(Drop::truncated_datagram), 2U);
}

TEST(DecryptShard, RefusesBadFramesInsideABurstOneByOne) {
  for (const bool joined : {true, false}) {
    Pair p;
    std::vector<Buffer> sent;
    for (std::uint8_t i = 0; i < 12; ++i) sent.push_back(data_frame(p.a, p.b, i));
    std::vector<Buffer> burst = {sent[0], sent[2], sent[1],  // reordered
                                 sent[2],                    // duplicated within the burst
                                 sent[3], sent[4], sent[5], sent[6], sent[7]};
    burst[4].back() ^= 1;  // bad tag
    burst[5][4] ^= 0x40;   // another index
    burst[6][9] ^= 1;      // another counter
    burst[7][60] ^= 0x80;  // a byte of the ciphertext
    p.b.dec_io.clear();
    if (joined) {
      p.b.wire_joined(burst, p.a.endpoint);
    } else {
      p.b.wire(burst, p.a.endpoint);
    }
    const auto got = p.b.dec_io.packets();
    ASSERT_EQ(got.size(), 4U);
    EXPECT_EQ(got[0], rig::udp(p.a, p.b, 300, 5000, 0));
    EXPECT_EQ(got[1], rig::udp(p.a, p.b, 300, 5000, 2));
    EXPECT_EQ(got[2], rig::udp(p.a, p.b, 300, 5000, 1));
    EXPECT_EQ(got[3], rig::udp(p.a, p.b, 300, 5000, 7));
    EXPECT_EQ(p.b.drops(Drop::replayed), 1U);
    EXPECT_EQ(p.b.drops(Drop::bad_tag), 3U);
    EXPECT_EQ(p.b.drops(Drop::unknown_index), 1U);
    p.b.dec_io.clear();
    p.b.wire({sent[3], sent[0], sent[3], sent[8]},
             p.a.endpoint);  // what was refused for its tag may still come
    EXPECT_EQ(p.b.dec_io.packets().size(), 2U);
    EXPECT_EQ(p.b.drops(Drop::replayed), 3U);
    EXPECT_EQ(p.b.links[1].stats->replay_suppressed.get(), 3U);
    EXPECT_EQ(p.b.all_drops(), 7U);
  }
}

TEST(DecryptShard, DropsCountersBehindTheWindow) {
  Pair p;
  const Buffer old = data_frame(p.a, p.b);
  p.a.links[2].key->next = 20000;
  p.b.wire({data_frame(p.a, p.b), old}, p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::too_old), 1U);
}

// ---- links
// ----------------------------------------------------------------------------------------------------------

TEST(DecryptShard, ProvesAHalfOnceAndBeforeTheMessage) {
  Pair p;
  p.b.dec_io.lanes_take = false;
  p.b.wire({heartbeat(p.a, p.b)}, p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::control_lane_full), 2U);
  p.b.dec_io.lanes_take = true;
  p.b.wire({heartbeat(p.a, p.b), heartbeat(p.a, p.b)}, p.a.endpoint);  // the proof is told again
  ASSERT_EQ(p.b.dec_io.punts.size(), 3U);
  const auto* proven = std::get_if<PuntLinkProven>(&p.b.dec_io.punts[0]);
  ASSERT_NE(proven, nullptr);
  EXPECT_EQ(proven->link, link_id(p.b, p.a));
  EXPECT_EQ(proven->our_index, index_for(p.b, p.a));
  EXPECT_EQ(p.b.dec_io.first<PuntLinkMessage>().counter, 1U);
}

TEST(DecryptShard, IgnoresUnknownTypesAndEmptyFramesAndKeepsTheLink) {
  Pair p;
  p.b.wire({say(p.a, SendLink{link_id(p.a, p.b), {0x7f, 1}}).at(0)}, p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::unknown_link_message), 1U);
  const auto k = rig::key(static_cast<std::uint8_t>(p.a.number * 16 + p.b.number));
  for (std::size_t plain = 0; plain < 5; ++plain) {
    Buffer f(32 + plain);
    wire::write_link_header(f, {{}, static_cast<std::uint16_t>(plain), index_for(p.b, p.a), 100 + plain});
    crypto::AeadJob job{&k,   100 + plain, Bytes(f).first(16), f.data() + 16, plain, f.data() + 16 + plain,
                        false};
    crypto::make_aead("sodium")->seal(std::span(&job, 1));
    p.b.wire({f, f}, p.a.endpoint);
  }
  EXPECT_EQ(p.b.drops(Drop::inner_short), 5U);
  EXPECT_EQ(p.b.drops(Drop::replayed), 5U);  // the counter stays accepted
}

TEST(DecryptShard, LimitsOneNeighboursMessagesToTheCore) {
  Pair p;
  for (int i = 0; i < 1100; ++i) p.b.wire({heartbeat(p.a, p.b)}, p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.count<PuntLinkMessage>(), 1024U);
  EXPECT_EQ(p.b.drops(Drop::peer_message_rate), 76U);
}

TEST(DecryptShard, ReportsANewAddressOnlyOfTheNewestFrameAndNotTooOften) {
  Pair p;
  const Endpoint elsewhere = Endpoint::v4({198, 51, 100, 9}, 999);
  const Buffer f0 = heartbeat(p.a, p.b), f1 = heartbeat(p.a, p.b);
  p.b.wire({f1}, p.a.endpoint);
  p.b.wire({f0}, elsewhere);  // authentic, but older
  EXPECT_EQ(p.b.dec_io.count<PuntMoved>(), 0U);
  p.b.wire({f0, f1}, elsewhere);  // replays
  EXPECT_EQ(p.b.dec_io.count<PuntMoved>(), 0U);
  for (int i = 0; i < 5; ++i) p.b.wire({heartbeat(p.a, p.b)}, elsewhere);
  EXPECT_EQ(p.b.dec_io.count<PuntMoved>(), 1U);
  EXPECT_EQ(p.b.dec_io.first<PuntMoved>().from, elsewhere);
  p.b.now = at(150);
  p.b.wire({heartbeat(p.a, p.b)}, elsewhere);
  EXPECT_EQ(p.b.dec_io.count<PuntMoved>(), 2U);
  p.b.links[1].to = elsewhere;
  p.b.all(SetLink{p.b.links[1]});
  p.b.now = at(400);
  p.b.wire({heartbeat(p.a, p.b)}, elsewhere);
  EXPECT_EQ(p.b.dec_io.count<PuntMoved>(), 2U);
}

TEST(DecryptShard, FollowsTheCurrentEpochOfALink) {
  Pair p;
  LinkStats& s = *p.b.links[1].stats;
  p.b.wire({heartbeat(p.a, p.b), heartbeat(p.a, p.b)}, p.a.endpoint);
  EXPECT_EQ(s.epoch_frames_recv.get(), 2U);
  EXPECT_EQ(s.epoch_highest.get(), 1U);
  const Buffer late = heartbeat(p.a, p.b);
  link_half(p.a, p.b, 1280, 1);
  p.b.wire({heartbeat(p.a, p.b)}, p.a.endpoint);  // pending: opened, but not measured yet
  EXPECT_EQ(s.frames_recv.get(), 3U);
  EXPECT_EQ(s.epoch_frames_recv.get(), 2U);
  EXPECT_EQ(s.k_recv.get(), 0U);
  p.b.home(LinkCutover{link_id(p.b, p.a), index_for(p.b, p.a, 1)});
  EXPECT_EQ(s.epoch_frames_recv.get(), 0U);
  p.b.wire({heartbeat(p.a, p.b), late}, p.a.endpoint);
  EXPECT_EQ(s.frames_recv.get(), 5U);
  EXPECT_EQ(s.epoch_frames_recv.get(), 1U);
  EXPECT_EQ(s.k_recv.get(), 1U);
  EXPECT_EQ(s.last_recv.get(), at(0));
  EXPECT_EQ(s.bytes_recv.get(), 5U * 37);
  p.b.home(DropLinkRecv{index_for(p.b, p.a, 0)});
  p.b.wire({late}, p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::unknown_index), 1U);
  p.b.all(DropLink{link_id(p.b, p.a)});
  p.b.wire({heartbeat(p.a, p.b)}, p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::unknown_index), 2U);
}

TEST(DecryptShard, TurnsTheSpinBitRoundTheLink) {
  Pair p;  // a is the responder, as rig decides it: initiator has the larger number's far side
  int turns = 0;
  bool last = false;
  for (int i = 0; i < 10; ++i) {
    const Buffer ab = heartbeat(p.a, p.b);
    p.b.wire({ab}, p.a.endpoint);
    const Buffer ba = heartbeat(p.b, p.a);
    p.a.wire({ba}, p.b.endpoint);
    const bool bit = (ab[1] & 4) != 0;
    turns += bit != last ? 1 : 0;
    last = bit;
  }
  EXPECT_GE(turns, 8);
}

// ---- the core's own messages
// ----------------------------------------------------------------------------------------

TEST(DecryptShard, SealsAndSendsTheCoresMessagesAtOnce) {
  Pair p;
  EXPECT_EQ(say(p.a, SendLink{link_id(p.a, p.b), {0x51}}).at(0).size(), 37U);
  EXPECT_TRUE(
      wire::decode_link_header(say(p.a, SendLink{link_id(p.a, p.b), {0x51}, true}).at(0))->flags.congested);
  EXPECT_TRUE(say(p.a, SendLink{LinkId{999}, {0x51}}).empty());
  EXPECT_TRUE(say(p.a, SendLink{link_id(p.a, p.b), Buffer(wire::kMaxControlFrame - 35, 0x51)}).empty());
  EXPECT_EQ(say(p.a, SendLink{link_id(p.a, p.b), Buffer(wire::kMaxControlFrame - 36, 0x51)}).size(), 1U);
  EXPECT_TRUE(say(p.a, SendSession{rig::node(9), link_id(p.a, p.b), 0x13, false, {0, 5}}).empty());
  EXPECT_TRUE(say(p.a, SendSession{p.b.addr, LinkId{999}, 0x13, false, {0, 5}}).empty());
  EXPECT_EQ(p.a.drops(Drop::no_route), 2U);
  EXPECT_EQ(p.a.drops(Drop::over_link_mtu), 1U);
  EXPECT_EQ(p.a.drops(Drop::unknown_session), 1U);
  EXPECT_EQ(p.a.links[2].stats->frames_sent.get(), 3U);
  EXPECT_EQ(p.a.links[2].stats->bytes_sent.get(), 2 * 37U + wire::kMaxControlFrame);
  EXPECT_EQ(p.a.links[2].key->bytes.load(), 2 * 37U + wire::kMaxControlFrame);
}

TEST(DecryptShard, FillsInReportsAtTheSeal) {
  Pair p;
  const auto link_report = [&](bool sender, bool receiver) {
    return say(p.b, SendLinkReports{link_id(p.b, p.a), sender, receiver});
  };
  EXPECT_TRUE(link_report(true, true).empty());  // nothing seen, nothing said
  p.b.wire({heartbeat(p.a, p.b), heartbeat(p.a, p.b)}, p.a.endpoint);
  p.b.now = at(30);
  const auto frames = link_report(false, true);
  ASSERT_EQ(frames.size(), 1U);
  p.a.wire(frames, p.b.endpoint);
  const auto r =
      wire::decode_receiver_report(p.a.dec_io.first<PuntLinkMessage>().message, wire::ReportForm::link);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->highest_counter, 1U);
  EXPECT_EQ(r->total_frames, 2U);
  EXPECT_EQ(r->total_bytes, 74U);
  EXPECT_EQ(r->timestamp_echo, 1000U);
  EXPECT_EQ(r->dwell_ms, 30U);
  EXPECT_TRUE(link_report(false, true).empty());
  p.a.dec_io.clear();
  p.a.wire(link_report(true, false), p.b.endpoint);
  const auto s =
      wire::decode_sender_report(p.a.dec_io.first<PuntLinkMessage>().message, wire::ReportForm::link);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->total_frames, 1U);
  EXPECT_EQ(s->last_timestamp, 1030U);
}

TEST(DecryptShard, ReportsOnSessionsTheSameWay) {
  Pair p;
  p.a.tun(rig::udp(p.a, p.b, 100));
  p.pass();
  p.a.wire(say(p.b, SendSessionReports{p.a.addr, link_id(p.b, p.a), true, true}), p.b.endpoint);
  ASSERT_EQ(p.a.dec_io.count<PuntSessionMessage>(), 1U);  // b sent nothing in the session yet
  const auto& m = p.a.dec_io.first<PuntSessionMessage>();
  EXPECT_EQ(m.type, 0x12);
  const auto r = wire::decode_receiver_report(m.body, wire::ReportForm::session);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->total_frames, 1U);
  EXPECT_EQ(r->total_bytes, 100U - 33 + 4 + 6);
  p.a.dec_io.clear();
  p.a.wire(say(p.b, SendSessionReports{p.a.addr, link_id(p.b, p.a), true, false}), p.b.endpoint);
  const auto s =
      wire::decode_sender_report(p.a.dec_io.first<PuntSessionMessage>().body, wire::ReportForm::session);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->total_bytes, 66U + 6 + 16);
}

// ---- several workers
// ------------------------------------------------------------------------------------------------

struct TwoWorkers : testing::Test {
  TwoWorkers() : w0(2, 2), a(1) {
    ShardOptions o = w0.options(2, true);
    o.id = WorkerId{1};
    w1 = std::make_unique<DecryptShard>(std::move(o));
    connect(a, w0);  // the link's home is worker 0: its index is even
    session_half(a, w0, 0);
    a.all(SetRoute{w0.addr, link_id(a, w0), HopClass::direct_peer, kNever});
  }
  rig::Node w0, a;
  rig::FakeIo io1;
  std::unique_ptr<DecryptShard> w1;
};

TEST_F(TwoWorkers, SendFramesOfAnotherHomeThere) {
  std::vector<Buffer> frames = {data_frame(a, w0, 1), data_frame(a, w0, 2)};
  std::vector<WireRead> reads;
  for (Buffer& f : frames) reads.push_back({a.endpoint, f});
  auto io = io1.io();
  w1->on_wire(at(0), rig::kUdp, reads, io);
  EXPECT_EQ(w1->stats().strays.get(), 2U);
  ASSERT_EQ(io1.strays.size(), 1U);  // one hand-over for the burst
  EXPECT_EQ(io1.strays[0].first, WorkerId{0});
  auto io0 = w0.dec_io.io();
  w0.dec.on_stray(at(0), std::move(io1.strays[0].second), io0);
  EXPECT_EQ(w0.dec_io.packets().size(), 2U);
  frames.push_back(data_frame(a, w0, 3));
  reads = {{a.endpoint, frames.back()}};
  io1.lanes_take = false;
  w1->on_wire(at(0), rig::kUdp, reads, io);
  EXPECT_EQ(w1->stats().drops.get(Drop::stray_lane_full), 1U);
  Buffer own = frames.back();  // worker 1 is home to this index and does not know it
  own[4] |= 1;
  reads = {{a.endpoint, own}};
  w1->on_wire(at(0), rig::kUdp, reads, io);
  EXPECT_EQ(w1->stats().drops.get(Drop::unknown_index), 1U);
}

TEST_F(TwoWorkers, SendDatagramsOfASessionThatLivesElsewhereThere) {
  rig::Node far{3};
  connect(far, w0);
  SessionSend known;
  known.remote = far.addr;
  known.key = std::make_shared<SendKey>(rig::key(5));
  known.home = WorkerId{1};
  known.stats = std::make_shared<SessionStats>();
  auto io = io1.io();
  w0.all(SetSession{known});
  w1->apply(at(0), Command{SetSession{known}}, io);
  auto stats = std::make_shared<SessionStats>();
  w1->apply(at(0), Command{AddSessionRecv{{far.addr, EpochId{0}, true, rig::key(6), {}, stats}}}, io);
  SessionSend s = known;
  s.remote = w0.addr;
  s.key = std::make_shared<SendKey>(rig::key(6));
  far.all(SetSession{s});
  route(far, w0, w0);
  const std::vector<Buffer> packets = {rig::udp(far, w0, 700, 5000, 1), rig::udp(far, w0, 700, 5000, 2)};
  far.tun(packets);
  carry(far, w0);
  ASSERT_EQ(w0.dec_io.strays.size(), 1U);
  EXPECT_EQ(w0.dec_io.strays[0].first, WorkerId{1});
  EXPECT_TRUE(w0.dec_io.packets().empty());
  w1->on_stray(at(0), std::move(w0.dec_io.strays[0].second), io);
  EXPECT_EQ(io1.packets(), packets);
  EXPECT_EQ(stats->packets_recv.get(), 2U);
  StrayBurst nonsense;
  nonsense.bytes = rig::pattern(90);
  nonsense.items = {{StrayBurst::Kind::datagram, false, {}, {}, {}, 0, 20},
                    {StrayBurst::Kind::frame, false, {}, {}, {}, 20, 50}};
  w1->on_stray(at(0), std::move(nonsense), io);
  EXPECT_EQ(io1.packets().size(), 2U);
}

}  // namespace
}  // namespace weft
