/// One probe: steps through the stages as the world lets it, and always ends.
///
/// Thorough  also pings, tries a full-size packet, and asks anew for a place that was known when the target does not
///           answer there. Otherwise as the reference probes: the target's reports measure the round trip.
/// Time      monotonic; step() at least every kLook while it runs. Each stage has a budget.
/// Thread    control thread. Cost: O(links) a step.
#pragma once

#include "probe/world.h"

namespace weft::probe {

struct Budgets {
  Duration filter = 2s;  // in the first seconds of a link its filter is still on the way
  Duration lookup = 17s;
  Duration session = 6s;
  Duration round_trip = 6s;  // an idle node reports every few seconds only
  Duration echo = 2500ms;    // of it
  Duration full_size = 8s;

  Duration total(bool thorough) const {
    return filter + lookup + session + round_trip + (thorough ? full_size : Duration{});
  }
};

class Probe {
 public:
  static constexpr Duration kLook = 20ms;

  Probe(const NodeAddr& target, bool thorough, const Budgets& budgets, std::uint16_t first_sequence, Now now);

  void step(Now now, World& world, Outbox& out);
  /// The lookup for the target ended.
  void on_lookup(bool answered) { (answered ? answered_ : unanswered_) = true; }
  void on_echo(std::uint16_t sequence, std::size_t size, Instant at);
  void cancel(Instant now);

  const Report& report() const { return r_; }
  bool finished() const { return r_.ended.has_value(); }
  /// Rises whenever the report says something new.
  std::uint64_t revision() const { return revision_; }

 private:
  /// True: the stage is over.
  bool filter();
  bool lookup(Now now, World& world, Outbox& out);
  bool path();
  bool session(Now now, World& world, Outbox& out);
  bool round_trip(Now now, World& world, Outbox& out);
  bool ping();
  bool full_size(Now now, World& world, Outbox& out);
  bool recheck(Now now, World& world, Outbox& out);
  /// What lookup and recheck share. nullopt: goes on; else how it ended, none: well.
  std::optional<Reason> ask_place(Now now, World& world, Outbox& out);
  /// False: there is no stage after this one.
  bool advance();
  bool next_size(Now now, World& world, Outbox& out);

  void observe(Now now, World& world);
  bool end(Verdict v, Reason why = Reason::none);
  bool fail_and_stop(Reason why);
  void conclude(Instant now);
  bool over(Duration budget) const { return now_ - began_ >= budget; }
  void send_echo(Now now, World& world, std::size_t size, Outbox& out);

  struct Echo {
    std::uint16_t sequence = 0;
    std::size_t size = 0;
    Instant sent;
  };

  Report r_;
  Budgets budgets_;
  Stage stage_ = Stage::filter;
  Instant now_;
  Instant began_;  // of the stage
  bool started_ = false;
  bool stopped_ = false;
  bool answered_ = false, unanswered_ = false;
  std::vector<Echo> echoes_;  // unanswered, oldest first
  std::uint16_t next_sequence_;
  Instant last_sent_;
  Instant warmed_at_;
  std::size_t fails_above_ = 0;  // no packet of this size came back
  unsigned tries_ = 0;           // of the size under test
  std::size_t trying_ = 0;
  std::uint64_t revision_ = 1;
};

}  // namespace weft::probe
