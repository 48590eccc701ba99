#include "route/errors.h"

#include <gtest/gtest.h>

#include "testing/vectors/load.h"
#include "wire/envelope.h"

namespace weft {
namespace {

using vectors::node;

Instant at_ms(std::int64_t ms) { return Instant{} + std::chrono::milliseconds(ms); }
const Buffer kSealed(40, 0);
const RouteErrors::Bound kBound = [](const NodeAddr&) { return true; };
const RouteErrors::Bound kUnbound = [](const NodeAddr&) { return false; };

Buffer signal(const wire::RouteError& e) {
  Buffer out;
  wire::encode_route_error(out, e);
  return out;
}

TEST(RouteErrors, AsksForCoordinatesWhenItHasNoneAsTheVectorsDo) {
  const auto v = vectors::load("mesh.json")["routing"]["coords_required_in_datagram"];
  RouteErrors e(node(187));
  const auto m = e.no_route(node(1), node(170), kSealed, nullptr, at_ms(0));
  ASSERT_TRUE(m);
  EXPECT_EQ(to_hex(*m), v["hex"]);
}

TEST(RouteErrors, SaysPathBrokenWhenItHasCoordinatesEvenUnderAForeignRoot) {
  RouteErrors e(node(34));
  const Path known{node(204), node(221), node(238)};
  const auto m = e.no_route(node(1), node(17), kSealed, &known, at_ms(0));
  ASSERT_TRUE(m);
  const auto envelope = wire::decode_envelope(*m);
  EXPECT_EQ(to_hex(envelope->payload), vectors::load("mesh.json")["routing"]["path_broken_3_coords"]["hex"]);
  EXPECT_EQ(envelope->ttl, 64);
  EXPECT_EQ(envelope->path_mtu, 65535);
  EXPECT_EQ(envelope->to, node(1));
}

TEST(RouteErrors, TellsTheMtuOfTheLinkThatWasTooSmall) {
  RouteErrors e(node(187));
  const auto m = e.too_big(node(1), node(170), kSealed, 1400, at_ms(0));
  ASSERT_TRUE(m);
  EXPECT_EQ(to_hex(wire::decode_envelope(*m)->payload),
            vectors::load("mesh.json")["routing"]["mtu_exceeded_1400"]["hex"]);
}

TEST(RouteErrors, OneSignalPerFailedDestinationAndTenthOfASecondWhateverItsKind) {
  RouteErrors e(node(9));
  EXPECT_TRUE(e.no_route(node(1), node(2), kSealed, nullptr, at_ms(0)));
  EXPECT_EQ(e.no_route(node(7), node(2), kSealed, nullptr, at_ms(99)).error(), Drop::signal_rate);
  EXPECT_EQ(e.too_big(node(1), node(2), kSealed, 1280, at_ms(99)).error(), Drop::signal_rate);
  EXPECT_TRUE(e.no_route(node(1), node(3), kSealed, nullptr, at_ms(99)));
  EXPECT_TRUE(e.too_big(node(1), node(2), kSealed, 1280, at_ms(100)));
}

TEST(RouteErrors, ARunOfInventedDestinationsIsBoundedInAll) {
  RouteErrors e(node(9));
  int sent = 0;
  for (unsigned i = 0; i < 5000; ++i) {
    const NodeAddr dest{{static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8), 3}};
    if (e.no_route(node(1), dest, kSealed, nullptr, at_ms(0))) ++sent;
  }
  EXPECT_EQ(sent, 1000);
}

TEST(RouteErrors, BreedsNoErrorsAboutErrorsNorToItself) {
  RouteErrors e(node(9));
  const auto about = signal(wire::CoordsRequired{node(4), node(5)});
  EXPECT_EQ(e.no_route(node(1), node(2), about, nullptr, at_ms(0)).error(), Drop::unreportable);
  EXPECT_EQ(e.too_big(node(1), node(2), about, 1280, at_ms(0)).error(), Drop::unreportable);
  EXPECT_EQ(e.no_route(node(9), node(2), kSealed, nullptr, at_ms(0)).error(), Drop::unreportable);
  EXPECT_EQ(e.no_route(node(2), node(2), kSealed, nullptr, at_ms(0)).error(), Drop::unreportable);
  EXPECT_TRUE(
      e.no_route(node(1), node(2), kSealed, nullptr, at_ms(0)));  // and none of them used the limiter up
}

TEST(RouteErrors, BelievesOnlySignalsAboutSessionsOfOurs) {
  RouteErrors e(node(9));
  const auto good = signal(wire::CoordsRequired{node(4), node(5)});
  EXPECT_TRUE(e.on_signal(node(5), good, kBound));
  EXPECT_EQ(e.on_signal(node(5), good, kUnbound).error(), Drop::unbound_signal);
  EXPECT_EQ(e.on_signal(node(4), good, kBound).error(), Drop::forged_signal);
  EXPECT_EQ(e.on_signal(node(5), signal(wire::PathBroken{node(9), node(5), {}}), kBound).error(),
            Drop::forged_signal);
  EXPECT_EQ(e.on_signal(node(5), signal(wire::MtuExceeded{node(4), node(5), 255}), kBound).error(),
            Drop::mtu_below_floor);
  EXPECT_EQ(e.on_signal(node(5), signal(wire::MtuExceeded{node(4), node(5), 1280}), kUnbound).error(),
            Drop::unbound_signal);
  EXPECT_TRUE(e.on_signal(node(5), signal(wire::MtuExceeded{node(4), node(5), 256}), kBound));
  const auto& c = e.counters();
  EXPECT_EQ(c.coords_required, 3u);
  EXPECT_EQ(c.path_broken, 1u);
  EXPECT_EQ(c.mtu_exceeded, 3u);
  EXPECT_EQ(c.unbound_coords, 2u);
  EXPECT_EQ(c.unbound_broken, 1u);
  EXPECT_EQ(c.unbound_mtu, 1u);
  EXPECT_EQ(c.unbound_forged, 2u);
  EXPECT_EQ(c.mtu_exceeded_below_floor, 1u);
}

TEST(RouteErrors, ShortUnknownAndOverlongSignalsAreDropped) {
  RouteErrors e(node(9));
  const auto whole = signal(wire::PathBroken{node(4), node(5), {node(4), node(0)}});
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(e.on_signal(node(5), Bytes(whole).first(n), kBound)) << n;
  auto unknown = whole;
  unknown[4] = 0x2f;
  EXPECT_EQ(e.on_signal(node(5), unknown, kBound).error(), Drop::unknown_signal);
  auto huge = whole;
  huge[38] = huge[39] = 0xff;
  EXPECT_FALSE(e.on_signal(node(5), huge, kBound));
}

}  // namespace
}  // namespace weft
