/// Where is a node? Our own questions, and our part in answering others'.
///
/// A question of ours is sent at 0, 1, 3 and 7 s, each time under a new id, and given up at 15 s. An answer
/// counts only while it is waited for, names the target asked for, and proves itself under the target's key.
///
/// Use     on_request(): Answer -> answer(); Pass -> fan_out().
///         on_response(): Relay -> fold the link MTU in and send; Ours -> accept() with the target's key, or
///         on_identity_miss().
///         start() and on_deadline() give requests to send.
/// Bounds  every table; a neighbour's share of them; signatures per asking peer.
/// Time    monotonic.
/// Thread  control thread only. Cost: O(log pending), plus a signature per answer given or taken.
/// Source  docs/spec/mesh.md sections 3 and 7.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "base/bucket.h"
#include "base/deadlines.h"
#include "base/rng.h"
#include "crypto/curve.h"
#include "lookup/backoff.h"
#include "lookup/transit.h"
#include "wire/lookup_msg.h"

namespace weft {

struct LookupLimits {
  std::uint8_t ttl = 64;
  std::vector<Duration> attempts = {1s, 2s, 4s, 8s};
  TransitLimits transit;
  Duration backoff_base{};  // 0: off
  Duration backoff_cap{};
  std::size_t max_pending = 4096;
  double answer_burst = 200;  // per asking peer; each answer costs a signature
  double answer_rate = 100;
};

/// Names as operators see them (show_routing, show_metrics).
struct LookupCounters {
  std::uint64_t req_received = 0, req_decode_error = 0, req_duplicate = 0, req_dedup_cache_full = 0,
                req_target_is_us = 0, req_forwarded = 0, req_ttl_exhausted = 0, req_initiated = 0,
                req_deduplicated = 0, req_backoff_suppressed = 0, req_forward_rate_limited = 0,
                req_bloom_miss = 0, req_no_tree_peer = 0, req_fallback_forwarded = 0, resp_received = 0,
                resp_decode_error = 0, resp_forwarded = 0, resp_identity_miss = 0, resp_proof_failed = 0,
                resp_no_route = 0, resp_accepted = 0, resp_timed_out = 0;
};

/// A peer whose inbound filter holds the target.
struct LookupPeer {
  NodeAddr addr;
  bool tree_peer = false;
};
/// Those peers, for one target, smallest address first.
using Reaching = std::function<std::vector<LookupPeer>(const NodeAddr& target)>;

/// One request for several peers.
struct LookupSend {
  std::vector<NodeAddr> to;
  Buffer message;  // LookupRequest with its type byte
};

/// One question that is open, as operators see it.
struct PendingLookup {
  NodeAddr target;
  Instant started;
  Instant last_sent;
  std::uint32_t attempt = 1;  // 1..attempts
  std::set<std::uint64_t> ids;
};

class Lookups {
 public:
  using Sign = std::function<std::optional<crypto::Signature>(const crypto::Digest&)>;

  /// We are the target.
  struct Answer {
    wire::LookupRequest request;
  };
  /// To hand on, with one hop taken off.
  struct Pass {
    wire::LookupRequest request;
  };
  /// Somebody else's answer: fold the MTU of the link to `to` into response.path_mtu, then send.
  struct Relay {
    NodeAddr to;
    wire::LookupResponse response;
  };
  /// An answer that we wait for; not proven yet.
  struct Ours {
    wire::LookupResponse response;
  };
  enum class Start : std::uint8_t { sent, already_pending, backoff, unreachable, too_many };
  struct Started {
    Start outcome = Start::unreachable;
    LookupSend send;  // when sent
  };
  struct Due {
    std::vector<LookupSend> sends;
    std::vector<NodeAddr> failed;  // nobody answered in time
  };

  Lookups(const NodeAddr& own, const LookupLimits& limits = {});

  Result<std::variant<Answer, Pass>, Drop> on_request(const NodeAddr& from, Bytes message, Instant now);
  /// The peers to hand `pass` to: tree peers, else others, never the one it came from.
  /// Errors: no_filter_match.
  Result<LookupSend, Drop> fan_out(const Pass& pass, const NodeAddr& from,
                                   const std::vector<LookupPeer>& reaching);
  /// Our answer, for the peer that asked; nothing when signing fails. `link_mtu`: of the link it leaves on.
  std::optional<Buffer> answer(const Answer& a, const Path& own_path, std::uint16_t link_mtu,
                               const Sign& sign) const;

  Result<std::variant<Relay, Ours>, Drop> on_response(Bytes message);
  /// The key must be the one behind the target's address, all 16 bytes of it. Then the question is closed.
  /// Errors: key_mismatch, bad_proof.
  Result<void, Drop> accept(const Ours& ours, const PublicKey& target_key);
  void on_identity_miss() { ++counters_.resp_identity_miss; }
  void on_no_route() { ++counters_.resp_no_route; }

  Started start(const NodeAddr& target, const Path& own_path, const Reaching& reaching, Rng& rng,
                Instant now);
  std::optional<Instant> deadline() const { return due_.next(); }
  Due on_deadline(const Path& own_path, const Reaching& reaching, Rng& rng, Instant now);
  /// Nobody waits for the target any more.
  void cancel(const NodeAddr& target);
  void clear_backoff() { backoff_.clear(); }
  void remove_peer(const NodeAddr& peer) { answers_.erase(peer); }

  const std::map<NodeAddr, PendingLookup>& pending() const { return pending_; }
  std::size_t recent_requests() const { return transit_.size(); }
  const LookupBackoff& backoff() const { return backoff_; }
  const LookupCounters& counters() const { return counters_; }

 private:
  std::optional<LookupSend> ask(PendingLookup& p, const Path& own_path, const Reaching& reaching, Rng& rng,
                                Instant now);

  NodeAddr own_;
  LookupLimits limits_;
  LookupTransit transit_;
  LookupBackoff backoff_;
  std::map<NodeAddr, Bucket> answers_;
  std::map<NodeAddr, PendingLookup> pending_;
  std::map<std::uint64_t, NodeAddr> own_ids_;  // to their targets
  Deadlines<NodeAddr> due_;
  LookupCounters counters_;
};

}  // namespace weft
