#include "sim/oracle.h"

#include "sim/trace.h"

namespace weft::sim {
namespace {

class WatchedAead final : public crypto::Aead {
 public:
  explicit WatchedAead(NonceOracle& oracle) : oracle_(oracle), real_(crypto::make_aead()) {}
  std::string_view name() const override { return real_->name(); }
  void seal(std::span<crypto::AeadJob> jobs) override {
    for (const auto& j : jobs) oracle_.sealed(*j.key, j.counter);
    real_->seal(jobs);
  }
  void open(std::span<crypto::AeadJob> jobs) override { real_->open(jobs); }

 private:
  NonceOracle& oracle_;
  std::unique_ptr<crypto::Aead> real_;
};

}  // namespace

void NonceOracle::sealed(const crypto::AeadKey& key, std::uint64_t counter) {
  ++seals_;
  Used& u = keys_[hash_of(key.view())];
  if (counter >= u.next) {
    for (; u.next < counter; ++u.next) u.gaps.insert(u.next);
    u.next = counter + 1;
  } else if (u.gaps.erase(counter) == 0) {
    ++reused_;
  }
}

std::unique_ptr<crypto::Aead> watched_aead(NonceOracle& oracle) {
  return std::make_unique<WatchedAead>(oracle);
}

Sizes sizes_of(const Node& n) {
  return {n.links().peers().size(),   n.links().dials().size(),         n.links().candidates(),
          n.sessions().size(),        n.sessions().half_open(),         n.coords().size(),
          n.identities().size(),      n.sessions().pending().packets(), n.routes().routes(),
          n.links().refusals().size()};
}

std::optional<std::string> check_bounds(const Node& n) {
  const Sizes s = sizes_of(n);
  const auto& c = n.config().node;
  const auto over = [](const char* what, std::size_t is, std::size_t may) -> std::optional<std::string> {
    if (is <= may) return std::nullopt;
    return std::string(what) + " " + std::to_string(is) + " of " + std::to_string(may);
  };
  if (auto e = over("peers", s.peers, c.limits.max_peers)) return e;
  if (auto e = over("dials", s.dials, c.limits.max_connections + s.peers)) return e;
  if (auto e = over("candidates", s.candidates, c.limits.max_pending_inbound + 4 * s.peers)) return e;
  if (auto e = over("coordinates", s.coords, c.cache.coord_size)) return e;
  if (auto e = over("identities", s.identities, c.cache.identity_size)) return e;
  if (auto e = over("half-open sessions", s.half_open, session::kMaxHalfOpen)) return e;
  if (auto e = over("sessions", s.sessions, session::kMaxSessions + session::kMaxHalfOpen)) return e;
  if (auto e = over("waiting packets", s.pending,
                    c.session.pending_packets_per_dest * c.session.pending_max_destinations))
    return e;
  if (auto e = over("routes", s.routes, 8192)) return e;
  return over("refusals", s.refusals, 64);
}

}  // namespace weft::sim
