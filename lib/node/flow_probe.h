/// Why does a node not answer: runs the probes of lib/probe on what the other flows know and do.
///
/// Thread   control thread only.
#pragma once

#include "node/flow_session.h"
#include "probe/probes.h"

namespace weft {

class ProbeFlow final : probe::World {
 public:
  ProbeFlow(const crypto::Identity& self, std::vector<Duration> lookup_attempts, Rng& rng,
            LookupFlow& lookups, RouteFlow& routes, SessionFlow& sessions, ReportFlow& reports);

  /// Errors: a sentence.
  Result<std::uint64_t, std::string> start(Now now, const PublicKey& key, bool thorough, Outbox& out);
  const probe::Probes& jobs() const { return probes_; }
  probe::Probes& jobs() { return probes_; }
  const std::vector<Duration>& lookup_attempts() const { return attempts_; }

  void on_lookups(const LookupFlow::Results& results);
  void on_echo(const PuntEcho& in) { probes_.on_echo(in.remote, in.sequence, in.size, in.at); }
  std::optional<Instant> deadline() const { return probes_.deadline(); }
  void on_deadline(Now now, Outbox& out);

  /// Begins the data of our echo requests; drawn once, never 0.
  std::uint64_t echo_mark() const { return mark_; }
  void set_transport_mtu(std::uint16_t mtu) { transport_mtu_ = mtu; }

 private:
  // probe::World
  std::size_t links() const override { return routes_.links().peers().size(); }
  const Path& own_path() const override { return routes_.own_path(); }
  bool is_neighbour(const NodeAddr& target) const override { return routes_.links().find(target) != nullptr; }
  std::vector<probe::Claim> claims(const NodeAddr& target) const override;
  std::optional<probe::Coords> coords(Instant now, const NodeAddr& target) const override;
  std::optional<probe::Hop> next_hop(Instant now, const NodeAddr& target) override;
  probe::LookupState lookup(const NodeAddr& target) const override;
  std::optional<probe::Session> session(const NodeAddr& target) const override;
  std::vector<probe::Signal> signals(const NodeAddr& target, Instant since) const override;
  std::size_t largest_packet(const NodeAddr& target) override;
  probe::Reason start_lookup(Now now, const NodeAddr& target, Outbox& out) override;
  Result<void, Drop> open_session(Now now, const NodeAddr& target, Outbox& out) override;
  bool send_warmup(Now now, const NodeAddr& target, Outbox& out) override;
  void send_echo(Now now, const NodeAddr& target, std::uint16_t sequence, std::size_t size,
                 Outbox& out) override;

  const crypto::Identity& self_;
  std::vector<Duration> attempts_;
  LookupFlow& lookups_;
  RouteFlow& routes_;
  SessionFlow& sessions_;
  ReportFlow& reports_;
  std::uint64_t mark_;
  std::uint16_t transport_mtu_ = 1280;
  Instant now_{};  // of the turn under way
  probe::Probes probes_;
};

}  // namespace weft
