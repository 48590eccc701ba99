// What comes end to end, and what is made of it.
#include "dataplane/decrypt_shard.h"

#include "dataplane/test_rig.h"
#include "wire/report.h"

namespace weft {
namespace {

using rig::at;
using rig::Pair;
using rig::say;

TEST(DecryptShard, TriesEveryEpochOfASessionAndSaysWhichIsProven) {
  Pair p;
  session_half(p.a, p.b, 1, false);
  session_half(p.a, p.b, 2, false);
  p.b.home(SessionCutover{p.a.addr, EpochId{1}});
  for (const std::uint8_t epoch : {std::uint8_t{2}, std::uint8_t{0}, std::uint8_t{1}}) {
    for (const bool k : {false, true}) {  // K is only a hint
      SessionSend s = p.a.sessions[2];
      s.key = std::make_shared<SendKey>(rig::key(static_cast<std::uint8_t>(0x80 + 8 + 2 + epoch * 32)));
      s.key->next = k ? 50 : 0;
      s.k = k;
      p.a.all(SetSession{s});
      p.a.tun(rig::udp(p.a, p.b, 200, 5000, epoch));
      p.pass();
    }
  }
  EXPECT_EQ(p.b.dec_io.packets().size(), 6U);
  EXPECT_EQ(p.b.dec_io.count<PuntSessionProven>(), 3U);
  EXPECT_EQ(p.b.dec_io.first<PuntSessionProven>().epoch, EpochId{2});
  EXPECT_EQ(p.b.sessions[1].stats->epoch_frames_recv.get(), 2U);
  EXPECT_EQ(p.b.sessions[1].stats->older_epoch_recv.get(), at(0));  // epoch 0 drains on
  EXPECT_EQ(p.b.all_drops(), 0U);
  p.b.home(DropSessionRecv{p.a.addr, EpochId{1}});
  p.a.tun(rig::udp(p.a, p.b, 200));
  p.pass();
  EXPECT_EQ(p.b.drops(Drop::undecryptable), 1U);
}

TEST(DecryptShard, MixesEpochsWithinABurstInOrder) {
  Pair p;
  session_half(p.a, p.b, 1, false);
  std::vector<Buffer> want;
  for (std::uint8_t i = 0; i < 10; ++i) {
    SessionSend s = p.a.sessions[2];
    static std::map<int, SendKeyRef> keys;
    auto& k = keys[i % 2];
    if (!k || i < 2)
      k = std::make_shared<SendKey>(rig::key(static_cast<std::uint8_t>(0x80 + 10 + (i % 2) * 32)));
    s.key = k;
    p.a.all(SetSession{s});
    want.push_back(rig::udp(p.a, p.b, 300, 5000, i));
    p.a.tun(want.back());
  }
  const auto frames = p.a.enc_io.frames();
  p.b.wire_joined(frames, p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.packets(), want);
}

TEST(DecryptShard, RefusesSessionFramesItCannotTrust) {
  Pair p;
  rig::Node stranger{3};
  connect(stranger, p.b);
  talk(stranger, p.b);
  route(stranger, p.b, p.b);
  stranger.tun(rig::udp(stranger, p.b, 100));
  p.b.all(DropSession{stranger.addr});
  carry(stranger, p.b);
  EXPECT_EQ(p.b.drops(Drop::unknown_session), 1U);
  // The same end-to-end frame twice, in two link frames: the second is a replay whatever the link says.
  p.a.tun(rig::udp(p.a, p.b, 100));
  p.a.sessions[2].key->next = 0;
  p.a.tun({rig::udp(p.a, p.b, 100, 5000, 2), rig::udp(p.a, p.b, 100, 5000, 3)});
  p.pass();
  EXPECT_EQ(p.b.dec_io.packets().size(), 2U);
  EXPECT_EQ(p.b.drops(Drop::replayed), 1U);
  // Wrong key.
  SessionSend s = p.a.sessions[2];
  s.key = std::make_shared<SendKey>(rig::key(1));
  s.key->next = 1000;
  p.a.all(SetSession{s});
  p.a.tun(rig::udp(p.a, p.b, 100));
  p.pass();
  EXPECT_EQ(p.b.drops(Drop::undecryptable), 1U);
}

class Delivery : public testing::Test {
 protected:
  void send(Bytes payload) {
    Buffer m;
    wire::encode_envelope(m, {64, 1280, p.a.addr, p.b.addr, payload});
    p.b.dec_io.clear();
    p.b.wire(say(p.a, SendLink{link_id(p.a, p.b), m}), p.a.endpoint);
  }
  void session(std::uint8_t type, Buffer body) {
    p.b.wire(say(p.a, SendSession{p.b.addr, link_id(p.a, p.b), type, false, std::move(body)}), p.a.endpoint);
  }
  Pair p;
};

TEST_F(Delivery, SortsPayloadsByKind) {
  send(Buffer{0, 0, 0});
  EXPECT_EQ(p.b.drops(Drop::too_short), 1U);
  send(Buffer(27));
  EXPECT_EQ(p.b.drops(Drop::too_short), 2U);
  Buffer odd(60);
  odd[0] = 0x04;
  send(odd);
  EXPECT_EQ(p.b.drops(Drop::unknown_phase), 1U);
  odd[0] = 0x10;
  send(odd);
  EXPECT_EQ(p.b.drops(Drop::wrong_version), 1U);
  for (const std::uint8_t phase : Buffer{1, 2, 3}) {
    odd[0] = phase;
    send(odd);
    EXPECT_EQ(p.b.dec_io.count<PuntDatagram>(), 1U) << int{phase};
  }
  odd[0] = 0;
  odd[1] = 4;
  send(odd);
  EXPECT_EQ(p.b.dec_io.count<PuntDatagram>(), 1U);
  odd[1] = 1;  // coordinates that run out of the message
  odd[12] = 0xff;
  send(odd);
  EXPECT_EQ(p.b.drops(Drop::bad_count), 1U);
  odd[1] = 0;
  send(odd);
  EXPECT_EQ(p.b.drops(Drop::undecryptable), 1U);
  EXPECT_TRUE(p.b.dec_io.packets().empty());
}

TEST_F(Delivery, IsNotGatedByTheHopLimitButByOurOwnName) {
  Buffer m, self;
  Buffer payload(60);
  payload[0] = 1;
  wire::encode_envelope(m, {0, 1280, p.a.addr, p.b.addr, payload});
  wire::encode_envelope(self, {9, 1280, p.b.addr, p.b.addr, payload});
  p.b.wire(say(p.a, SendLink{link_id(p.a, p.b), m}), p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.count<PuntDatagram>(), 1U);
  p.b.wire(say(p.a, SendLink{link_id(p.a, p.b), self}), p.a.endpoint);
  EXPECT_EQ(p.b.drops(Drop::own_source), 1U);
}

TEST_F(Delivery, KnowsItsPortsAndItsShim) {
  session(0x10, {0, 1});
  EXPECT_EQ(p.b.drops(Drop::too_short), 1U);
  EXPECT_EQ(p.b.sessions[1].stats->packets_recv.get(), 0U);
  session(0x10, {0, 1, 0x22, 0x22, 9});
  EXPECT_EQ(p.b.drops(Drop::unknown_port), 1U);
  EXPECT_EQ(p.b.sessions[1].stats->packets_recv.get(), 1U);  // authentic, so it counts as activity
  EXPECT_EQ(p.b.sessions[1].stats->last_data_recv.get(), at(0));
  session(0x10, {0, 1, 0, 1, 1, 0x60, 0, 0, 0, 6, 64});
  session(0x10, {0, 1, 0, 1, 0, 0x60, 0, 0, 0, 6});
  EXPECT_EQ(p.b.drops(Drop::bad_shim), 2U);
  session(0x7f, {1});
  EXPECT_EQ(p.b.drops(Drop::unknown_session_message), 1U);
  session(0x10, {0, 1, 0, 1, 0, 0xf0, 1, 2, 3, 59, 7});  // version nibble repaired, addresses filled in
  const Buffer got = p.b.dec_io.packets().at(0);
  EXPECT_TRUE(equal(got, rig::ip6_packet(p.a.mesh, p.b.mesh, 59, {})) == false);
  EXPECT_EQ(got[0], 0x60);
  EXPECT_EQ(got[7], 7);
  EXPECT_EQ(ip6::source(got), p.a.mesh);
  EXPECT_EQ(ip6::dest(got), p.b.mesh);
  p.b.all(SetLocal{1280, false});
  session(0x10, {0, 1, 0, 1, 0, 0x60, 0, 0, 0, 59, 7});
  EXPECT_EQ(p.b.drops(Drop::no_tun), 1U);
}

TEST_F(Delivery, GivesReportsToTheCoreUnderTheirEpoch) {
  session(0x13, {0x00, 0x05});
  const auto& m = p.b.dec_io.first<PuntSessionMessage>();
  EXPECT_EQ(m.type, 0x13);
  EXPECT_EQ(m.body, (Buffer{0x00, 0x05}));
  EXPECT_EQ(m.remote, p.a.addr);
  EXPECT_EQ(p.b.sessions[1].stats->packets_recv.get(), 0U);  // no activity
  EXPECT_EQ(p.b.sessions[1].stats->epoch_frames_recv.get(), 1U);
}

TEST(DecryptShard, MarksPacketsThatMetCongestion) {
  rig::Node a{1}, b{2}, c{3};
  connect(a, c);
  connect(c, b);
  talk(a, b);
  route(a, b, c);
  route(c, b, b);
  c.links[2].congested = true;
  c.all(SetLink{c.links[2]});
  for (const std::uint8_t ecn : Buffer{0, 1, 2, 3}) {
    b.dec_io.clear();
    const Buffer in = rig::udp(a, b, 100, 5000, 1, static_cast<std::uint8_t>(0xa8 | ecn));
    a.tun(in);
    carry(a, c);
    carry(c, b);
    const Buffer out = b.dec_io.packets().at(0);
    EXPECT_EQ((out[1] >> 4) & 3, ecn == 0 ? 0 : 3);
    EXPECT_EQ(out[0], in[0]);
    EXPECT_TRUE(equal(Bytes(out).subspan(2), Bytes(in).subspan(2)));
  }
  EXPECT_EQ(b.sessions[1].stats->ce_recv.get(), 4U);
  EXPECT_EQ(b.dec.stats().forwarding.ce_received.get(), 4U);
}

TEST(DecryptShard, CountsPacketsThatTheInterfaceRefuses) {
  Pair p;
  p.b.dec_io.tun_takes = false;
  p.a.tun({rig::udp(p.a, p.b, 100), rig::udp(p.a, p.b, 100, 5000, 2)});
  p.pass();
  EXPECT_EQ(p.b.drops(Drop::tun_write_failed), 2U);
}

TEST(DecryptShard, TellsPathMtuWhenItChangesAndNotMoreOftenThanNeeded) {
  Pair p;
  const auto with_mtu = [&](std::uint16_t mtu) {
    p.a.links[2].mtu = mtu;
    p.a.all(SetLink{p.a.links[2]});
    p.a.tun(rig::udp(p.a, p.b, 100));
    p.pass();
    return p.b.dec_io.count<PuntPathMtu>();
  };
  EXPECT_EQ(with_mtu(1280), 1U);
  EXPECT_EQ(with_mtu(1280), 1U);
  EXPECT_EQ(with_mtu(1000), 1U);
  p.b.now = at(100);
  EXPECT_EQ(with_mtu(1000), 2U);
  EXPECT_EQ(p.b.sessions[1].stats->last_path_mtu.get(), 1000U);
}

/// A socket at b that is never empty, for long enough that somebody must slow down.
void queue_stands(Pair& p) {
  for (int i = 0; i < 200; ++i) {
    p.b.now = at(1000 + i);
    p.b.dec.on_queue(p.b.now, 100'000, 1'000'000);
  }
}

TEST(DecryptShard, TellsATcpSenderOfAStandingQueueByOneLostSegmentOrAMark) {
  for (const std::uint8_t ecn : {std::uint8_t{0}, std::uint8_t{2}}) {
    Pair p;
    p.b.sessions[1].stats->rtt_ns.set(500'000);
    queue_stands(p);
    const auto deliver = [&](Buffer packet) {
      p.b.dec_io.clear();
      p.a.tun(packet);
      p.pass();
      return p.b.dec_io.written.size();
    };
    EXPECT_EQ(deliver(rig::udp(p.a, p.b, 500)), 1U);    // cannot slow down
    EXPECT_EQ(deliver(rig::tcp(p.a, p.b, 1, {})), 1U);  // a mere acknowledgement
    EXPECT_EQ(deliver(rig::syn(p.a, p.b, 1200)), 1U);
    Buffer segment = rig::tcp(p.a, p.b, 2, rig::pattern(500));
    segment[1] = static_cast<std::uint8_t>(segment[1] | ecn << 4);
    EXPECT_EQ(deliver(segment), ecn == 0 ? 0U : 1U);
    EXPECT_EQ(p.b.dec.stats().queue_dropped.get(), ecn == 0 ? 1U : 0U);
    EXPECT_EQ(p.b.dec.stats().queue_marked.get(), ecn == 0 ? 0U : 1U);
    EXPECT_EQ(deliver(segment), 1U);  // the next one goes on
    EXPECT_EQ(p.b.all_drops(), 0U);
  }
}

TEST(DecryptShard, LetsEveryPacketOnWhereNoQueueStands) {
  Pair p;
  p.b.sessions[1].stats->rtt_ns.set(500'000);
  for (std::uint32_t i = 0; i < 300; ++i) {
    p.b.now = at(1000 + i);
    p.b.dec.on_queue(p.b.now, 100'000, 0);
    p.a.tun(rig::tcp(p.a, p.b, i * 500, rig::pattern(500)));
    p.pass();
  }
  EXPECT_EQ(p.b.dec_io.written.size(), 300U);
  EXPECT_EQ(p.b.dec.stats().queue_dropped.get(), 0U);
}

TEST(DecryptShard, ReportsCoordinatesOnlyOnceTheyAreProven) {
  Pair p;
  p.a.sessions[2].own_coords = std::make_shared<wire::Path>(wire::Path{p.a.addr, rig::node(9)});
  p.a.sessions[2].dest_coords = std::make_shared<wire::Path>(wire::Path{rig::node(7)});  // not b's
  p.a.all(SetSession{p.a.sessions[2]});
  p.b.wire(say(p.a, SendSession{p.b.addr, link_id(p.a, p.b), 0x14, true, {}}), p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.first<PuntCoords>().source_path.size(), 2U);
  EXPECT_TRUE(p.b.dec_io.first<PuntCoords>().dest_path.empty());
  EXPECT_EQ(p.b.drops(Drop::warm_mismatch), 1U);
  p.b.dec_io.clear();
  p.a.sessions[2].key = std::make_shared<SendKey>(rig::key(3));
  p.a.all(SetSession{p.a.sessions[2]});
  p.b.wire(say(p.a, SendSession{p.b.addr, link_id(p.a, p.b), 0x14, true, {}}), p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.count<PuntCoords>(), 0U);
}

}  // namespace
}  // namespace weft
