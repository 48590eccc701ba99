#include "names/identity_cache.h"

#include <gtest/gtest.h>

#include "crypto/identity.h"

namespace weft::names {
namespace {

PublicKey key_of(std::uint8_t n) {
  PublicKey k;
  k.bytes[0] = n;
  return k;
}
const Instant kStart = Instant{} + 1h;

TEST(IdentityCache, FindsAKeyByMeshAddressAndByNodeAddress) {
  IdentityCache cache;
  const NodeAddr addr = cache.put(key_of(1), kStart).addr;
  EXPECT_EQ(addr, crypto::node_addr_of(key_of(1)));
  ASSERT_NE(cache.find(mesh_addr_of(addr)), nullptr);
  EXPECT_EQ(cache.find(mesh_addr_of(addr))->key, key_of(1));
  ASSERT_NE(cache.find(addr), nullptr);
}

TEST(IdentityCache, ANodeAddressThatDiffersOnlyInItsLastByteIsAnotherNode) {
  IdentityCache cache;
  NodeAddr addr = cache.put(key_of(1), kStart).addr;
  addr.bytes[15] ^= 1;
  EXPECT_EQ(cache.find(addr), nullptr);
  EXPECT_EQ(cache.peek(addr), nullptr);
}

TEST(IdentityCache, ForgetsWhatWasUsedLongestAgo) {
  IdentityCache cache(2);
  const NodeAddr a = cache.put(key_of(1), kStart).addr;
  const NodeAddr b = cache.put(key_of(2), kStart).addr;
  EXPECT_NE(cache.find(a), nullptr);
  cache.put(key_of(3), kStart);
  EXPECT_NE(cache.peek(a), nullptr);
  EXPECT_EQ(cache.peek(b), nullptr);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(IdentityCache, PeekIsNoUseAndTouchNeverGoesBack) {
  IdentityCache cache(2);
  const NodeAddr a = cache.put(key_of(1), kStart).addr;
  cache.put(key_of(2), kStart);
  EXPECT_NE(cache.peek(a), nullptr);
  cache.put(key_of(3), kStart);
  EXPECT_EQ(cache.peek(a), nullptr);

  const NodeAddr c = crypto::node_addr_of(key_of(3));
  cache.touch(c, kStart + 5s);
  cache.touch(c, kStart + 2s);
  EXPECT_EQ(cache.peek(c)->last_seen, kStart + 5s);
  cache.touch(a, kStart + 9s);
  EXPECT_EQ(cache.peek(a), nullptr) << "an unknown node stays unknown";
  EXPECT_TRUE(cache.erase(c));
}

TEST(IdentityCache, ACapacityOfZeroStillHoldsOne) {
  IdentityCache cache(0);
  EXPECT_EQ(cache.put(key_of(1), kStart).key, key_of(1));
}

}  // namespace
}  // namespace weft::names
