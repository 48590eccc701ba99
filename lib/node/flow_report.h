/// How good links and sessions are: sends our reports in time, learns from the peers', and tells costs to the rest.
///
/// Thread   control thread only.
/// Source   docs/spec/mesh.md part 5; session.md 1.7, 1.8.
#pragma once

#include <map>

#include "base/deadlines.h"
#include "link/links.h"
#include "metrics/congestion.h"
#include "metrics/link_quality.h"
#include "metrics/path_mtu.h"
#include "metrics/schedule.h"
#include "session/sessions.h"
#include "tree/choose.h"

namespace weft {

class ReportFlow {
 public:
  struct Settings {
    MetricsMode link_mode = MetricsMode::full;
    MetricsMode session_mode = MetricsMode::full;
    CongestionRule congestion;
  };
  struct SessionQuality {
    LinkQuality quality;
    ReportSchedule schedule;
    PathMtuObserver seen;
    PathMtuLimit limit;
    Instant epoch_start;
    Instant quiet_until;  // no reports before: nothing but reports has been said for a while
  };

  ReportFlow(Settings settings, link::Links& links, session::Sessions& sessions, session::Surroundings& around,
             DropCounters& drops)
      : settings_(settings), links_(links), sessions_(sessions), around_(around), drops_(drops) {}

  void on_link_up(Now now, const link::Peer& peer);
  void on_link_down(LinkId link);
  void on_link_rekeyed(Now now, const link::Peer& peer);
  struct Heard {
    bool first_rtt = false;  // the peer has become measured: the tree should look again
    bool measured = false;   // its cost may have changed
  };
  Heard on_link_report(Now now, const link::Peer& peer, const PuntLinkMessage& in, Outbox& out);
  /// Kernel receive drops of any transport since the last call count as congestion of every link.
  void on_kernel_drops(std::uint64_t total, Outbox& out);

  void on_session_up(Now now, const NodeAddr& remote);
  void on_session_down(const NodeAddr& remote);
  void on_session_rekeyed(Now now, const NodeAddr& remote, Instant epoch_start);
  void on_session_message(Now now, const PuntSessionMessage& in, Outbox& out);
  /// An MtuExceeded on the way, or a first hop that carries less than was thought.
  void on_path_mtu_claim(Now now, const NodeAddr& remote, std::uint16_t mtu, Outbox& out);
  void on_path_mtu_seen(Now now, const NodeAddr& remote, std::uint16_t mtu, Outbox& out);
  /// What the link to a neighbour carries has changed: so has what sessions over it see.
  void on_link_mtu(Now now, LinkId link, Outbox& out);
  void on_path_gone(const NodeAddr& remote, Outbox& out);

  std::optional<Instant> deadline() const;
  void on_deadline(Now now, Outbox& out);

  /// 1.0 for a peer without a round trip yet.
  double cost(const NodeAddr& peer) const;
  /// Of measured peers only.
  LinkCosts costs() const;
  const LinkQuality* quality(LinkId link) const;
  const SessionQuality* session(const NodeAddr& remote) const;
  std::uint64_t mtu_below_floor() const { return mtu_below_floor_; }

 private:
  struct LinkState {
    NodeAddr peer;
    LinkQuality quality;
    ReportSchedule schedule;
    SendKeyRef key;  // of the current epoch: its counter is what the old one ended at when the next begins
  };
  void schedule_link(LinkId link, const LinkState& s);
  void schedule_session(const NodeAddr& remote, const SessionQuality& s);
  void session_due(Now now, const NodeAddr& remote, SessionQuality& s, Outbox& out);
  void follow_hop(const session::Hop& hop, const NodeAddr& remote, SessionQuality& s, Outbox& out);
  void apply_limit(const NodeAddr& remote, const SessionQuality& s, Outbox& out);

  Settings settings_;
  link::Links& links_;
  session::Sessions& sessions_;
  session::Surroundings& around_;
  DropCounters& drops_;
  std::map<LinkId, LinkState> by_link_;
  std::map<NodeAddr, LinkId> by_peer_;
  std::map<NodeAddr, SessionQuality> by_session_;
  Deadlines<LinkId> link_due_;
  Deadlines<NodeAddr> session_due_;
  DropWatch kernel_drops_;
  bool dropping_ = false;
  std::uint64_t mtu_below_floor_ = 0;
};

}  // namespace weft
