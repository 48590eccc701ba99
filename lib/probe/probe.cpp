#include "probe/probe.h"

#include <algorithm>

namespace weft::probe {
namespace {

constexpr std::size_t kSmallPacket = 104;  // what `ping` sends
constexpr Duration kEchoEvery = 500ms;
constexpr Duration kWarmAgain = 1s;
constexpr unsigned kTriesPerSize = 2;
constexpr std::size_t kCloseEnough = 16;  // bytes between what passes and what does not
constexpr std::size_t kMostEchoes = 64;

Duration patience_for(const std::optional<Duration>& rtt) {
  return std::clamp<Duration>(rtt ? *rtt * 3 + 200ms : 700ms, 300ms, 1500ms);
}

}  // namespace

Probe::Probe(const NodeAddr& target, bool thorough, const Budgets& budgets, std::uint16_t first_sequence,
             Now now)
    : budgets_(budgets), now_(now.mono), began_(now.mono), next_sequence_(first_sequence) {
  r_.target = target;
  r_.thorough = thorough;
  r_.started = now.mono;
}

void Probe::step(Now now, World& world, Outbox& out) {
  if (finished()) return;
  now_ = now.mono;
  observe(now, world);
  while (!finished()) {
    Record& record = r_.at(stage_);
    if (record.verdict == Verdict::pending) {
      record.verdict = Verdict::running;
      began_ = now_;
      started_ = false;
      ++revision_;
    }
    const auto over_now = [&] {
      switch (stage_) {
        case Stage::filter:
          return filter();
        case Stage::lookup:
          return lookup(now, world, out);
        case Stage::path:
          return path();
        case Stage::session:
          return session(now, world, out);
        case Stage::round_trip:
          return round_trip(now, world, out);
        case Stage::ping:
          return ping();
        case Stage::full_size:
          return full_size(now, world, out);
        case Stage::recheck:
          return recheck(now, world, out);
      }
      return true;
    }();
    if (!over_now) return;
    if (!advance()) return conclude(now_);
  }
}

bool Probe::advance() {
  if (stage_ == Stage::recheck) return false;
  const bool known_place = r_.thorough && r_.coords_were_cached;
  const bool silent = stopped_ || r_.at(Stage::round_trip).verdict == Verdict::failed;
  if (stopped_ || stage_ == Stage::full_size) {
    stage_ = Stage::recheck;
    return known_place && silent;
  }
  stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
  return true;
}

void Probe::observe(Now now, World& world) {
  const auto refresh = [&](auto& have, auto&& fresh) {
    if (have == fresh) return;
    have = std::forward<decltype(fresh)>(fresh);
    ++revision_;
  };
  r_.links = world.links();
  r_.own_path = world.own_path();
  r_.is_neighbour = world.is_neighbour(r_.target);
  if (!started_ && stage_ == Stage::filter)
    r_.coords_were_cached = world.coords(now.mono, r_.target).has_value();
  if (stage_ <= Stage::lookup || stage_ == Stage::recheck) refresh(r_.claims, world.claims(r_.target));
  // What was good is kept when it goes: the report says what this probe saw.
  if (auto c = world.coords(now.mono, r_.target)) r_.coords = std::move(c);
  if (auto h = world.next_hop(now.mono, r_.target)) refresh(r_.next_hop, std::move(h));
  if (const auto s = world.session(r_.target)) r_.session = *s;
  if (auto s = world.signals(r_.target, r_.started); s.size() != r_.signals.size()) {
    r_.signals = std::move(s);
    ++revision_;
  }
}

bool Probe::end(Verdict v, Reason why) {
  Record& record = r_.at(stage_);
  record.verdict = v;
  record.reason = why;
  record.elapsed = now_ - began_;
  ++revision_;
  return true;
}

bool Probe::fail_and_stop(Reason why) {
  stopped_ = true;
  return end(Verdict::failed, why);
}

// ---- where is it ----------------------------------------------------------------------------------------------------

bool Probe::filter() {
  started_ = true;
  if (r_.is_neighbour) return end(Verdict::skipped, Reason::direct_peer);
  if (r_.coords_were_cached) return end(Verdict::skipped, Reason::cached);
  if (!r_.claims.empty()) return end(Verdict::ok);
  if (r_.links == 0) return fail_and_stop(Reason::no_links);
  return over(budgets_.filter) && fail_and_stop(Reason::bloom_miss);
}

bool Probe::lookup(Now now, World& world, Outbox& out) {
  const Record& before = r_.at(Stage::filter);
  if (before.verdict == Verdict::skipped) return end(Verdict::skipped, before.reason);
  const auto how = ask_place(now, world, out);
  if (!how) return false;
  return *how == Reason::none ? end(Verdict::ok) : fail_and_stop(*how);
}

bool Probe::recheck(Now now, World& world, Outbox& out) {
  if (r_.is_neighbour) return end(Verdict::skipped, Reason::direct_peer);
  if (!started_ && r_.claims.empty()) return end(Verdict::failed, Reason::bloom_miss);
  const auto how = ask_place(now, world, out);
  return how && end(*how == Reason::none ? Verdict::ok : Verdict::failed, *how);
}

std::optional<Reason> Probe::ask_place(Now now, World& world, Outbox& out) {
  if (!started_) {
    started_ = true;
    answered_ = unanswered_ = false;
    if (const Reason no = world.start_lookup(now, r_.target, out); no != Reason::none) return no;
    r_.lookup_issued = true;
    r_.attempts = 1;
    const auto tree = std::ranges::count_if(r_.claims, [](const Claim& c) { return c.tree_peer; });
    r_.fanout = tree > 0 ? static_cast<std::size_t>(tree) : r_.claims.size();
    ++revision_;
  }
  if (const auto state = world.lookup(r_.target); state.attempt > r_.attempts) {
    r_.attempts = state.attempt;
    ++revision_;
  }
  if (answered_) {
    r_.lookup_took = now_ - began_;
    return Reason::none;
  }
  if (unanswered_ || over(budgets_.lookup)) return Reason::bloom_unconfirmed;
  return std::nullopt;
}

bool Probe::path() {
  if (r_.next_hop) return end(Verdict::ok);
  if (!r_.coords) return end(Verdict::failed, Reason::no_coords);
  const bool same_root = !r_.own_path.empty() && r_.coords->path.back() == r_.own_path.back();
  return end(Verdict::failed, same_root ? Reason::no_next_hop : Reason::disjoint_trees);
}

// ---- does it answer -------------------------------------------------------------------------------------------------

bool Probe::session(Now now, World& world, Outbox& out) {
  const auto s = world.session(r_.target);
  if (!started_) {
    started_ = true;
    if (s && s->established) {
      r_.session_preexisting = true;
      return end(Verdict::skipped, Reason::preexisting);
    }
    if (const auto opened = world.open_session(now, r_.target, out); !opened) {
      r_.at(stage_).detail = text_of(opened.error());
      return fail_and_stop(Reason::send_error);
    }
    return false;
  }
  if (s && s->established) return end(Verdict::ok);
  return over(budgets_.session) && fail_and_stop(Reason::handshake_timeout);
}

bool Probe::round_trip(Now now, World& world, Outbox& out) {
  if (!started_) {
    started_ = true;
    r_.before = r_.session.trips;
    warmed_at_ = now_;
    if (world.send_warmup(now, r_.target, out)) ++r_.warmups;
    if (r_.thorough) send_echo(now, world, kSmallPacket, out);
    return false;
  }
  const auto& t = r_.session.trips;
  const auto reports = grown(t.reports, r_.before.reports);
  const bool echoing = r_.thorough && !over(budgets_.echo);
  if (r_.rtt_by_echo) return end(Verdict::ok);
  if (grown(t.samples, r_.before.samples) > 0 && !r_.rtt) r_.rtt = t.last;
  if (r_.rtt && !echoing) return end(Verdict::ok);
  if (echoing && now_ - last_sent_ >= kEchoEvery) send_echo(now, world, kSmallPacket, out);
  if (reports == 0 && r_.warmups < 2 && now_ - warmed_at_ >= kWarmAgain) {
    warmed_at_ = now_;
    if (world.send_warmup(now, r_.target, out)) ++r_.warmups;
  }
  if (!over(budgets_.round_trip)) return false;
  const bool impossible = grown(t.impossible, r_.before.impossible) > 0;
  return end(Verdict::failed, impossible    ? Reason::bad_timestamp_echo
                              : reports > 0 ? Reason::no_echo
                                            : Reason::no_report);
}

bool Probe::ping() {
  if (!r_.thorough) return end(Verdict::skipped, Reason::not_asked);
  if (r_.at(Stage::round_trip).verdict != Verdict::ok) return end(Verdict::skipped, Reason::not_reached);
  return r_.rtt_by_echo ? end(Verdict::ok) : end(Verdict::failed, Reason::ip_silent);
}

bool Probe::full_size(Now now, World& world, Outbox& out) {
  if (!r_.thorough) return end(Verdict::skipped, Reason::not_asked);
  if (!r_.rtt_by_echo) return end(Verdict::skipped, Reason::not_reached);
  const std::size_t full = world.largest_packet(r_.target);
  if (!started_ || full < r_.full_size) {  // the path turned out to take less while we were trying
    started_ = true;
    r_.full_size = full;
    fails_above_ = full + 1;
    trying_ = 0;
    echoes_.clear();
    if (full <= r_.largest_passed) return end(Verdict::ok);
  }
  if (r_.largest_passed >= r_.full_size) return end(Verdict::ok);
  if (trying_ != 0 && r_.largest_passed < trying_ && now_ - last_sent_ < patience_for(r_.rtt)) return false;
  if (over(budgets_.full_size) || !next_size(now, world, out))
    return end(Verdict::failed, Reason::too_big_lost);
  return false;
}

/// Full size first; then halves the span between what passes and what does not. False: as close as we look.
bool Probe::next_size(Now now, World& world, Outbox& out) {
  const bool lost = trying_ != 0 && r_.largest_passed < trying_;
  if (lost && tries_ < kTriesPerSize) {
    ++tries_;
    send_echo(now, world, trying_, out);
    return true;
  }
  if (lost) fails_above_ = trying_;
  const std::size_t known = std::max(r_.largest_passed, kSmallPacket);
  if (trying_ == 0) trying_ = r_.full_size;
  else if (fails_above_ <= known + kCloseEnough) return false;
  else trying_ = known + (fails_above_ - known) / 2;
  tries_ = 1;
  send_echo(now, world, trying_, out);
  return true;
}

void Probe::send_echo(Now now, World& world, std::size_t size, Outbox& out) {
  if (echoes_.size() >= kMostEchoes) echoes_.erase(echoes_.begin());
  echoes_.push_back({next_sequence_, size, now.mono});
  last_sent_ = now.mono;
  ++r_.echoes_sent;
  world.send_echo(now, r_.target, next_sequence_++, size, out);
}

void Probe::on_echo(std::uint16_t sequence, std::size_t size, Instant at) {
  if (finished()) return;
  const auto it = std::ranges::find(echoes_, sequence, &Echo::sequence);
  if (it == echoes_.end() || size < it->size) return;
  if (!r_.rtt_by_echo) r_.rtt = at - it->sent;
  r_.rtt_by_echo = true;
  r_.largest_passed = std::max(r_.largest_passed, it->size);
  echoes_.erase(it);
  ++revision_;
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Probe::cancel(Instant now) {
  if (finished()) return;
  r_.overall = Overall::cancelled;
  if (r_.at(stage_).verdict == Verdict::running) r_.at(stage_).verdict = Verdict::pending;
  r_.ended = now;
  ++revision_;
}

void Probe::conclude(Instant now) {
  for (auto& record : r_.stages)
    if (record.verdict == Verdict::pending)
      record = {Verdict::skipped, Reason::not_reached, {}, std::nullopt};
  if (Record& last = r_.at(Stage::recheck); last.reason == Reason::not_reached)
    last.reason = Reason::not_asked;
  const auto verdict = [&](Stage s) { return r_.at(s).verdict; };
  if (verdict(Stage::round_trip) == Verdict::ok) {
    const bool all = verdict(Stage::ping) != Verdict::failed && verdict(Stage::full_size) != Verdict::failed;
    r_.overall = all ? Overall::ok : Overall::partial;
  } else if (verdict(Stage::filter) == Verdict::failed || verdict(Stage::lookup) == Verdict::failed ||
             verdict(Stage::session) == Verdict::failed || verdict(Stage::recheck) == Verdict::failed) {
    r_.overall = Overall::failed;
  } else {
    r_.overall = Overall::partial;
  }
  r_.ended = now;
  ++revision_;
}

}  // namespace weft::probe
