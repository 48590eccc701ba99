#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>

#include "base/bucket.h"
#include "base/bytes.h"
#include "base/deadlines.h"
#include "base/drop.h"
#include "base/endpoint.h"
#include "base/lru.h"
#include "base/ring.h"
#include "base/rng.h"

namespace weft {
namespace {

TEST(Reader, YieldsZerosAndLatchesAfterAShortRead) {
  const Buffer b{1, 2, 3};
  Reader in{b};
  EXPECT_EQ(in.le<std::uint16_t>(), 0x0201);
  EXPECT_EQ(in.le<std::uint32_t>(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.u8(), 0u) << "a failed reader gives nothing more, even where a byte is left";
}

TEST(Bytes, BothEndiansRoundTrip) {
  Buffer b;
  Writer{b}.le<std::uint32_t>(0xDEADBEEF).be<std::uint16_t>(0x1234).u8(7);
  EXPECT_EQ(to_hex(b), "efbeadde123407");
  Reader in{b};
  EXPECT_EQ(in.le<std::uint32_t>(), 0xDEADBEEFu);
  EXPECT_EQ(in.be<std::uint16_t>(), 0x1234);
  EXPECT_EQ(in.left(), 1u);
}

TEST(Hex, RefusesOddLengthAndForeignDigits) {
  std::array<std::uint8_t, 2> out{9, 9};
  EXPECT_FALSE(from_hex("012", out));
  EXPECT_FALSE(from_hex("01zz", out));
  EXPECT_EQ(out[0], 9) << "untouched on refusal";
  EXPECT_TRUE(from_hex("a0FF", out));
  EXPECT_EQ(out[1], 0xff);
}

TEST(Bucket, RefillsWithTimeAndNeverOverflows) {
  Bucket b(2, 1);
  const Instant t{};
  EXPECT_TRUE(b.take(t) && b.take(t));
  EXPECT_FALSE(b.take(t));
  EXPECT_TRUE(b.take(t + 1s));
  EXPECT_FALSE(b.take(t + 1s));
  EXPECT_TRUE(b.take(t + 100s) && b.take(t + 100s));
  EXPECT_FALSE(b.take(t + 100s));
  EXPECT_FALSE(b.take(t)) << "time that jumps back gives nothing";
}

TEST(Lru, ForgetsWhatWasUsedLongestAgo) {
  Lru<int, int> l(2);
  l.put(1, 10);
  l.put(2, 20);
  EXPECT_EQ(*l.get(1), 10);
  const auto out = l.put(3, 30);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->first, 2);
  EXPECT_EQ(l.peek(2), nullptr);
}

TEST(Deadlines, OneInstantPerKeyInOrder) {
  Deadlines<int> d;
  const Instant t{};
  d.set(1, t + 5s);
  d.set(1, t + 2s);
  d.set_earlier(1, t + 3s);
  d.set(2, t + 1s);
  EXPECT_EQ(d.next(), t + 1s);
  EXPECT_EQ(d.pop_due(t + 2s), 2);
  EXPECT_EQ(d.pop_due(t + 2s), 1);
  EXPECT_EQ(d.pop_due(t + 9s), std::nullopt);
}

TEST(Endpoint, TextForms) {
  for (const auto* text : {"192.0.2.1:2121", "[2001:db8::1]:2121", "[fe80::1%3]:9", "[::1]:0"})
    EXPECT_EQ(Endpoint::parse(text)->text(), text);
  for (const auto* text : {"", "host:1", "1.2.3.4", "1.2.3.4:70000", "::1:5", "[::1]", "[::1]5", "1.2.3.4:", "[fe80::1%eth0]:1"})
    EXPECT_FALSE(Endpoint::parse(text)) << text;
  EXPECT_EQ(HostPort::parse("relay.example.org:2121")->host, "relay.example.org");
}

TEST(Drop, EveryOneHasItsOwnName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kDropCount; ++i) {
    EXPECT_TRUE(names.insert(name_of(static_cast<Drop>(i))).second);
    EXPECT_FALSE(text_of(static_cast<Drop>(i)).empty());
  }
}

TEST(Ring, KeepsOrderAcrossThreadsAndRefusesWhenFull) {
  Ring<std::unique_ptr<int>> r(8);
  std::thread writer([&] {
    for (int i = 0; i < 20000;)
      if (auto v = std::make_unique<int>(i); r.push(std::move(v))) ++i;
      else std::this_thread::yield();
  });
  for (int i = 0; i < 20000;)
    if (auto v = r.pop()) ASSERT_EQ(**v, i++);
    else std::this_thread::yield();
  writer.join();
  Ring<int> full(2);
  EXPECT_TRUE(full.push(1) && full.push(2));
  EXPECT_FALSE(full.push(3));
}

TEST(SeededRng, RepeatsAndStaysInRange) {
  SeededRng a(7), b(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.u64(), b.u64());
    const auto v = a.between(-15, 15);
    EXPECT_TRUE(v >= -15 && v <= 15);
    EXPECT_EQ(v, b.between(-15, 15));
  }
}

}  // namespace
}  // namespace weft
