#include "probe/probes.h"

#include <algorithm>

namespace weft::probe {

Result<std::uint64_t, std::string> Probes::start(const NodeAddr& target, const PublicKey& key, bool thorough,
                                                 Now now, World& world, Outbox& out) {
  if (running() >= kMostRunning) return bad(std::string("too many probes in flight"));
  if (jobs_.size() >= kMostKept)
    for (auto it = jobs_.begin(); it != jobs_.end(); ++it)
      if (it->second.probe.finished()) {
        jobs_.erase(it);
        break;
      }
  const auto id = next_id_++;
  // Echoes of two probes of one target must not be taken for one another; none sends 256.
  const auto sequence = static_cast<std::uint16_t>(id << 8U);
  Job& job = jobs_.emplace(id, Job{key, Probe(target, thorough, budgets_, sequence, now)}).first->second;
  job.probe.step(now, world, out);
  looked_ = now.mono;
  return id;
}

const Probes::Job* Probes::find(std::uint64_t id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

bool Probes::cancel(std::uint64_t id, Instant now) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return false;
  it->second.probe.cancel(now);
  return true;
}

std::size_t Probes::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [](const auto& j) { return !j.second.probe.finished(); }));
}

void Probes::on_lookup(const NodeAddr& target, bool answered) {
  for (auto& [id, job] : jobs_)
    if (job.probe.report().target == target) job.probe.on_lookup(answered);
}

void Probes::on_echo(const NodeAddr& remote, std::uint16_t sequence, std::size_t size, Instant at) {
  for (auto& [id, job] : jobs_)
    if (job.probe.report().target == remote) job.probe.on_echo(sequence, size, at);
}

std::optional<Instant> Probes::deadline() const {
  std::optional<Instant> next;
  for (const auto& [id, job] : jobs_) {
    const auto& ended = job.probe.report().ended;
    const Instant at = ended ? *ended + kKept : looked_ + Probe::kLook;
    if (!next || at < *next) next = at;
  }
  return next;
}

void Probes::on_deadline(Now now, World& world, Outbox& out) {
  looked_ = now.mono;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    it->second.probe.step(now, world, out);
    const auto& ended = it->second.probe.report().ended;
    it = ended && now.mono - *ended >= kKept ? jobs_.erase(it) : std::next(it);
  }
}

}  // namespace weft::probe
