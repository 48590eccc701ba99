#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/rng.h"
#include "offload/checksum.h"
#include "offload/coalesce.h"
#include "offload/segment.h"

namespace weft::offload {
namespace {

std::uint16_t naive_sum(Bytes b) {
  std::uint32_t s = 0;
  for (std::size_t i = 0; i < b.size(); ++i) s += i % 2 ? b[i] : static_cast<std::uint32_t>(b[i]) << 8;
  while (s >> 16) s = (s & 0xffff) + (s >> 16);
  return static_cast<std::uint16_t>(s);
}

bool naive_valid(Bytes packet) {
  Buffer all(packet.begin() + 8, packet.begin() + 40);
  const auto n = static_cast<std::uint32_t>(packet.size() - 40);
  Writer(all).be(n).be(std::uint32_t{packet[6]}).raw(packet.subspan(40));
  return naive_sum(all) == 0xffff;
}

void fix_sum(Buffer& p) {
  const bool udp = p[6] == 17;
  const std::size_t at = 40 + (udp ? 6U : 16U);
  store_be(p.data() + at, std::uint16_t{0});
  Buffer all(p.begin() + 8, p.begin() + 40);
  Writer(all).be(static_cast<std::uint32_t>(p.size() - 40)).be(std::uint32_t{p[6]}).raw(Bytes(p).subspan(40));
  auto v = static_cast<std::uint16_t>(~naive_sum(all));
  if (udp && v == 0) v = 0xffff;
  store_be(p.data() + at, v);
}

struct Make {
  std::uint8_t host = 1;
  std::uint16_t port = 1000;
  std::uint32_t seq = 1;
  std::uint8_t flags = 0x10;
  std::uint8_t traffic_class = 0;
  std::size_t options = 12;
  std::size_t payload = 100;
  std::uint8_t fill = 7;
  std::uint8_t hop_limit = 64;
};

Buffer ip6(std::uint8_t next, std::size_t length, const Make& m) {
  Buffer p;
  Writer w(p);
  w.be((6U << 28) | (std::uint32_t{m.traffic_class} << 20) | 0x12345U).be(static_cast<std::uint16_t>(length));
  w.u8(next).u8(m.hop_limit);
  for (int i = 0; i < 32; ++i) w.u8(static_cast<std::uint8_t>(i == 0 || i == 16 ? 0xfd : i + m.host));
  return p;
}

Buffer tcp(const Make& m) {
  Buffer p = ip6(6, 20 + m.options + m.payload, m);
  Writer w(p);
  w.be(m.port).be(std::uint16_t{80}).be(m.seq).be(std::uint32_t{77});
  w.u8(static_cast<std::uint8_t>((20 + m.options) / 4 << 4)).u8(m.flags).be(std::uint16_t{500});
  w.be(std::uint32_t{0});
  for (std::size_t i = 0; i < m.options; ++i) w.u8(1);
  for (std::size_t i = 0; i < m.payload; ++i) w.u8(static_cast<std::uint8_t>(m.fill + i));
  fix_sum(p);
  return p;
}

Buffer udp(const Make& m) {
  Buffer p = ip6(17, 8 + m.payload, m);
  Writer w(p);
  w.be(m.port).be(std::uint16_t{53}).be(static_cast<std::uint16_t>(8 + m.payload)).be(std::uint16_t{0});
  for (std::size_t i = 0; i < m.payload; ++i) w.u8(static_cast<std::uint8_t>(m.fill + i));
  fix_sum(p);
  return p;
}

std::vector<Buffer> split(const VnetHeader& v, Bytes packet) {
  auto s = Segmenter::open(v, packet);
  std::vector<Buffer> out;
  if (!s) return out;
  Segmenter copy = *s;
  Segmenter::Segment seg;
  while (s->next(seg)) {
    Buffer b(seg.header.begin(), seg.header.end());
    b.insert(b.end(), seg.payload.begin(), seg.payload.end());
    Buffer one(copy.max_packet());
    one.resize(copy.write_next(one));
    EXPECT_EQ(b, one) << "the two ways out differ";
    out.push_back(b);
  }
  EXPECT_EQ(out.size(), s->count());
  return out;
}

struct Joined {
  std::vector<VnetHeader> headers;
  std::vector<std::size_t> packets;
  std::vector<Buffer> supers;
  std::vector<Buffer> apart;  // taken apart again
};

Joined join(const std::vector<Buffer>& in, bool t = true, bool u = true) {
  Coalescer c(t, u);
  for (const auto& p : in) c.add(p);
  Joined out;
  Coalescer::Write w;
  while (c.next(w)) {
    Buffer b;
    for (const auto piece : w.pieces) b.insert(b.end(), piece.begin(), piece.end());
    out.headers.push_back(w.vnet);
    out.packets.push_back(w.packets);
    if (w.packets > 1) {
      for (auto& p : split(w.vnet, b)) out.apart.push_back(std::move(p));
    } else {
      out.apart.push_back(b);
    }
    out.supers.push_back(std::move(b));
  }
  EXPECT_EQ(c.size(), 0U);
  return out;
}

std::vector<Buffer> train(std::size_t n, Make m, bool is_tcp = true) {
  std::vector<Buffer> out;
  for (std::size_t i = 0; i < n; ++i) {
    out.push_back(is_tcp ? tcp(m) : udp(m));
    m.seq += static_cast<std::uint32_t>(m.payload);
    ++m.fill;
  }
  return out;
}

TEST(Checksum, AgreesWithTheNaiveSumAtEveryLengthAndAlignment) {
  SeededRng rng(1);
  Buffer b(3000);
  rng.fill(b);
  for (std::size_t at = 0; at < 9; ++at)
    for (std::size_t n = 0; n < 400; ++n)
      ASSERT_EQ(checksum_fold(checksum_add(Bytes(b).subspan(at, n))), naive_sum(Bytes(b).subspan(at, n)))
          << at << " " << n;
  ASSERT_EQ(checksum_fold(checksum_add(b)), naive_sum(b));
}

TEST(Checksum, SurvivesTheLargestPacketOfOnes) {
  const Buffer b(65536, 0xff);
  EXPECT_EQ(checksum_fold(checksum_add(b, checksum_add(b))), 0xffff);
}

TEST(Checksum, CopiesWhatItSums) {
  SeededRng rng(2);
  for (std::size_t n = 0; n < 300; ++n) {
    Buffer from(n);
    rng.fill(from);
    Buffer to(n + 1, 0xee);
    EXPECT_EQ(checksum_copy(to.data(), from, 5), checksum_add(from, 5));
    EXPECT_TRUE(equal(Bytes(to).first(n), from));
    EXPECT_EQ(to[n], 0xee);
  }
}

TEST(Segmenter, PassesAWholePacketThroughUnchanged) {
  const auto p = tcp({});
  EXPECT_EQ(split({}, p), std::vector<Buffer>{p});
}

TEST(Segmenter, CutsOffWhatLiesBehindTheIp6Length) {
  auto p = udp({});
  const auto whole = p;
  p.push_back(9);
  EXPECT_EQ(split({}, p), std::vector<Buffer>{whole});
}

TEST(Segmenter, CompletesAnOpenChecksum) {
  for (const bool is_tcp : {true, false}) {
    const auto whole = is_tcp ? tcp({}) : udp({});
    auto p = whole;
    const std::uint16_t offset = is_tcp ? 16 : 6;
    const Sum pseudo = pseudo_header_sum(p.data(), p[6], static_cast<std::uint32_t>(p.size() - 40));
    store_be(p.data() + 40 + offset, checksum_fold(pseudo));
    EXPECT_FALSE(naive_valid(p));
    EXPECT_EQ(split({.flags = kNeedsChecksum, .sum_start = 40, .sum_offset = offset}, p),
              std::vector<Buffer>{whole});
  }
}

TEST(Segmenter, GivesFinAndPshToTheLastSegmentAndCwrToTheFirst) {
  auto p = tcp({.seq = 0xffffff00, .flags = 0x10 | 0x08 | 0x01 | 0x80, .options = 0, .payload = 1000});
  const VnetHeader v{.flags = kNeedsChecksum,
                     .gso_type = kGsoTcp6 | kGsoEcn,
                     .header_bytes = 1060,
                     .segment_bytes = 300,
                     .sum_start = 40,
                     .sum_offset = 16};
  const auto out = split(v, p);
  ASSERT_EQ(out.size(), 4U);
  const std::uint8_t flags[] = {0x90, 0x10, 0x10, 0x19};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(naive_valid(out[i]));
    EXPECT_EQ(out[i][53], flags[i]);
    EXPECT_EQ(load_be<std::uint32_t>(out[i].data() + 44), static_cast<std::uint32_t>(0xffffff00U + 300 * i));
    EXPECT_EQ(load_be<std::uint16_t>(out[i].data() + 4), out[i].size() - 40);
    EXPECT_EQ(out[i].size(), i < 3 ? 360U : 160U);
  }
}

TEST(Segmenter, KeepsExtensionHeadersInEverySegment) {
  auto inner = udp({.payload = 250});
  Buffer p(inner.begin(), inner.begin() + 40);
  p[6] = 60;  // destination options, all padding
  const Buffer ext{17, 0, 1, 4, 0, 0, 0, 0};
  p.insert(p.end(), ext.begin(), ext.end());
  p.insert(p.end(), inner.begin() + 40, inner.end());
  store_be(p.data() + 4, static_cast<std::uint16_t>(p.size() - 40));
  const VnetHeader v{
      .flags = kNeedsChecksum, .gso_type = kGsoUdp, .segment_bytes = 100, .sum_start = 48, .sum_offset = 6};
  const auto out = split(v, p);
  ASSERT_EQ(out.size(), 3U);
  for (const auto& s : out) {
    EXPECT_TRUE(equal(Bytes(s).subspan(40, 8), ext));
    Buffer plain(s.begin(), s.begin() + 40);
    plain[6] = 17;
    plain.insert(plain.end(), s.begin() + 48, s.end());
    EXPECT_TRUE(naive_valid(plain));
    EXPECT_EQ(load_be<std::uint16_t>(s.data() + 52), s.size() - 48);
  }
}

TEST(Segmenter, RefusesImpossibleSuperPackets) {
  const auto p = tcp({.payload = 1000});
  const VnetHeader ok{
      .flags = kNeedsChecksum, .gso_type = kGsoTcp6, .segment_bytes = 300, .sum_start = 40, .sum_offset = 16};
  ASSERT_TRUE(Segmenter::open(ok, p));
  const auto why = [](VnetHeader v, const Buffer& b) {
    const auto s = Segmenter::open(v, b);
    return s ? Drop::count_ : s.error();
  };
  auto v = ok;
  v.gso_type = 1;
  EXPECT_EQ(why(v, p), Drop::bad_offload) << "IPv4 TSO type";
  v = ok, v.gso_type = kGsoUdp;
  EXPECT_EQ(why(v, p), Drop::bad_offload) << "UDP type on TCP";
  v = ok, v.gso_type = kGsoUdp | kGsoEcn;
  EXPECT_EQ(why(v, p), Drop::bad_offload);
  v = ok, v.segment_bytes = 0;
  EXPECT_EQ(why(v, p), Drop::bad_offload);
  v = ok, v.flags = 0;
  EXPECT_EQ(why(v, p), Drop::bad_offload);
  v = ok, v.sum_start = 41;
  EXPECT_EQ(why(v, p), Drop::bad_offload);
  v = ok, v.sum_offset = 6;
  EXPECT_EQ(why(v, p), Drop::bad_offload);
  auto q = p;
  q[52] = 0x40;
  EXPECT_EQ(why(ok, q), Drop::bad_offload) << "data offset below 20 bytes";
  q = tcp({.flags = 0x12, .payload = 1000});
  EXPECT_EQ(why(ok, q), Drop::bad_offload) << "SYN";
  q = tcp({.payload = 0});
  EXPECT_EQ(why(ok, q), Drop::bad_offload) << "nothing to cut";
  q = p, q[6] = 43;
  EXPECT_EQ(why(ok, q), Drop::bad_offload) << "routing header";
  q = p, q[0] = 0x45;
  EXPECT_EQ(why(ok, q), Drop::not_ipv6);
  EXPECT_EQ(why(ok, {}), Drop::packet_truncated);
  EXPECT_EQ(why({.flags = kNeedsChecksum, .sum_start = 20, .sum_offset = 6}, p), Drop::bad_offload);
  EXPECT_EQ(why({.flags = kNeedsChecksum, .sum_start = 60000, .sum_offset = 6}, p), Drop::bad_offload);
  EXPECT_EQ(why({.flags = kNeedsChecksum, .sum_start = 65535, .sum_offset = 65534}, p), Drop::bad_offload);
}

TEST(Segmenter, RefusesEveryCutOfASuperPacket) {
  const auto p = tcp({.payload = 1000});
  const VnetHeader v{
      .flags = kNeedsChecksum, .gso_type = kGsoTcp6, .segment_bytes = 300, .sum_start = 40, .sum_offset = 16};
  for (std::size_t n = 0; n < p.size(); ++n) {
    const Buffer cut(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(n));
    const auto s = Segmenter::open(v, cut);
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error(), Drop::packet_truncated);
  }
}

TEST(Segmenter, WritesNothingIntoABufferThatIsTooSmall) {
  const auto p = tcp({});
  auto s = Segmenter::open({}, p);
  Buffer small(s->max_packet() - 1);
  EXPECT_EQ(s->write_next(small), 0U);
}

TEST(Coalescer, JoinsAContiguousTrainIntoOne) {
  for (const bool is_tcp : {true, false}) {
    const auto in = train(40, {.payload = 1000}, is_tcp);
    const auto out = join(in);
    ASSERT_EQ(out.packets, std::vector<std::size_t>{40});
    EXPECT_EQ(out.headers[0].segment_bytes, 1000);
    EXPECT_EQ(out.headers[0].gso_type, is_tcp ? kGsoTcp6 : kGsoUdp);
    EXPECT_EQ(out.apart, in);
  }
}

TEST(Coalescer, StaysWithin64KilobytesAnd64Segments) {
  const auto large = join(train(60, {.payload = 1400}));
  ASSERT_EQ(large.packets.size(), 2U);
  EXPECT_LE(large.supers[0].size(), 65535U);
  EXPECT_EQ(large.packets[0], 46U);
  const auto many = join(train(100, {.payload = 10}, false));
  EXPECT_EQ(many.packets, (std::vector<std::size_t>{64, 36}));
}

TEST(Coalescer, EndsAGroupWithAShorterPacketOrPsh) {
  auto in = train(2, {.payload = 100});
  in.push_back(tcp({.seq = 201, .payload = 50}));
  in.push_back(tcp({.seq = 251, .payload = 50}));
  EXPECT_EQ(join(in).packets, (std::vector<std::size_t>{3, 1}));
  in = train(2, {.payload = 100});
  in.push_back(tcp({.seq = 201, .flags = 0x18, .payload = 100}));
  in.push_back(tcp({.seq = 301, .payload = 100}));
  const auto out = join(in);
  EXPECT_EQ(out.packets, (std::vector<std::size_t>{3, 1}));
  EXPECT_EQ(out.apart, in);
}

TEST(Coalescer, NeverJoinsWhatDiffersInMoreThanItsPlaceInTheFlow) {
  const auto first = tcp({});
  const auto apart = [&](const Buffer& second) { return join({first, second}).packets.size() == 2; };
  EXPECT_FALSE(apart(tcp({.seq = 101})));
  EXPECT_TRUE(apart(tcp({.seq = 102}))) << "gap";
  EXPECT_TRUE(apart(tcp({.seq = 1}))) << "repeat";
  EXPECT_TRUE(apart(tcp({.seq = 101, .traffic_class = 3}))) << "CE with not-CE";
  EXPECT_TRUE(apart(tcp({.seq = 101, .hop_limit = 63})));
  EXPECT_TRUE(apart(tcp({.port = 1001, .seq = 101})));
  EXPECT_TRUE(apart(tcp({.host = 2, .seq = 101})));
  EXPECT_TRUE(apart(tcp({.seq = 101, .options = 8})));
  EXPECT_TRUE(apart(tcp({.seq = 101, .payload = 101}))) << "larger than the first";
  for (const int flag : {0x01, 0x02, 0x04, 0x20, 0x40, 0x80})
    EXPECT_TRUE(apart(tcp({.seq = 101, .flags = static_cast<std::uint8_t>(0x10 | flag)}))) << flag;
  EXPECT_TRUE(apart(tcp({.seq = 101, .flags = 0}))) << "no ACK";
  const auto changed = [](std::size_t at) {
    auto p = tcp({.seq = 101});
    p[at] ^= 1;
    fix_sum(p);
    return p;
  };
  EXPECT_TRUE(apart(changed(51))) << "acknowledgement";
  EXPECT_TRUE(apart(changed(54))) << "window";
  EXPECT_TRUE(apart(changed(59))) << "urgent pointer";
  EXPECT_TRUE(apart(changed(60))) << "option";
  EXPECT_TRUE(apart(changed(3))) << "flow label";
  auto wrong = tcp({.seq = 101});
  wrong.back() ^= 1;
  EXPECT_TRUE(apart(wrong)) << "checksum";
}

TEST(Coalescer, NeverJoinsToAFirstPacketWithAWrongChecksum) {
  auto first = tcp({});
  first.back() ^= 1;
  EXPECT_EQ(join({first, tcp({.seq = 101})}).packets.size(), 2U);
  auto none = udp({});
  store_be(none.data() + 46, std::uint16_t{0});
  EXPECT_EQ(join({none, none}).packets.size(), 2U);
}

TEST(Coalescer, NeverJoinsTheOtherFormOfAZeroChecksum) {
  auto first = tcp({.options = 0});
  auto word = load_be<std::uint16_t>(first.data() + 60);
  const auto sum = load_be<std::uint16_t>(first.data() + 56);
  // Adding the complement of the rest to one word makes the true checksum zero.
  word = static_cast<std::uint16_t>((word + sum) % 0xffff);
  store_be(first.data() + 60, word);
  fix_sum(first);
  ASSERT_EQ(load_be<std::uint16_t>(first.data() + 56), 0);
  const auto second = tcp({.seq = 101, .options = 0});
  EXPECT_EQ(join({first, second}).packets.size(), 1U);
  store_be(first.data() + 56, std::uint16_t{0xffff});
  ASSERT_TRUE(naive_valid(first));
  EXPECT_EQ(join({first, second}).packets.size(), 2U);
}

TEST(Coalescer, KeepsTheOrderWithinAFlowAroundWhatCannotBeJoined) {
  const auto pure_ack = tcp({.seq = 101, .payload = 0});
  const std::vector<Buffer> in{tcp({}), pure_ack, tcp({.seq = 101})};
  const auto out = join(in);
  EXPECT_EQ(out.packets, (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(out.apart, in);
}

TEST(Coalescer, AFragmentOfTheSamePairEndsTheGroup) {
  auto fragment = udp({});
  fragment[6] = 44;
  const auto in = std::vector<Buffer>{udp({}), fragment, udp({.fill = 8})};
  EXPECT_EQ(join(in).packets.size(), 3U);
  auto echo = udp({});
  echo[6] = 58;
  EXPECT_EQ(join({udp({}), echo, udp({.fill = 8})}).packets, (std::vector<std::size_t>{2, 1}));
}

TEST(Coalescer, JoinsInterleavedFlowsEachForItself) {
  std::vector<Buffer> in;
  const auto a = train(5, {.port = 1});
  const auto b = train(5, {.port = 2}, false);
  for (std::size_t i = 0; i < 5; ++i) in.insert(in.end(), {a[i], b[i]});
  EXPECT_EQ(join(in).packets, (std::vector<std::size_t>{5, 5}));
}

TEST(Coalescer, JoinsOnlyWhatTheDeviceTakes) {
  EXPECT_EQ(join(train(3, {}), false, true).packets.size(), 3U);
  EXPECT_EQ(join(train(3, {}, false), true, false).packets.size(), 3U);
}

// Flows as (addresses, ports, protocol) strings; their packets in order.
std::map<std::string, std::vector<Buffer>> by_flow(const std::vector<Buffer>& in) {
  std::map<std::string, std::vector<Buffer>> out;
  for (const auto& p : in) {
    std::string key;
    if (p.size() >= 44) key = to_hex(Bytes(p).subspan(8, 36)) + std::to_string(p[6]);
    out[key].push_back(p);
  }
  return out;
}

TEST(Coalescer, RandomBurstsComeApartAsTheyWentIn) {
  SeededRng rng(42);
  std::size_t joined = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<Buffer> in;
    std::map<std::uint16_t, std::uint32_t> seq;
    const std::size_t step = 1 + rng.below(200);
    for (std::size_t n = rng.below(120); n > 0; --n) {
      Make m;
      m.port = static_cast<std::uint16_t>(1 + rng.below(4));
      m.payload = rng.below(12) == 0 ? rng.below(step + 1) : step;
      m.fill = static_cast<std::uint8_t>(rng.below(256));
      m.seq = seq[m.port];
      if (rng.below(20) == 0) m.flags = static_cast<std::uint8_t>(rng.below(256));
      if (rng.below(15) == 0) m.flags = 0x18;
      if (rng.below(40) == 0) m.traffic_class = 3;
      auto p = rng.below(3) == 0 ? udp(m) : tcp(m);
      if (p[6] == 6 && rng.below(20) != 0) seq[m.port] += static_cast<std::uint32_t>(m.payload);
      if (rng.below(30) == 0) p[rng.below(p.size())] ^= static_cast<std::uint8_t>(1 + rng.below(255));
      if (rng.below(50) == 0) p.resize(rng.below(p.size() + 1));
      in.push_back(std::move(p));
    }
    const auto out = join(in);
    joined += in.size() - out.packets.size();
    ASSERT_EQ(out.apart.size(), in.size());
    ASSERT_EQ(by_flow(out.apart), by_flow(in)) << "round " << round;
  }
  EXPECT_GT(joined, 10000U);
}

}  // namespace
}  // namespace weft::offload
