/// What must hold at every moment, or once things have come to rest.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "crypto/aead.h"
#include "node/node.h"

namespace weft::sim {

/// Every (key, counter) that was ever sealed, of links and of sessions, of all nodes.
class NonceOracle {
 public:
  void sealed(const crypto::AeadKey& key, std::uint64_t counter);
  std::uint64_t seals() const { return seals_; }
  std::uint64_t keys() const { return keys_.size(); }
  std::uint64_t reused() const { return reused_; }

 private:
  struct Used {
    std::uint64_t next = 0;  // everything below was used, but for the gaps
    std::set<std::uint64_t> gaps;
  };
  std::unordered_map<std::uint64_t, Used> keys_;  // by a hash of the key
  std::uint64_t seals_ = 0;
  std::uint64_t reused_ = 0;
};

/// The shipped back-end, watched.
std::unique_ptr<crypto::Aead> watched_aead(NonceOracle& oracle);

/// Tables of a node against their configured bounds; nothing when all is well.
std::optional<std::string> check_bounds(const Node& node);

/// Some of a node's tables, for comparing before and after.
struct Sizes {
  std::size_t peers = 0, dials = 0, candidates = 0, sessions = 0, half_open = 0, coords = 0, identities = 0,
              pending = 0, routes = 0, refusals = 0;
};
Sizes sizes_of(const Node& node);

}  // namespace weft::sim
