/// Which neighbours we want, and the patience to get them: every address at once, again after every kind of loss, for
/// ever, with growing pauses and jitter; at once when the network changed.
///
/// Thread   control thread only.
/// Source   docs/spec/link.md sections 9.1, 10.4.
#pragma once

#include "link/links.h"

namespace weft::link {

/// A neighbour as the configuration, or the operator at run time, names it.
struct Wanted {
  PublicKey key;
  std::string alias;
  std::vector<config::PeerAddress> addresses;
  bool auto_connect = true;
  bool auto_reconnect = true;
  bool kept = false;  // added at run time, kept in a file of its own
};

struct Backoff {
  Duration base = 5s;
  Duration cap = 300s;
};

class Peering {
 public:
  Peering(Links& links, Backoff backoff, Rng& rng, Log& log) : links_(links), backoff_(backoff), rng_(rng), log_(log) {}

  /// Replaces the list; what stays keeps its state, what left is no longer dialled, what is new is dialled now.
  void set(Now now, std::vector<Wanted> wanted, Outbox& out);
  void add(Now now, Wanted wanted, Outbox& out);
  bool remove(const PublicKey& key);

  void on_resolved(Now now, std::uint64_t ticket, const std::vector<Endpoint>& endpoints, const std::string& error,
                   Outbox& out);
  void on_up(const PublicKey& key);
  void on_down(Now now, const PublicKey& key, End why);
  void on_dial_ended(Now now, const PublicKey& key, const Endpoint& to, End why);
  /// Every neighbour that is not up is dialled now, with short pauses again.
  void on_network_change(Now now);
  void stop() { stopped_ = true; }

  std::optional<Instant> deadline() const { return stopped_ ? std::nullopt : due_.next(); }
  void on_deadline(Now now, Outbox& out);

  struct State {
    Wanted want;
    std::uint32_t failures = 0;          // since the last success
    std::optional<Instant> last_try;
    bool up = false;
    std::string trouble;                 // what this side knows for certain; empty when there is only silence
    std::vector<Endpoint> endpoints;     // as last resolved
  };
  const std::map<PublicKey, State>& wanted() const { return wanted_; }
  std::optional<Instant> next_try(const PublicKey& key) const { return due_.at(key); }

  /// The transport instance that carries `address` to `to`; nullopt when none is up for that kind, name and family.
  std::optional<TransportId> transport_for(std::string_view kind, std::optional<std::string_view> name,
                                           const Endpoint& to) const;

 private:
  void dial_all(Now now, const PublicKey& key, State& s, Outbox& out);
  void dial_one(Now now, State& s, const config::PeerAddress& a, const Endpoint& to, Outbox& out);
  void later(Now now, const PublicKey& key, State& s);

  Links& links_;
  Backoff backoff_;
  Rng& rng_;
  Log& log_;
  std::map<PublicKey, State> wanted_;
  struct Ticket {
    PublicKey key;
    config::PeerAddress address;
    std::uint16_t port = 0;
  };
  std::map<std::uint64_t, Ticket> tickets_;
  Deadlines<PublicKey> due_;
  std::uint64_t next_ticket_ = 1;
  bool stopped_ = false;
};

}  // namespace weft::link
