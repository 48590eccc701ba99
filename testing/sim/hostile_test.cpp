// Whoever can send datagrams to a node must not get more than a counter for it.
#include "sim/sim_test.h"

namespace weft::sim {
namespace {

TEST(Hostile, AFloodOfRubbishChangesNothing) {
  World w(line(3), world(40));
  std::vector<std::pair<Endpoint, Buffer>> heard;  // by whoever sits on the wire
  w.underlay().set_filter([&](const Datagram& d) {
    if (heard.size() < 4000) heard.emplace_back(d.to, Buffer(d.bytes.begin(), d.bytes.end()));
    return true;
  });
  w.start();
  expect_converges(w, 10s);
  expect_reach(w, w.all_pairs(), 10s);
  Talk talk(w, 0, 2, 20ms, 25s);
  w.run_for(3s);
  const Sizes before = sizes_of(w[1].node());
  const Instant up = w[1].node().links().find(w[0].addr())->up_since;
  const std::uint64_t answered = w.underlay().unroutable();

  SeededRng rng(41);
  constexpr int kFlood = 100'000;
  for (int i = 0; i < kFlood; ++i) {
    const Endpoint from = rng.below(2) == 0
                              ? w[0].endpoint()
                              : Endpoint::v4({198, 51, 100, static_cast<std::uint8_t>(rng.below(256))},
                                             static_cast<std::uint16_t>(rng.below(65536)));
    Buffer d;
    if (rng.below(4) == 0) {
      d.resize(rng.below(1500));
      rng.fill(d);
      if (!d.empty() && rng.below(2) == 0) d[0] = static_cast<std::uint8_t>(rng.below(3));
    } else {
      d = heard[rng.below(heard.size())].second;
      switch (rng.below(4)) {
        case 0:
          d.resize(rng.below(d.size() + 1));
          break;
        case 1:
          d[rng.below(d.size())] ^= static_cast<std::uint8_t>(1 + rng.below(255));
          break;
        case 2:  // a counter that was not seen yet
          if (d.size() > 16) store_le<std::uint64_t>(d.data() + 8, 5000 + rng.below(5000));
          break;
        default:
          break;  // replayed as it was
      }
    }
    w.underlay().inject(from, w[1].endpoint(), d, 200us * i);
  }
  w.run_for(22s);

  const Sizes after = sizes_of(w[1].node());
  EXPECT_EQ(after.peers, before.peers);
  EXPECT_EQ(w[1].node().links().find(w[0].addr())->up_since, up);
  EXPECT_EQ(w[1].node().links().find(w[0].addr())->to, w[0].endpoint());
  EXPECT_LE(after.candidates, 16u);
  EXPECT_EQ(after.sessions, before.sessions);
  EXPECT_LE(after.coords, before.coords + 2);
  EXPECT_LE(after.identities, before.identities + 2);
  std::uint64_t named = 0;
  for (std::size_t i = 0; i < kDropCount; ++i) named += w[1].drops(static_cast<Drop>(i));
  EXPECT_GE(named, static_cast<std::uint64_t>(kFlood) * 99 / 100) << all_drops(w);
  EXPECT_GT(w[1].drops(Drop::bad_tag), 1000u);
  EXPECT_GT(w[1].drops(Drop::replayed) + w[1].drops(Drop::too_old), 1000u);
  // Only handshakes draw an answer, and it is no larger; every one to a stranger's address found nobody there.
  EXPECT_LT(w.underlay().unroutable() - answered, 2000u);
  EXPECT_EQ(talk.lost(), 0u) << all_drops(w);
  w.run_for(40s);
  expect_converges(w, 1s);
  expect_well(w);
}

TEST(Hostile, AFloodOfLookUpsForUnknownNodesIsBounded) {
  World w(line(3), world(42));
  w.start();
  expect_converges(w, 10s);
  SeededRng rng(43);
  for (int i = 0; i < 2000; ++i) {
    const auto nobody = crypto::Identity::generate(rng);
    w[0].prime(nobody.key());
    Buffer packet(48);
    packet[0] = 0x60;
    packet[5] = 8;
    packet[6] = 17;
    std::memcpy(packet.data() + 8, w[0].identity().mesh_addr().bytes.data(), 16);
    std::memcpy(packet.data() + 24, nobody.mesh_addr().bytes.data(), 16);
    w[0].send_packet(packet);
    w.run_for(2ms);
    ASSERT_EQ(check_bounds(w[0].node()), std::nullopt);
  }
  expect_reach(w, w.all_pairs(), 10s);
  w.run_for(40s);
  EXPECT_EQ(sizes_of(w[0].node()).pending, 0u);
  expect_well(w);
}

}  // namespace
}  // namespace weft::sim
