/// The probes under way, and those just ended.
///
/// Bounds  kMostRunning at once; a finished one goes with the look that sees it finished, or after kKept.
/// Time    monotonic; wake at deadline().
/// Thread  control thread.
#pragma once

#include <map>

#include "probe/probe.h"

namespace weft::probe {

class Probes {
 public:
  static constexpr std::size_t kMostRunning = 4;
  static constexpr std::size_t kMostKept = 64;
  static constexpr Duration kKept = 30s;

  struct Job {
    PublicKey key;
    Probe probe;
  };

  explicit Probes(const Budgets& budgets) : budgets_(budgets) {}

  /// Errors: a sentence.
  Result<std::uint64_t, std::string> start(const NodeAddr& target, const PublicKey& key, bool thorough,
                                           Now now, World& world, Outbox& out);
  const Budgets& budgets() const { return budgets_; }
  const Job* find(std::uint64_t id) const;
  /// False: no such probe.
  bool cancel(std::uint64_t id, Instant now);
  void forget(std::uint64_t id) { jobs_.erase(id); }

  bool idle() const { return jobs_.empty(); }
  std::size_t running() const;
  void on_lookup(const NodeAddr& target, bool answered);
  void on_echo(const NodeAddr& remote, std::uint16_t sequence, std::size_t size, Instant at);
  std::optional<Instant> deadline() const;
  void on_deadline(Now now, World& world, Outbox& out);

 private:
  Budgets budgets_;
  std::map<std::uint64_t, Job> jobs_;
  std::uint64_t next_id_ = 1;
  Instant looked_;
};

}  // namespace weft::probe
