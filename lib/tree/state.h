/// Who claims what: our own declaration, and the latest one of every peer.
///
/// The own path is always publishable: it begins with us, ends with its smallest entry, names nobody twice.
/// Our sequence starts at Unix milliseconds, so that a restart is newer than anything said before it. Theirs
/// only rise, until forget_sequence() says that the peer began anew.
///
/// Thread  owner's. Cost: O(depth) unless said otherwise.
/// Source  docs/spec/mesh.md sections 1.3 to 1.5.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/drop.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/coord.h"
#include "wire/tree_announce.h"

namespace weft {

/// What one peer last said about itself.
struct TreeClaim {
  NodeAddr parent;  // the peer itself: it is root
  std::uint64_t sequence = 0;
  std::uint64_t timestamp = 0;  // Unix seconds, unchecked
  bool any_sequence = false;    // the peer restarted: the next announce is newer whatever its number
  std::vector<wire::Ancestor> ancestry;
  Path path;  // the addresses of `ancestry`: the peer first, its root last
  /// The peer's clock less ours in seconds, at most: what the youngest-looking of its announces said on arrival. An
  /// announce may be old when it is sent, so only a positive value is certain.
  std::int64_t clock_lead_secs = INT64_MIN;
  std::uint32_t heard = 0;  // announces accepted

  const NodeAddr& root() const { return path.back(); }
};

/// The rules of mesh.md 1.4 for an announce that decoded.
/// Errors: addr_mismatch (entry 0 is not `from`), bad_ancestry.
Result<void, Drop> check_ancestry(const wire::TreeAnnounce& announce, const NodeAddr& from);

class TreeState {
 public:
  /// We start as our own root.
  TreeState(const NodeAddr& own, Now now);

  const NodeAddr& own() const { return own_; }
  const NodeAddr& parent() const { return parent_; }  // own() when root
  const NodeAddr& root() const { return path_.back(); }
  bool is_root() const { return parent_ == own_; }
  std::size_t depth() const { return path_.size() - 1; }
  std::uint64_t sequence() const { return sequence_; }
  std::uint64_t timestamp() const { return timestamp_; }
  const Path& path() const { return path_; }
  const std::vector<wire::Ancestor>& ancestry() const { return ancestry_; }

  const TreeClaim* claim(const NodeAddr& peer) const;
  const std::map<NodeAddr, TreeClaim>& claims() const { return claims_; }
  /// The smallest root that any peer claims. O(peers).
  std::optional<NodeAddr> smallest_root() const;

  bool is_fresh(const NodeAddr& peer, std::uint64_t sequence) const;
  /// `announce` has passed check_ancestry and is_fresh.
  void store(const NodeAddr& peer, const wire::TreeAnnounce& announce);
  /// The claim just stored arrived at this time.
  void compare_clocks(const NodeAddr& peer, std::uint64_t unix_secs);
  void forget(const NodeAddr& peer) { claims_.erase(peer); }
  void forget_sequence(const NodeAddr& peer);

  /// Declare `parent`, whose claim is stored and does not contain us; sequence + 1. Where that path would not
  /// end in its smallest entry we declare ourselves root instead, under the same number. True when our path
  /// now names other nodes than before.
  bool attach(const NodeAddr& parent, std::uint64_t unix_secs);
  /// Declare ourselves root; sequence + 1. True as above.
  bool become_root(std::uint64_t unix_secs);

 private:
  bool declare(const NodeAddr& parent, std::uint64_t unix_secs);

  NodeAddr own_;
  NodeAddr parent_;
  std::uint64_t sequence_;
  std::uint64_t timestamp_;
  std::vector<wire::Ancestor> ancestry_;
  Path path_;
  std::map<NodeAddr, TreeClaim> claims_;
};

}  // namespace weft
