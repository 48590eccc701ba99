#include "dataplane/fragment.h"

#include <set>

#include "dataplane/test_rig.h"

namespace weft {
namespace {

std::vector<Buffer> fragments(Bytes packet, std::size_t mtu, std::uint32_t id = 0xa1b2c3d4) {
  std::vector<Buffer> out;
  auto f = Fragmenter::open(packet, mtu, id);
  if (!f) return out;
  Buffer one(mtu);
  while (const std::size_t n = f->next(one)) {
    EXPECT_LE(n, mtu);
    out.emplace_back(one.begin(), one.begin() + static_cast<long>(n));
  }
  EXPECT_EQ(out.size(), f->count());
  return out;
}

/// What a receiver makes of fragments whose headers in front are `front` bytes long.
Buffer reassemble(const std::vector<Buffer>& parts, std::size_t front, std::size_t next_at) {
  Buffer body;
  std::set<std::size_t> offsets;
  for (const Buffer& p : parts) {
    EXPECT_EQ(load_be<std::uint16_t>(p.data() + 4), p.size() - 40);
    const std::size_t offset = load_be<std::uint16_t>(p.data() + front + 2) & 0xfff8U;
    const std::size_t n = p.size() - front - 8;
    if (body.size() < offset + n) body.resize(offset + n);
    std::memcpy(body.data() + offset, p.data() + front + 8, n);
    EXPECT_TRUE(offsets.insert(offset).second);
  }
  Buffer out(parts[0].begin(), parts[0].begin() + static_cast<long>(front));
  out[next_at] = parts[0][front];
  out.insert(out.end(), body.begin(), body.end());
  store_be<std::uint16_t>(out.data() + 4, static_cast<std::uint16_t>(out.size() - 40));
  return out;
}

TEST(Fragmenter, SplitsWhatIpv6PromisesInTwoAndItComesTogetherAgain) {
  const rig::Node a{1}, b{2};
  for (const std::size_t size : {1204U, 1248U, 1280U}) {
    const Buffer p = rig::udp(a, b, size);
    const auto parts = fragments(p, 1203);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].size(), 40U + 8 + 1152);
    EXPECT_EQ(load_be<std::uint32_t>(parts[0].data() + 44), 0xa1b2c3d4U);
    EXPECT_EQ(load_be<std::uint32_t>(parts[1].data() + 44), 0xa1b2c3d4U);
    EXPECT_EQ(parts[0][43] & 1, 1);
    EXPECT_EQ(parts[1][43] & 1, 0);
    EXPECT_EQ(reassemble(parts, 40, 6), p);
  }
}

TEST(Fragmenter, MakesAsManyAsANarrowPathNeeds) {
  const rig::Node a{1}, b{2};
  const Buffer p = rig::udp(a, b, 1280);
  const auto parts = fragments(p, 256 - 77);
  EXPECT_EQ(parts.size(), 10U);
  EXPECT_EQ(reassemble(parts, 40, 6), p);
}

TEST(Fragmenter, RepeatsHopByHopAndRoutingButNotTheHeadersBehindThem) {
  const rig::Node a{1}, b{2};
  Buffer chain = {43, 0, 1, 4, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0};
  const Buffer data = rig::pattern(1200);
  chain.insert(chain.end(), data.begin(), data.end());
  const Buffer p = rig::ip6_packet(a.mesh, b.mesh, 0, chain);
  const auto parts = fragments(p, 1203);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1][48], 44);  // the routing header names the fragment header
  EXPECT_EQ(parts[1][56], 60);
  EXPECT_EQ(reassemble(parts, 56, 48), p);
}

TEST(Fragmenter, CutsAFragmentFurther) {
  const rig::Node a{1}, b{2};
  const Buffer p = rig::udp(a, b, 2400);
  auto parts = fragments(p, 1280);
  ASSERT_EQ(parts.size(), 2U);
  std::vector<Buffer> finer;
  for (const Buffer& f : parts)
    for (Buffer& g : fragments(f, 700, 99)) finer.push_back(std::move(g));
  EXPECT_EQ(finer.size(), 4U);
  for (std::size_t i = 0; i < finer.size(); ++i) EXPECT_EQ(finer[i][43] & 1, i + 1 < finer.size() ? 1 : 0);
  EXPECT_EQ(reassemble(finer, 40, 6), p);
}

TEST(Fragmenter, RefusesWhatItCannotSplit) {
  const rig::Node a{1}, b{2};
  EXPECT_EQ(Fragmenter::open(rig::udp(a, b, 1280), 55, 1).error(), Drop::too_big);
  EXPECT_EQ(
      Fragmenter::open(rig::ip6_packet(a.mesh, b.mesh, 0, Buffer{17, 9, 0, 0, 0, 0, 0, 0}), 1203, 1).error(),
      Drop::packet_truncated);
  EXPECT_EQ(Fragmenter::open(rig::ip6_packet(a.mesh, b.mesh, 44, Buffer{17, 0}), 1203, 1).error(),
            Drop::packet_truncated);
}

}  // namespace
}  // namespace weft
