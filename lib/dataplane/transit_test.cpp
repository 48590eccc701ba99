// What passes through: chain A - C - B, C has no session with either.
#include "dataplane/test_rig.h"

namespace weft {
namespace {

using rig::at;

struct Chain : testing::Test {
  Chain() {
    connect(a, c);
    connect(c, b);
    talk(a, b);
    route(a, b, c, HopClass::tree_up);
    route(b, a, c);
    route(c, b, b, HopClass::tree_down);
    route(c, a, a);
  }
  void pass(bool joined = true) {
    carry(a, c, joined);
    carry(c, b, joined);
  }
  /// A frame from a to c with this link message, made by hand.
  Buffer from_a(Bytes message, std::uint64_t counter, bool ce = false) {
    Buffer f(message.size() + wire::kFrameCost);
    wire::write_link_header(
        f, {{false, ce, false}, static_cast<std::uint16_t>(f.size() - 32), index_for(c, a), counter});
    std::memcpy(f.data() + 20, message.data(), message.size());
    const auto k = rig::key(static_cast<std::uint8_t>(a.number * 16 + c.number));
    crypto::AeadJob job{
        &k, counter, Bytes(f).first(16), f.data() + 16, f.size() - 32, f.data() + f.size() - 16, false};
    crypto::make_aead("sodium")->seal(std::span(&job, 1));
    return f;
  }
  Buffer datagram(Bytes payload, std::uint8_t ttl = 64, std::uint16_t mtu = 65535) {
    Buffer m;
    wire::encode_envelope(m, {ttl, mtu, a.addr, b.addr, payload});
    return m;
  }
  /// The link message inside the n-th frame that c sent to b.
  Buffer seen_by_b(std::size_t n = 0) {
    Buffer f = c.dec_io.frames().at(n);
    const auto h = wire::decode_link_header(f);
    const auto k = rig::key(static_cast<std::uint8_t>(c.number * 16 + b.number));
    crypto::AeadJob job{
        &k, h->counter, Bytes(f).first(16), f.data() + 16, f.size() - 32, f.data() + f.size() - 16, false};
    crypto::make_aead("sodium")->open(std::span(&job, 1));
    EXPECT_TRUE(job.ok);
    return {f.begin() + 20, f.end() - 16};
  }
  const ForwardingStats& at_c() const { return c.dec.stats().forwarding; }
  static Buffer opaque(std::size_t n = 60) {
    Buffer p = rig::pattern(n);
    std::fill_n(p.begin(), 4, std::uint8_t{0});
    return p;
  }
  rig::Node a{1}, b{2}, c{3};
};

TEST_F(Chain, CarriesPacketsUnchangedAndNeverAsksTheCore) {
  std::vector<Buffer> packets;
  for (std::uint8_t i = 0; i < 40; ++i) packets.push_back(rig::udp(a, b, 900 + (i == 39 ? 0 : 100), 5000, i));
  a.tun(packets);
  carry(a, c);
  EXPECT_EQ(c.dec_io.punts.size(), 1U);  // the link is proven, nothing else
  ASSERT_EQ(c.dec_io.sent.size(), 1U);   // one run in, one run out
  carry(c, b);
  EXPECT_EQ(b.dec_io.packets(), packets);
  EXPECT_EQ(a.all_drops() + b.all_drops() + c.all_drops(), 0U);
  EXPECT_EQ(at_c().received.packets.get(), 40U);
  EXPECT_EQ(at_c().forwarded.packets.get(), 40U);
  EXPECT_EQ(at_c().route_tree_down.get(), 40U);
  EXPECT_EQ(at_c().delivered.packets.get(), 0U);
  EXPECT_EQ(at_c().forwarded.bytes.get(), at_c().received.bytes.get() + 40);
  EXPECT_EQ(b.dec.stats().forwarding.delivered.packets.get(), 40U);
}

TEST_F(Chain, TakesOneHopAndLowersThePathMtuToTheNextLink) {
  c.links[2].mtu = 1200;
  c.all(SetLink{c.links[2]});
  c.wire({from_a(datagram(opaque(), 9), 0), from_a(datagram(opaque(), 9, 600), 1)}, a.endpoint);
  auto e = wire::decode_envelope(seen_by_b(0));
  EXPECT_EQ(e->ttl, 8);
  EXPECT_EQ(e->path_mtu, 1200);
  EXPECT_EQ(wire::decode_envelope(seen_by_b(1))->path_mtu, 600);
}

TEST_F(Chain, EndsWhereTheHopLimitEndsWithoutAWord) {
  c.wire(
      {from_a(datagram(opaque(), 1), 0), from_a(datagram(opaque(), 0), 1), from_a(datagram(opaque(), 2), 2)},
      a.endpoint);
  EXPECT_EQ(c.drops(Drop::ttl_spent), 2U);
  EXPECT_EQ(at_c().ttl_exhausted.packets.get(), 2U);
  EXPECT_EQ(c.dec_io.frames().size(), 1U);
  EXPECT_EQ(wire::decode_envelope(seen_by_b())->ttl, 1);
}

TEST_F(Chain, MarksCongestionMetOnTheWayAndOnTheNextLink) {
  const auto ce_out = [&](std::size_t n) {
    return wire::decode_link_header(c.dec_io.frames().at(n))->flags.congested;
  };
  c.wire({from_a(datagram(opaque()), 0), from_a(datagram(opaque()), 1, true)}, a.endpoint);
  EXPECT_FALSE(ce_out(0));
  EXPECT_TRUE(ce_out(1));
  c.links[2].congested = true;
  c.all(SetLink{c.links[2]});
  c.wire({from_a(datagram(opaque()), 2)}, a.endpoint);
  EXPECT_TRUE(ce_out(2));
  EXPECT_EQ(at_c().ce_forwarded.get(), 2U);
  EXPECT_EQ(at_c().congestion_detected.get(), 1U);
  EXPECT_EQ(c.links[1].stats->ce_recv.get(), 1U);
}

TEST_F(Chain, TellsTheSourceWhatThePathTakes) {
  c.links[2].mtu = 400;
  c.all(SetLink{c.links[2]});
  const Buffer big = datagram(opaque(400 - 36 - 36 + 1));
  c.wire({from_a(big, 0), from_a(datagram(opaque(400 - 36 - 36)), 1)}, a.endpoint);
  EXPECT_EQ(c.dec_io.frames().size(), 1U);
  EXPECT_EQ(c.drops(Drop::over_link_mtu), 1U);
  EXPECT_EQ(at_c().drop_mtu_exceeded.packets.get(), 1U);
  EXPECT_EQ(at_c().drop_mtu_exceeded.bytes.get(), big.size() - 1);
  const auto& p = c.dec_io.first<PuntTooBig>();
  EXPECT_EQ(p.source, a.addr);
  EXPECT_EQ(p.dest, b.addr);
  EXPECT_EQ(p.mtu, 400);
}

TEST_F(Chain, MakesNoErrorAboutAnError) {
  c.links[2].mtu = 100;
  c.all(SetLink{c.links[2]});
  Buffer signal = opaque(80);
  signal[1] = 4;
  c.wire({from_a(datagram(signal), 0)}, a.endpoint);
  EXPECT_EQ(c.drops(Drop::over_link_mtu), 1U);
  EXPECT_EQ(c.dec_io.count<PuntTooBig>(), 0U);
}

TEST_F(Chain, AsksForARouteWithTheWholeMessage) {
  c.all(DropRoute{b.addr});
  const Buffer m = datagram(opaque(), 7);
  c.wire({from_a(m, 0, true)}, a.endpoint);
  const auto& p = c.dec_io.first<PuntNoRoute>();
  EXPECT_EQ(p.message, m);  // hop limit untouched
  EXPECT_TRUE(p.ce);
  EXPECT_EQ(p.link, link_id(c, a));
}

TEST_F(Chain, AsksTheCoreRatherThanSendADatagramBackToWhereItCameFrom) {
  route(c, b, a);
  a.tun(rig::udp(a, b, 300));
  carry(a, c);
  EXPECT_EQ(c.dec_io.count<PuntNoRoute>(), 1u);
  EXPECT_TRUE(c.dec_io.frames().empty());
}

TEST_F(Chain, ShowsTheCoreSetupsButLetsThirdMessagesAndSignalsPass) {
  Buffer setup = opaque(), ack = opaque(), msg3 = opaque(80), signal = opaque(40), tiny = {0, 1, 2};
  setup[0] = 1;
  ack[0] = 2;
  msg3[0] = 3;
  signal[1] = 4;
  c.wire({from_a(datagram(setup), 0), from_a(datagram(ack), 1), from_a(datagram(msg3), 2),
          from_a(datagram(signal), 3), from_a(datagram(tiny), 4), from_a(datagram({}), 5)},
         a.endpoint);
  EXPECT_EQ(c.dec_io.count<PuntDatagram>(), 2U);
  EXPECT_EQ(c.dec_io.first<PuntDatagram>().message, datagram(setup));
  EXPECT_EQ(c.dec_io.frames().size(), 4U);
}

TEST_F(Chain, ReadsCoordinatesInPassing) {
  Buffer p = opaque(12);
  p[1] = 1;
  wire::put_path(p, {a.addr, c.addr});
  wire::put_path(p, {c.addr});  // not b's: not believed
  p.resize(p.size() + 30);
  c.wire({from_a(datagram(p), 0)}, a.endpoint);
  const auto& got = c.dec_io.first<PuntCoords>();
  EXPECT_EQ(got.source, a.addr);
  EXPECT_EQ(got.dest, b.addr);
  EXPECT_EQ(got.source_path, (wire::Path{a.addr, c.addr}));
  EXPECT_TRUE(got.dest_path.empty());
  EXPECT_EQ(c.drops(Drop::warm_mismatch), 1U);
  EXPECT_EQ(c.dec_io.frames().size(), 1U);
}

TEST_F(Chain, LimitsHowOftenCoordinatesInPassingReachTheCore) {
  Buffer p = opaque(12);
  p[1] = 1;
  wire::put_path(p, {a.addr});
  wire::put_path(p, {});
  p.resize(p.size() + 30);
  for (std::uint64_t i = 0; i < 200; ++i) c.wire({from_a(datagram(p), i)}, a.endpoint);
  EXPECT_EQ(c.dec_io.count<PuntCoords>(), 64U);
  EXPECT_EQ(c.drops(Drop::warm_rate), 136U);
  EXPECT_EQ(c.dec_io.frames().size(), 200U);
}

TEST_F(Chain, ForwardsCoordinatesThatDoNotParseButNotWhatCrashesOldNodes) {
  Buffer bad = opaque(40);
  bad[1] = 1;
  bad[12] = 0xff;
  bad[13] = 0xff;
  std::uint64_t n = 0;
  c.wire({from_a(datagram(bad), n++)}, a.endpoint);
  EXPECT_EQ(c.dec_io.frames().size(), 1U);
  EXPECT_EQ(at_c().warm_malformed.packets.get(), 1U);
  for (std::size_t size = 4; size < 12; ++size) {
    Buffer cp = opaque(size);
    cp[1] = 1;
    c.wire({from_a(datagram(cp), n++)}, a.endpoint);
  }
  EXPECT_EQ(c.dec_io.frames().size(), 1U);
  EXPECT_EQ(c.drops(Drop::short_cp), 8U);
}

TEST_F(Chain, CountsAShortEnvelopeAsADecodeError) {
  c.wire({from_a(Bytes(datagram({})).first(35), 0)}, a.endpoint);
  EXPECT_EQ(at_c().decode_error.packets.get(), 1U);
  EXPECT_EQ(c.drops(Drop::too_short), 1U);
}

TEST_F(Chain, CountsForwardingThatTheSocketRefuses) {
  c.dec_io.outcome = {2, Drop::send_failed};
  a.tun({rig::udp(a, b, 500), rig::udp(a, b, 500), rig::udp(a, b, 500)});
  carry(a, c);
  EXPECT_EQ(at_c().forwarded.packets.get(), 1U);
  EXPECT_EQ(at_c().drop_send_error.packets.get(), 2U);
  EXPECT_EQ(c.drops(Drop::send_failed), 2U);
}

TEST_F(Chain, SaysOnceThatARouteIsStale) {
  route(c, b, b, HopClass::tree_down, at(10));
  c.now = at(10);
  for (std::uint64_t i = 0; i < 3; ++i) c.wire({from_a(datagram(opaque()), i)}, a.endpoint);
  EXPECT_EQ(c.dec_io.count<PuntRouteStale>(), 1U);
  EXPECT_EQ(c.dec_io.frames().size(), 3U);
}

TEST_F(Chain, SplitsOneBurstOverTwoLinksAndKeepsEachInOrder) {
  rig::Node d{4};
  connect(c, d);
  route(c, d, d);
  std::vector<Buffer> in;
  for (std::uint64_t i = 0; i < 20; ++i) {
    Buffer m = datagram(opaque(60));
    m.back() = static_cast<std::uint8_t>(i);
    if (i % 2 == 1) std::memcpy(m.data() + 20, d.addr.bytes.data(), 16);
    in.push_back(from_a(m, i));
  }
  c.wire_joined(in, a.endpoint);
  ASSERT_EQ(c.dec_io.sent.size(), 2U);
  EXPECT_EQ(c.dec_io.sent[0].frames.size(), 10U);
  EXPECT_EQ(c.dec_io.sent[1].to, d.endpoint);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(seen_by_b(i).back(), 2 * i);
    EXPECT_EQ(wire::decode_link_header(c.dec_io.sent[1].frames[i])->counter, i);
  }
}

}  // namespace
}  // namespace weft
