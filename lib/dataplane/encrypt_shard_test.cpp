#include "dataplane/encrypt_shard.h"

#include "dataplane/icmp6.h"
#include "dataplane/test_rig.h"

namespace weft {
namespace {

using rig::at;
using rig::Pair;

TEST(EncryptShard, ChangesNoByteOnTheWayAndSpendsSeventySevenAroundAPacket) {
  Pair p;
  for (const std::size_t size : {48U, 64U, 500U, 1203U}) {
    const Buffer packet = rig::udp(p.a, p.b, size);
    p.a.tun(packet);
    ASSERT_EQ(p.a.enc_io.sent.size(), 1U);
    EXPECT_EQ(p.a.enc_io.sent[0].frames[0].size(), size + 77);
    p.pass();
    EXPECT_EQ(p.b.dec_io.packets(), std::vector<Buffer>{packet});
    p.b.dec_io.clear();
  }
  EXPECT_EQ(p.a.all_drops() + p.b.all_drops(), 0U);
  EXPECT_EQ(p.a.sessions[2].stats->packets_sent.get(), 4U);
  EXPECT_EQ(p.a.sessions[2].stats->bytes_sent.get(), 48U + 64 + 500 + 1203 - 4 * 33);
  EXPECT_EQ(p.a.sessions[2].key->bytes.load(), 48U + 64 + 500 + 1203 + 4 * (4 + 6 + 16 - 33));
  EXPECT_EQ(p.a.links[2].stats->frames_sent.get(), 4U);
  EXPECT_EQ(p.a.links[2].stats->bytes_sent.get(), 48U + 64 + 500 + 1203 + 4 * 77);
  EXPECT_EQ(p.b.sessions[1].stats->bytes_recv.get(), 48U + 64 + 500 + 1203 - 4 * 29);
  EXPECT_EQ(p.a.enc.stats().forwarding.originated.packets.get(), 4U);
}

TEST(EncryptShard, WritesFirstHopMtuAndTtl64) {
  Pair p(1400);
  p.a.tun(rig::udp(p.a, p.b, 100));
  p.pass();
  EXPECT_EQ(p.b.dec_io.first<PuntPathMtu>().mtu, 1400);
  EXPECT_EQ(p.b.dec_io.first<PuntPathMtu>().remote, p.a.addr);
}

TEST(EncryptShard, AsksTheCoreWhereThereIsNoSessionOrNoRoute) {
  rig::Node a{1}, b{2};
  const Buffer packet = rig::udp(a, b, 200);
  a.tun(packet);
  EXPECT_EQ(a.enc_io.first<PuntTunPacket>().packet, packet);
  connect(a, b);
  talk(a, b);
  a.tun(packet);
  EXPECT_EQ(a.enc_io.count<PuntTunPacket>(), 2U);
  route(a, b, b);
  auto io = a.enc_io.io();
  a.enc.apply(a.now, InjectTun{packet}, io);
  EXPECT_EQ(a.enc_io.sent.size(), 1U);
  for (const Broadcast& gone : {Broadcast{FlushRoutes{}}, Broadcast{DropRoute{b.addr}},
                                Broadcast{DropLink{link_id(a, b)}}, Broadcast{DropSession{b.addr}}}) {
    a.enc.apply(a.now, Command{SetLink{a.links[2]}}, io);
    a.enc.apply(a.now, Command{SetSession{a.sessions[2]}}, io);
    a.enc.apply(a.now, Command{SetRoute{b.addr, link_id(a, b), HopClass::tree_up, kNever}}, io);
    a.enc_io.clear();
    a.tun(packet);
    EXPECT_EQ(a.enc_io.sent.size(), 1U);
    std::visit([&](const auto& c) { a.enc.apply(a.now, Command{c}, io); }, gone);
    a.tun(packet);
    EXPECT_EQ(a.enc_io.count<PuntTunPacket>(), 1U) << gone.index();
  }
  a.enc_io.lanes_take = false;
  a.tun(packet);
  EXPECT_EQ(a.drops(Drop::miss_lane_full), 1U);
}

TEST(EncryptShard, SaysOnceThatARouteIsStaleAndGoesOnUsingIt) {
  Pair p;
  route(p.a, p.b, p.b, HopClass::tree_up, at(50));
  p.a.tun(rig::udp(p.a, p.b, 100));
  EXPECT_EQ(p.a.enc_io.count<PuntRouteStale>(), 0U);
  p.a.now = at(50);
  for (int i = 0; i < 3; ++i) p.a.tun(rig::udp(p.a, p.b, 100));
  EXPECT_EQ(p.a.enc_io.count<PuntRouteStale>(), 1U);
  EXPECT_EQ(p.a.enc_io.frames().size(), 4U);
}

TEST(EncryptShard, RefusesWhatIsNoMeshPacket) {
  Pair p;
  p.a.tun(Buffer{0x45, 0, 0, 20});
  p.a.tun(rig::pattern(39, 0x60));
  EXPECT_EQ(p.a.drops(Drop::not_ipv6) + p.a.drops(Drop::packet_truncated), 2U);
  MeshAddr abroad;
  abroad.bytes[0] = 0x20;
  const Buffer foreign = rig::ip6_packet(p.a.mesh, abroad, 17, rig::pattern(30));
  p.a.tun(foreign);
  p.a.tun(foreign);
  EXPECT_EQ(p.a.drops(Drop::not_mesh_destination), 2U);
  EXPECT_EQ(p.a.drops(Drop::icmp_rate), 1U);
  ASSERT_EQ(p.a.enc_io.written.size(), 1U);
  EXPECT_EQ(p.a.enc_io.written[0].packet[40], 1);
  EXPECT_EQ(ip6::source(p.a.enc_io.written[0].packet), p.a.mesh);
  p.a.all(SetLocal{1280, false});
  p.a.tun(rig::udp(p.a, p.b, 100));
  EXPECT_EQ(p.a.drops(Drop::no_tun), 1U);
  EXPECT_TRUE(p.a.enc_io.sent.empty());
}

TEST(EncryptShard, TurnsPacketsToItselfRoundWithAWholeChecksum) {
  Pair p;
  Buffer packet = rig::udp(p.a, p.a, 99);
  const Buffer good = packet;
  store_be<std::uint16_t>(packet.data() + 46, 0x8ece);
  p.a.tun(packet);
  ASSERT_EQ(p.a.enc_io.written.size(), 1U);
  EXPECT_EQ(p.a.enc_io.written[0].packet, good);
  p.a.enc_io.tun_takes = false;
  p.a.tun(packet);
  EXPECT_EQ(p.a.drops(Drop::tun_write_failed), 1U);
}

// Effective MTU is the smallest of transport MTU, path MTU and first link, less 77.
TEST(EncryptShard, FitsPacketsToTheNarrowestOfTransportPathAndLink) {
  struct Row {
    std::uint16_t transport, path, link;
    std::size_t fits;
  };
  for (const Row r : {Row{1280, 65535, 1280, 1203}, Row{1280, 1280, 1400, 1203}, Row{1400, 65535, 1280, 1203},
                      Row{1400, 1300, 1400, 1223}, Row{9000, 65535, 9000, 8923}, Row{1280, 576, 1280, 499}}) {
    Pair p(r.link);
    p.a.all(SetLocal{r.transport, true});
    p.a.sessions[2].path_mtu = r.path;
    p.a.all(SetSession{p.a.sessions[2]});
    p.a.tun(rig::udp(p.a, p.b, r.fits));
    EXPECT_EQ(p.a.enc_io.frames().size(), 1U);
    EXPECT_EQ(p.a.enc.stats().fragmented.get(), 0U);
    p.a.enc_io.clear();
    p.a.tun(rig::udp(p.a, p.b, r.fits + 1));
    for (const Buffer& f : p.a.enc_io.frames()) EXPECT_LE(f.size(), r.fits + 77);
    EXPECT_EQ(p.a.enc.stats().fragmented.get() + p.a.enc.stats().too_big_sent.get(), 1U);
  }
}

TEST(EncryptShard, SendsUpTo1280BytesAsTwoFragmentsEachInItsOwnFrame) {
  Pair p;
  p.a.tun(rig::udp(p.a, p.b, 1280));
  p.a.tun(rig::udp(p.a, p.b, 1248));
  ASSERT_EQ(p.a.enc_io.frames().size(), 4U);
  p.pass(false);
  const auto got = p.b.dec_io.packets();
  ASSERT_EQ(got.size(), 4U);
  for (const Buffer& f : got) EXPECT_EQ(f[6], ip6::kFragment);
  EXPECT_EQ(load_be<std::uint32_t>(got[0].data() + 44), load_be<std::uint32_t>(got[1].data() + 44));
  EXPECT_NE(load_be<std::uint32_t>(got[0].data() + 44), load_be<std::uint32_t>(got[2].data() + 44));
  const Buffer whole = rig::udp(p.a, p.b, 1280);
  Buffer body(got[0].begin() + 48, got[0].end());
  body.insert(body.end(), got[1].begin() + 48, got[1].end());
  EXPECT_TRUE(equal(body, Bytes(whole).subspan(40)));
  EXPECT_EQ(p.a.all_drops(), 0U);
}

TEST(EncryptShard, AnswersLargerOnesWithTooBigOncePer100Ms) {
  Pair p(1500);
  p.a.all(SetLocal{1500, true});
  const Buffer packet = rig::udp(p.a, p.b, 1424);
  p.a.tun(packet);
  p.a.now = at(99);
  p.a.tun(packet);
  p.a.now = at(100);
  p.a.tun(packet);
  EXPECT_EQ(p.a.drops(Drop::too_big), 3U);
  EXPECT_EQ(p.a.drops(Drop::icmp_rate), 1U);
  ASSERT_EQ(p.a.enc_io.written.size(), 2U);
  IcmpError want{};
  const std::size_t n = make_packet_too_big(want, packet, 1423);
  EXPECT_TRUE(equal(p.a.enc_io.written[0].packet, Bytes(want).first(n)));
  EXPECT_EQ(load_be<std::uint32_t>(p.a.enc_io.written[0].packet.data() + 44), 1423U);
  EXPECT_TRUE(p.a.enc_io.sent.empty());
}

TEST(EncryptShard, ClampsSynsToThePathOfTheirDestination) {
  Pair p(1400);
  p.a.all(SetLocal{1400, true});
  p.b.all(SetLocal{1400, true});
  const auto through = [&] {
    p.b.dec_io.clear();
    p.a.tun(rig::syn(p.a, p.b, 1460));
    p.pass();
    const Buffer got = p.b.dec_io.packets().at(0);
    EXPECT_TRUE(rig::checksum_holds(got));
    return rig::mss_of(got);
  };
  EXPECT_EQ(through(), 1143);  // nothing known of the path: both sides assume 1280
  p.b.sessions[1].path_mtu = 1390;
  p.b.all(SetSession{p.b.sessions[1]});
  p.a.sessions[2].path_mtu = 1350;
  p.a.all(SetSession{p.a.sessions[2]});
  EXPECT_EQ(through(), 1350 - 137);  // the sender's view
  p.b.sessions[1].path_mtu = 1300;
  p.b.all(SetSession{p.b.sessions[1]});
  EXPECT_EQ(through(), 1300 - 137);  // the receiver's view of the way back, key = source
}

class Warmup : public testing::Test {
 protected:
  void start(std::size_t depth, std::uint32_t packets) {
    wire::Path own(depth, rig::node(9)), far(depth, rig::node(8));
    own[0] = p.a.addr;
    far[0] = p.b.addr;
    p.a.sessions[2].own_coords = std::make_shared<wire::Path>(own);
    p.a.sessions[2].dest_coords = std::make_shared<wire::Path>(far);
    p.a.sessions[2].k = true;
    p.a.sessions[2].stats->warmup = packets;
    p.a.all(SetSession{p.a.sessions[2]});
  }
  Pair p;
};

TEST_F(Warmup, PutsCoordinatesInFrontWhileTheyFit) {
  start(3, 2);
  const Buffer packet = rig::udp(p.a, p.b, 300);
  for (int i = 0; i < 3; ++i) p.a.tun(packet);
  const auto sent = p.a.enc_io.frames();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].size(), 377U + 2 * 50);
  EXPECT_EQ(sent[1].size(), 377U + 2 * 50);
  EXPECT_EQ(sent[2].size(), 377U);
  p.pass(false);
  EXPECT_EQ(p.b.dec_io.packets(), (std::vector<Buffer>{packet, packet, packet}));
  EXPECT_EQ(p.b.dec_io.count<PuntCoords>(), 2U);
  const auto& c = p.b.dec_io.first<PuntCoords>();
  EXPECT_EQ(c.source, p.a.addr);
  EXPECT_EQ(c.dest, p.b.addr);
  EXPECT_EQ(c.source_path.size(), 3U);
  EXPECT_EQ(c.dest_path.size(), 3U);
  EXPECT_EQ(p.a.sessions[2].stats->warmup.load(), 0U);
}

TEST_F(Warmup, SendsThemAloneBeforeAPacketThatFillsTheFrame) {
  start(3, 1);
  const Buffer packet = rig::udp(p.a, p.b, 1203);
  p.a.tun(packet);
  const auto sent = p.a.enc_io.frames();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].size(), 36U + 36 + 38 + 16 * 6);
  EXPECT_EQ(sent[1].size(), 1280U);
  p.pass(false);
  EXPECT_EQ(p.b.dec_io.packets(), std::vector<Buffer>{packet});
  EXPECT_EQ(p.b.dec_io.count<PuntCoords>(), 1U);
  EXPECT_FALSE(p.b.dec_io.first<PuntSessionProven>().k);  // a warm-up of its own never says K
  EXPECT_EQ(p.a.sessions[2].stats->packets_sent.get(), 1U);
  EXPECT_EQ(p.b.sessions[1].stats->packets_recv.get(), 1U);
}

TEST_F(Warmup, SaysNothingWhereNothingIsKnown) {
  p.a.sessions[2].stats->warmup = 1;
  const Buffer packet = rig::udp(p.a, p.b, 100);
  p.a.tun(packet);
  EXPECT_EQ(p.a.enc_io.frames()[0].size(), 177U + 4);
  p.pass();
  EXPECT_EQ(p.b.dec_io.packets(), std::vector<Buffer>{packet});
  EXPECT_EQ(p.b.dec_io.count<PuntCoords>(), 0U);
}

TEST_F(Warmup, DropsCoordinatesThatFitNowhereButNotThePacket) {
  start(100, 1);
  p.a.tun(rig::udp(p.a, p.b, 100));
  EXPECT_EQ(p.a.drops(Drop::over_link_mtu), 1U);
  p.pass();
  EXPECT_EQ(p.b.dec_io.packets().size(), 1U);
}

TEST(EncryptShard, GroupsEqualSizesPerLinkAndKeepsTheirOrder) {
  rig::Node a{1}, b{2}, c{3};
  connect(a, b);
  connect(a, c);
  talk(a, b);
  talk(a, c);
  route(a, b, b);
  route(a, c, c);
  std::vector<Buffer> packets;
  for (std::uint8_t i = 0; i < 6; ++i) {
    packets.push_back(rig::udp(a, b, 1000, 5000, i));
    packets.push_back(rig::udp(a, c, 900, 5001, i));
  }
  packets.push_back(rig::udp(a, b, 500, 5000, 77));   // shorter: ends the run
  packets.push_back(rig::udp(a, b, 1000, 5000, 78));  // begins another
  a.tun(packets);
  ASSERT_EQ(a.enc_io.sent.size(), 3U);
  EXPECT_EQ(a.enc_io.sent[0].frames.size(), 7U);
  EXPECT_EQ(a.enc_io.sent[1].frames.size(), 1U);
  EXPECT_EQ(a.enc_io.sent[2].frames.size(), 6U);
  EXPECT_EQ(a.enc_io.sent[2].to, c.endpoint);
  carry(a, b);
  carry(a, c);
  const auto got = b.dec_io.packets();
  ASSERT_EQ(got.size(), 8U);
  std::size_t i = 0;
  for (const Buffer& p : packets) {
    if (ip6::dest(p) == b.mesh) {
      EXPECT_EQ(got[i++], p);
    }
  }
  EXPECT_EQ(c.dec_io.packets().size(), 6U);
}

TEST(EncryptShard, KeepsRunsWithinWhatOneSendTakes) {
  Pair p(9000);
  p.a.all(SetLocal{9000, true});
  std::vector<Buffer> packets;
  for (std::uint8_t i = 0; i < 20; ++i) packets.push_back(rig::udp(p.a, p.b, 8000, 5000, i));
  for (std::uint8_t i = 0; i < 100; ++i) packets.push_back(rig::udp(p.a, p.b, 64, 5001, i));
  p.a.tun(packets);
  std::size_t frames = 0;
  for (const auto& s : p.a.enc_io.sent) {
    std::size_t bytes = 0;
    for (const Buffer& f : s.frames) bytes += f.size();
    EXPECT_LE(bytes, kMaxRunBytes);
    frames += s.frames.size();
  }
  EXPECT_EQ(frames, 120U);
  p.pass();
  EXPECT_EQ(p.b.dec_io.packets(), packets);
}

TEST(EncryptShard, CountsWhatTheSocketRefusesAndWhatHasNoCounterLeft) {
  Pair p;
  p.a.enc_io.outcome = {1, Drop::send_buffer_full};
  p.a.tun({rig::udp(p.a, p.b, 100), rig::udp(p.a, p.b, 100)});
  EXPECT_EQ(p.a.drops(Drop::send_buffer_full), 1U);
  p.a.enc_io.clear();
  p.a.links[2].key->next = UINT64_MAX - 3;
  p.a.tun({rig::udp(p.a, p.b, 100), rig::udp(p.a, p.b, 100)});
  EXPECT_EQ(p.a.drops(Drop::counter_exhausted), 2U);
  p.a.sessions[2].key->next = UINT64_MAX - 3;
  p.a.tun(rig::udp(p.a, p.b, 100));
  EXPECT_EQ(p.a.drops(Drop::counter_exhausted), 3U);
  EXPECT_TRUE(p.a.enc_io.sent.empty());
}

// ---- one feeder towards nodes that are not weft -------------------------------------------------------------------------

/// Worker 1 of two, which knows what worker 0, the node's own shard, knows.
struct TwoWorkers {
  explicit TwoWorkers(bool weft_peer) : second(options()) {
    connect(a, b);
    talk(a, b);
    a.links[2].same_kind = weft_peer;
    a.links[2].home = WorkerId{0};
    tell(SetLink{a.links[2]});
    tell(SetSession{a.sessions[2]});
    tell(SetRoute{b.addr, link_id(a, b), HopClass::direct_peer, kNever});
  }
  template <class C>
  void tell(const C& c) {
    auto io = a.enc_io.io();
    a.enc.apply(a.now, Command{c}, io);
    auto io2 = second_io.io();
    second.apply(a.now, Command{c}, io2);
  }
  ShardOptions options() const {
    auto o = a.options(2, true);
    o.id = WorkerId{1};
    return o;
  }
  void tun(std::vector<Buffer> packets) {
    std::vector<TunRead> reads;
    for (Buffer& p : packets) reads.push_back({{}, p});
    auto io = second_io.io();
    second.on_tun(a.now, reads, io);
  }
  rig::Node a{1, 2}, b{2};
  rig::FakeIo second_io;
  EncryptShard second;
};

TEST(EncryptShard, HandsWhatGoesToANodeThatIsNotWeftToTheOneWorkerThatFeedsTheLink) {
  TwoWorkers w(false);
  const std::vector<Buffer> packets{rig::udp(w.a, w.b, 200, 5000, 1), rig::udp(w.a, w.b, 300, 5000, 2)};
  w.tun(packets);
  EXPECT_TRUE(w.second_io.sent.empty());
  ASSERT_EQ(w.second_io.tun_strays.size(), 1U) << "one hand-over for a burst";
  EXPECT_EQ(w.second_io.tun_strays[0].first, WorkerId{0});
  EXPECT_EQ(w.second.stats().strays.get(), 2U);
  auto io = w.a.enc_io.io();
  w.a.enc.on_stray(w.a.now, std::move(w.second_io.tun_strays[0].second), io);
  EXPECT_EQ(w.a.enc_io.frames().size(), 2U);
  carry(w.a, w.b);
  EXPECT_EQ(w.b.dec_io.packets(), packets) << "in order, unchanged";
  w.a.tun(packets);
  EXPECT_EQ(w.a.enc_io.frames().size(), 2U) << "the feeder keeps its own";
}

TEST(EncryptShard, LetsEveryWorkerFeedALinkToAWeftNode) {
  TwoWorkers w(true);
  w.tun({rig::udp(w.a, w.b, 200)});
  EXPECT_EQ(w.second_io.frames().size(), 1U);
  EXPECT_TRUE(w.second_io.tun_strays.empty());
}

TEST(EncryptShard, CountsWhatTheFeederHasNoRoomFor) {
  TwoWorkers w(false);
  w.second_io.lanes_take = false;
  w.tun({rig::udp(w.a, w.b, 200), rig::udp(w.a, w.b, 200)});
  EXPECT_EQ(w.second.stats().drops.get(Drop::stray_lane_full), 2U);
  EXPECT_TRUE(w.second_io.sent.empty());
}

}  // namespace
}  // namespace weft
