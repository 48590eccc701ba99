// The whole way: one node's interface to another's, super-packets included; what it costs; what threads
// share.
#include <set>
#include <thread>

#include "base/rng.h"
#include "dataplane/test_rig.h"

/// Calls of operator new in this program; counting_new_test.cpp.
std::uint64_t allocations();

namespace weft {
namespace {

using rig::at;
using rig::Pair;

/// A TCP super-packet of `size` payload bytes as the kernel hands it over, and the packets that it stands
/// for.
struct Super {
  Super(const rig::Node& a, const rig::Node& b, std::size_t size, std::uint16_t mss) {
    packet = rig::tcp(a, b, 1000, rig::pattern(size), 0x18);
    store_be<std::uint16_t>(packet.data() + 4, static_cast<std::uint16_t>(packet.size() - 40));
    vnet.flags = offload::kNeedsChecksum;
    vnet.gso_type = offload::kGsoTcp6;
    vnet.header_bytes = 60;
    vnet.segment_bytes = mss;
    vnet.sum_start = 40;
    vnet.sum_offset = 16;
    const auto pseudo =
        offload::pseudo_header_sum(packet.data(), 6, static_cast<std::uint32_t>(packet.size() - 40));
    store_be<std::uint16_t>(packet.data() + 56, offload::checksum_fold(pseudo));
    auto s = offload::Segmenter::open(vnet, packet);
    EXPECT_TRUE(s);
    Buffer one(s->max_packet());
    while (const std::size_t n = s->write_next(one))
      parts.emplace_back(one.begin(), one.begin() + static_cast<long>(n));
  }
  Buffer packet;
  offload::VnetHeader vnet;
  std::vector<Buffer> parts;
};

TEST(Path, CarriesASuperPacketInOneRunAndJoinsItAgain) {
  Pair p;
  const Super super(p.a, p.b, 50000, 1143);
  p.a.tun(super.packet, super.vnet);
  ASSERT_EQ(p.a.enc_io.sent.size(), 1U);
  EXPECT_EQ(p.a.enc_io.sent[0].frames.size(), 44U);
  EXPECT_EQ(p.a.enc_io.sent[0].frames[0].size(), 1280U);
  p.pass();
  EXPECT_EQ(p.b.dec_io.packets(), super.parts);
  EXPECT_LE(p.b.dec_io.written.size(), 2U);
  for (const Buffer& part : p.b.dec_io.packets()) EXPECT_TRUE(rig::checksum_holds(part));
}

TEST(Path, DeliversEveryPacketByItselfWhereTheInterfaceTakesNoSuperPackets) {
  Pair p(1280, false);
  const Super super(p.a, p.b, 30000, 1143);
  p.a.tun(super.packet, super.vnet);
  p.pass(false);
  ASSERT_EQ(p.b.dec_io.written.size(), super.parts.size());
  for (std::size_t i = 0; i < super.parts.size(); ++i) {
    EXPECT_EQ(p.b.dec_io.written[i].packet, super.parts[i]);
    EXPECT_EQ(p.b.dec_io.written[i].vnet, offload::VnetHeader{});
  }
}

TEST(Path, SplitsSegmentsThatThePathNoLongerTakes) {
  Pair p;
  p.a.sessions[2].path_mtu = 1100;
  p.a.all(SetSession{p.a.sessions[2]});
  const Super super(p.a, p.b, 20000, 1143);
  p.a.tun(super.packet, super.vnet);
  p.pass(false);
  EXPECT_EQ(p.a.enc.stats().fragmented.get(), 17U);  // the last one is short
  EXPECT_EQ(p.b.dec_io.packets().size(), 35U);
  EXPECT_EQ(p.a.all_drops() + p.b.all_drops(), 0U);
}

TEST(Path, SurvivesImpossibleSuperPackets) {
  Pair p;
  Super super(p.a, p.b, 5000, 1143);
  super.vnet.segment_bytes = 0;
  p.a.tun(super.packet, super.vnet);
  super.vnet.segment_bytes = 1143;
  super.vnet.sum_start = 65000;
  p.a.tun(super.packet, super.vnet);
  EXPECT_EQ(p.a.all_drops(), 2U);
  EXPECT_TRUE(p.a.enc_io.sent.empty());
}

TEST(Path, KeepsTheOrderOfEachFlowAmongMany) {
  Pair p;
  std::vector<Buffer> sent;
  for (std::uint16_t i = 0; i < 1500; ++i)
    sent.push_back(rig::udp(p.a, p.b, 60 + i % 7 * 100U, static_cast<std::uint16_t>(5000 + i % 11),
                            static_cast<std::uint8_t>(i)));
  for (std::size_t i = 0; i < sent.size(); i += 100)
    p.a.tun(
        std::vector<Buffer>(sent.begin() + static_cast<long>(i), sent.begin() + static_cast<long>(i) + 100));
  p.pass();
  const auto by_flow = [](const std::vector<Buffer>& packets) {
    std::map<std::uint16_t, std::vector<Buffer>> flows;
    for (const Buffer& b : packets) flows[load_be<std::uint16_t>(b.data() + 40)].push_back(b);
    return flows;
  };
  EXPECT_EQ(by_flow(p.b.dec_io.packets()), by_flow(sent));
}

TEST(Path, ClosesEveryFrameToEverybodyElse) {
  Pair p;
  const Buffer packet = rig::udp(p.a, p.b, 400);
  p.a.tun(packet);
  const Buffer f = p.a.enc_io.frames().at(0);
  for (std::size_t i = 0; i < f.size(); i += 3) {
    Buffer bent = f;
    bent[i] ^= 0x21;
    p.b.wire({bent}, p.a.endpoint);
  }
  for (std::size_t n = 0; n < f.size(); n += 5)
    p.b.wire({Buffer(f.begin(), f.begin() + static_cast<long>(n))}, p.a.endpoint);
  EXPECT_TRUE(p.b.dec_io.written.empty());
  EXPECT_EQ(p.b.dec_io.count<PuntLinkProven>(), 0U);
  p.b.wire({f}, p.a.endpoint);
  EXPECT_EQ(p.b.dec_io.packets(), std::vector<Buffer>{packet});
}

TEST(Path, SurvivesWhateverAnAuthenticNeighbourOrPeerSends) {
  rig::Node a{1}, b{2}, c{3};
  connect(a, b);
  connect(b, c);
  talk(a, b);
  route(b, c, c);
  SeededRng rng(7);
  const auto noise = [&](std::size_t most) {
    Buffer n(rng.below(most));
    rng.fill(n);
    return n;
  };
  for (int i = 0; i < 4000; ++i) {
    a.now = b.now = at(i * 10);
    Buffer payload = noise(200);
    if (payload.size() > 14 && i % 2 == 0) {  // far enough into the parsers
      payload[0] = static_cast<std::uint8_t>(i % 5);
      payload[1] &= 7;
      payload[12] &= 7;
      payload[13] = 0;
    }
    Buffer message;
    wire::encode_envelope(message, {static_cast<std::uint8_t>(i), static_cast<std::uint16_t>(rng.u32()),
                                    a.addr, i % 3 == 0 ? c.addr : b.addr, payload});
    if (i % 7 == 0) message.resize(rng.below(message.size()));
    if (message.empty()) continue;
    a.home(SendLink{link_id(a, b), message, i % 4 == 0});
    Buffer body = noise(120);
    if (body.size() > 5 && i % 2 == 0) std::memcpy(body.data(), "\0\1\0\1\0", 5);
    a.home(SendSession{b.addr, link_id(a, b), static_cast<std::uint8_t>(0x10 + i % 6), i % 5 == 0, body});
    carry(a, b, i % 2 == 0);
    for (const rig::Written& w : b.dec_io.written) EXPECT_GE(w.packet.size(), 40U);
    b.dec_io.clear();
  }
  EXPECT_EQ(b.drops(Drop::bad_tag), 0U);
  EXPECT_GT(b.dec.stats().forwarding.forwarded.packets.get(), 500U);
  EXPECT_GT(b.sessions[1].stats->packets_recv.get(), 300U);
}

std::uint64_t fake_clock() {
  static std::uint64_t t = 0;
  return t += 10;
}

TEST(Path, TimesItsStagesOnlyWhenAskedTo) {
  Pair p;
  p.a.tun(rig::udp(p.a, p.b, 100));
  const auto stage = [](const ShardStats& s, Stage n) -> const StageCounter& {
    return s.stages[static_cast<std::size_t>(n)];
  };
  EXPECT_EQ(stage(p.a.enc.stats(), Stage::hop_seal).runs.get(), 1U);
  EXPECT_EQ(stage(p.a.enc.stats(), Stage::hop_seal).ns.get(), 0U);
  ShardOptions o = p.a.options(1, true);
  o.stage_clock = fake_clock;
  EncryptShard timed(std::move(o));
  auto io = p.a.enc_io.io();
  timed.apply(at(0), Command{SetLink{p.a.links[2]}}, io);
  timed.apply(at(0), Command{SetSession{p.a.sessions[2]}}, io);
  timed.apply(at(0), Command{SetRoute{p.b.addr, link_id(p.a, p.b), HopClass::tree_up, kNever}}, io);
  Buffer packet = rig::udp(p.a, p.b, 100);
  const TunRead read{{}, packet};
  timed.on_tun(at(0), std::span(&read, 1), io);
  EXPECT_EQ(stage(timed.stats(), Stage::session_seal).ns.get(), 10U);
  EXPECT_EQ(stage(timed.stats(), Stage::session_seal).items.get(), 1U);
}

// ---- cost
// -----------------------------------------------------------------------------------------------------------

/// Sinks that keep what they are given in memory of their own, allocated beforehand.
class StillIo final : public WireSink, public TunSink, public PuntSink {
 public:
  StillIo() : bytes(1 << 20) {}
  SendOutcome send(const LinkSend&, std::span<const Bytes> run) override {
    for (const Bytes f : run) {
      std::memcpy(bytes.data() + used, f.data(), f.size());
      used += f.size();
      ++frames;
    }
    frame_size = run[0].size();
    return {};
  }
  bool write(const offload::VnetHeader&, std::span<const Bytes>) override {
    ++writes;
    return true;
  }
  bool punt(Punt&&) override { return true; }
  ShardIo io() { return {*this, *this, *this, nullptr}; }

  Buffer bytes;
  std::size_t used = 0, frames = 0, frame_size = 0, writes = 0;
};

TEST(Path, AllocatesNothingPerPacketOnceItRuns) {
  rig::Node a{1}, b{2}, c{3};
  connect(a, c);
  connect(c, b);
  talk(a, b);
  route(a, b, c);
  route(c, b, b);
  StillIo at_a, at_c, at_b;
  auto io_a = at_a.io(), io_c = at_c.io(), io_b = at_b.io();
  const Super super(a, b, 30000, 1143);
  Buffer large = super.packet, small = rig::udp(a, b, 64), edge = rig::udp(a, b, 1280);
  const std::vector<TunRead> reads = {{super.vnet, large}, {{}, small}, {{}, small}, {{}, edge}};
  const auto hop = [&](StillIo& from, rig::Node& to, ShardIo& io, const Endpoint& source) {
    // Every frame in a read of its own, or a train of equal ones: the memory is the same.
    std::size_t n = 0;
    std::array<WireRead, 64> in;
    for (std::size_t pos = 0; pos < from.used;) {
      const std::size_t size = 32U + load_le<std::uint16_t>(from.bytes.data() + pos + 2);
      in[n++] = {source, MutBytes(from.bytes).subspan(pos, size), 0, false};
      pos += size;
    }
    to.dec.on_wire(to.now, rig::kUdp, std::span(in).first(n), io);
    from.used = 0;
  };
  const auto round = [&] {
    a.enc.on_tun(a.now, reads, io_a);
    hop(at_a, c, io_c, a.endpoint);
    hop(at_c, b, io_b, c.endpoint);
  };
  for (int i = 0; i < 3; ++i) round();
  const auto before = allocations();
  const auto written = at_b.writes;
  for (int i = 0; i < 50; ++i) round();
  EXPECT_EQ(allocations() - before, 0U);
  EXPECT_GT(at_b.writes, written + 100);
  EXPECT_EQ(a.all_drops() + b.all_drops() + c.all_drops(), 0U);
  EXPECT_EQ(at_a.frames, 53U * 31);
  EXPECT_EQ(at_c.frames, 53U * 31);
}

// ---- threads
// --------------------------------------------------------------------------------------------------------

/// Remembers under which counters frames left.
class CounterIo final : public WireSink, public TunSink, public PuntSink {
 public:
  SendOutcome send(const LinkSend&, std::span<const Bytes> run) override {
    for (const Bytes f : run) {
      outer.push_back(load_le<std::uint64_t>(f.data() + 8));
      frames.emplace_back(f.begin(), f.end());
    }
    return {};
  }
  bool write(const offload::VnetHeader&, std::span<const Bytes>) override { return true; }
  bool punt(Punt&&) override { return true; }
  std::vector<std::uint64_t> outer;
  std::vector<Buffer> frames;
};

TEST(Path, UsesNoCounterTwiceHoweverManyWorkersSealWithOneKey) {
  constexpr int kWorkers = 4, kRounds = 60;
  Pair p;
  std::vector<CounterIo> ios(kWorkers);
  std::vector<EncryptShard> shards;
  for (std::uint32_t w = 0; w < kWorkers; ++w) {
    ShardOptions o = p.a.options(1, true);
    o.id = WorkerId{w};
    shards.emplace_back(std::move(o));
    ShardIo io{ios[w], ios[w], ios[w], nullptr};
    shards[w].apply(at(0), Command{SetLink{p.a.links[2]}}, io);
    shards[w].apply(at(0), Command{SetSession{p.a.sessions[2]}}, io);
    shards[w].apply(at(0), Command{SetRoute{p.b.addr, link_id(p.a, p.b), HopClass::tree_up, kNever}}, io);
  }
  p.a.sessions[2].stats->warmup = 5;
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      while (!go) std::this_thread::yield();
      ShardIo io{ios[w], ios[w], ios[w], nullptr};
      for (int i = 0; i < kRounds; ++i) {
        std::vector<Buffer> packets(5, rig::udp(p.a, p.b, 300, 5000, static_cast<std::uint8_t>(w)));
        std::vector<TunRead> reads;
        for (Buffer& b : packets) reads.push_back({{}, b});
        shards[w].on_tun(at(i), reads, io);
      }
    });
  }
  // Meanwhile the home worker seals the core's own messages with the same keys, and somebody reads the
  // counters.
  go = true;
  for (int i = 0; i < kRounds; ++i) {
    p.a.home(SendLink{link_id(p.a, p.b), {0x51}});
    p.a.home(SendSession{p.b.addr, link_id(p.a, p.b), 0x13, false, {0, 5}});
    for (const EncryptShard& s : shards) (void)s.stats().forwarding.originated.packets.get();
  }
  for (std::thread& t : threads) t.join();

  std::vector<Buffer> all = p.a.dec_io.frames();
  std::set<std::uint64_t> outer;
  for (const Buffer& f : all) outer.insert(load_le<std::uint64_t>(f.data() + 8));
  for (CounterIo& io : ios) {
    outer.insert(io.outer.begin(), io.outer.end());
    EXPECT_TRUE(std::ranges::is_sorted(io.outer));
    all.insert(all.end(), io.frames.begin(), io.frames.end());
  }
  EXPECT_EQ(all.size(), std::size_t{kWorkers} * kRounds * 5 + 2 * kRounds);
  EXPECT_EQ(outer.size(), all.size());
  EXPECT_EQ(p.a.links[2].stats->frames_sent.get(), all.size());
  EXPECT_EQ(p.a.sessions[2].stats->packets_sent.get(), std::size_t{kWorkers} * kRounds * 5);
  // The inner counters show at the far end: a repeated one would be a replay.
  for (std::size_t i = 0; i < all.size(); i += 32)
    p.b.wire(
        {all.begin() + static_cast<long>(i), all.begin() + static_cast<long>(std::min(i + 32, all.size()))},
        p.a.endpoint);
  EXPECT_EQ(p.b.sessions[1].stats->packets_recv.get(), std::size_t{kWorkers} * kRounds * 5);
  EXPECT_EQ(p.b.drops(Drop::replayed), 0U);
  EXPECT_EQ(p.a.sessions[2].stats->warmup.load(), 0U);
}

}  // namespace
}  // namespace weft
