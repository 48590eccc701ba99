#include "bloom/filter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "crypto/hash.h"
#include "testing/vectors/load.h"

namespace weft {
namespace {

using vectors::node;

Filter of(std::initializer_list<unsigned> members) {
  Filter f;
  for (const auto m : members) f.insert(FilterKey::of(node(m)));
  return f;
}
Filter first_bytes_full(std::size_t n) {
  std::array<std::uint8_t, 1024> bits{};
  std::fill_n(bits.begin(), n, std::uint8_t{0xff});
  return Filter::from(bits);
}

TEST(Filter, PutsEachAddressWhereTheVectorsPutIt) {
  const auto items = vectors::load("mesh.json")["bloom"]["items"];
  for (const auto& v : items) {
    SCOPED_TRACE(v["item"].get<std::string>());
    const auto key = FilterKey::of(vectors::id<NodeAddr>(v["addr"]));
    Filter f;
    f.insert(key);
    const auto bytes = f.bytes();
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(key.bits[i], v["indices"][i].get<unsigned>());
      EXPECT_NE(bytes[v["byte_bit"][i][0].get<std::size_t>()] & (1 << v["byte_bit"][i][1].get<int>()), 0);
    }
    EXPECT_TRUE(f.holds(key));
  }
}

TEST(Filter, HasTheKnownBytesAndMembers) {
  const auto all = vectors::load("mesh.json");
  const auto v = all["bloom"]["filter_of_node1_node7_k1"];
  auto f = of({1, 7});
  f.insert(FilterKey::of(vectors::id<NodeAddr>(all["identities"][0]["node_addr"])));
  EXPECT_EQ(f.ones(), v["popcount"].get<std::size_t>());
  EXPECT_EQ(to_hex(crypto::sha256(f.bytes())), v["filter_sha256"]);
  EXPECT_EQ(Filter::from(f.bytes()), f);
  for (const auto& [name, held] : v["contains"].items())
    EXPECT_EQ(f.holds(FilterKey::of(node(name))), held.get<bool>()) << name;
}

TEST(Filter, EstimatesAsTheVectorsDo) {
  const auto bloom = vectors::load("mesh.json")["bloom"];
  for (const auto& v : bloom["cardinality"]) {
    Filter f;
    for (unsigned i = 0; i < v["n"].get<unsigned>(); ++i) f.insert(FilterKey::of(node(i)));
    EXPECT_EQ(f.ones(), v["popcount"].get<std::size_t>());
    EXPECT_DOUBLE_EQ(f.fpr(), v["fpr"].get<double>());
    EXPECT_NEAR(*f.estimate(), v["estimate"].get<double>(), 1e-9);
  }
  for (const auto& v : bloom["fpr_boundary"]) {
    const auto f = first_bytes_full(v["ff_bytes"].get<std::size_t>());
    EXPECT_NEAR(f.fpr(), v["fpr"].get<double>(), 1e-12);
    EXPECT_EQ(f.fpr() > 0.05, v["over_0.05"].get<bool>());
    EXPECT_EQ(f.estimate(0.20).has_value(), !v["over_0.20"].get<bool>());
    EXPECT_EQ(f.estimate().has_value(), !v["estimate"].is_null());
    if (const auto n = f.estimate()) {
      EXPECT_NEAR(*n, v["estimate"].get<double>(), 1e-6);
    }
  }
}

TEST(OrExceptOne, IsTheUnionOfTheOthers) {
  SeededRng rng(4);
  std::vector<Filter> filters(9);
  for (auto& f : filters)
    for (int i = 0; i < 300; ++i) {
      NodeAddr a;
      rng.fill(a.bytes);
      f.insert(FilterKey::of(a));
    }
  OrExceptOne sum;
  for (const auto& f : filters) sum.add(f);
  for (std::size_t q = 0; q < filters.size(); ++q) {
    Filter others;
    for (std::size_t i = 0; i < filters.size(); ++i)
      if (i != q) others |= filters[i];
    EXPECT_EQ(sum.without(filters[q]), others);
  }
  EXPECT_EQ(OrExceptOne{}.all(), Filter{});
}

}  // namespace
}  // namespace weft
