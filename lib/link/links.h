/// All links of this node and all handshakes that may become one.
///
/// Thread   control thread only.
/// Errors   every refusal is counted in the DropCounters handed in, and kept in refusals() when it names a cause.
/// Time     `now.mono` never decreases. Call on_deadline() at deadline() or later; early and late calls are harmless.
/// Source   docs/spec/link.md sections 8 to 11.
#pragma once

#include <deque>
#include <set>

#include "base/deadlines.h"
#include "base/log.h"
#include "base/lru.h"
#include "link/admission.h"
#include "seam/punt.h"

namespace weft::link {

class Links {
 public:
  Links(Settings settings, const crypto::Identity& self, StartupEpoch epoch, Rng& rng, Log& log, DropCounters& drops,
        AclCheck acl);

  void set_transports(std::vector<Transport> transports) { transports_ = std::move(transports); }
  const std::vector<Transport>& transports() const { return transports_; }
  const Transport* transport(TransportId id) const;
  /// Of the transports that are up, in bytes; 0 when none is.
  std::uint16_t smallest_mtu() const;

  /// Begins a handshake. A dial to a live peer tries another path and ends as a rekey.
  /// Errors: a sentence for a person.
  Result<LinkId, std::string> dial(Now now, const PublicKey& key, TransportId transport, const Endpoint& to, Outbox& out);
  bool is_dialling(const PublicKey& key) const;

  void on_handshake(Now now, const PuntHandshake& in, Outbox& out);
  void on_proven(Now now, const PuntLinkProven& in, Outbox& out);
  void on_moved(Now now, const PuntMoved& in, Outbox& out);
  /// The far side said goodbye: its state for us is gone.
  void on_disconnect(Now now, LinkId link, wire::DisconnectReason reason, Outbox& out);

  /// What this link carries, as was found out.
  void set_mtu(LinkId link, std::uint16_t mtu, Outbox& out);
  /// The far side is weft.
  void on_hello(Now now, LinkId link, const wire::Hello& hello, Outbox& out);

  /// Ends a link from this side, telling the far one. False: no such peer.
  bool disconnect(Now now, const NodeAddr& addr, wire::DisconnectReason reason, End why, Outbox& out);
  /// Marks transit frames over this link CE, or no longer.
  void set_congested(LinkId link, bool congested, Outbox& out);
  /// Addresses or routes changed, or this machine slept: ask every link for a sign of life before judging it.
  void on_network_change(Now now, Outbox& out);
  /// Says goodbye to everybody and takes no more handshakes.
  void drain(Now now, Outbox& out);

  std::optional<Instant> deadline() const { return due_.next(); }
  void on_deadline(Now now, Outbox& out);

  std::vector<Event> take_events() { return std::exchange(events_, {}); }

  const std::map<NodeAddr, Peer>& peers() const { return peers_; }
  const Peer* find(const NodeAddr& addr) const;
  const Peer* find(LinkId link) const;
  const std::map<SessionIndex, Dial>& dials() const { return dials_; }
  bool rekeying(const NodeAddr& addr) const { return rekeys_.contains(addr); }
  const std::deque<Refusal>& refusals() const { return refusals_; }
  std::size_t candidates() const { return candidates_.size(); }
  /// Handshakes of others that we answered and that are not proven yet; rekeys of live peers among them.
  const std::map<SessionIndex, Candidate>& pending_inbound() const { return candidates_; }
  const Settings& settings() const { return settings_; }

 private:
  enum class Timer : std::uint8_t { dial_resend, dial_timeout, candidate, heartbeat, silence, drain, rekey, judge, hello };
  /// What every dial to, and candidate of, a node that is no peer yet shares: whichever handshake comes first, the link
  /// is the same one, and later ones can take it over.
  struct Prospect {
    LinkId link;
    WorkerId home;
    std::shared_ptr<LinkStats> stats;
  };
  using Key = std::pair<Timer, std::uint64_t>;  // id: session index of dials and candidates, LinkId of peers

  // links.cpp
  std::optional<SessionIndex> new_index(WorkerId home);
  WorkerId pick_home();
  const Prospect& prospect(const NodeAddr& addr);
  void forget_prospect(const NodeAddr& addr);
  Result<SessionIndex, std::string> start_dial(Now now, const PublicKey& key, TransportId transport, const Endpoint& to,
                                               LinkId link, WorkerId home, bool is_rekey, Outbox& out);
  void resend(Now now, SessionIndex index, Outbox& out);
  void end_dial(SessionIndex index);
  void refuse(Now now, Drop why, const Endpoint& from, const PublicKey* who, std::string rule = {});

  // handshake.cpp
  void on_msg1(Now now, const PuntHandshake& in, Outbox& out);
  bool may_become_candidate(Now now, const PuntHandshake& in, const crypto::IkResponder& hs, Peer* peer);
  void make_candidate(Now now, const PuntHandshake& in, SessionIndex theirs, const crypto::IkResponder& hs, Peer* peer,
                      Outbox& out);
  void on_msg2(Now now, const PuntHandshake& in, Outbox& out);
  void finish_dial(Now now, Dial dial, SessionIndex theirs, crypto::HandshakeKeys keys, const Endpoint& from, Outbox& out);
  void drop_candidate(SessionIndex index, Outbox& out);
  bool known_source(TransportId t, const Endpoint& from) const;

  // rekey.cpp
  /// Added to rekey_after, so that two sides which came up together do not cross each time.
  Duration new_jitter();
  void start_rekey(Now now, Peer& peer, Outbox& out);
  void consider_rekey(Now now, Peer& peer, Outbox& out);
  void rekey_unanswered(Now now, Peer& peer, Outbox& out);
  void cutover(Now now, Peer& peer, Epoch next, bool k, Outbox& out);
  bool loses_crossing(const Peer& peer, const Candidate& c) const;

  // hello.cpp
  void ask_hello(Now now, Peer& peer, Outbox& out);
  void say_hello(const Peer& peer, bool answer, Outbox& out) const;

  // life.cpp
  Peer& promote(Now now, Peer fresh, Outbox& out);
  void remove(Now now, Peer& peer, End why, Outbox& out);
  void install(const Peer& peer, Outbox& out) const;
  /// Another way to the same peer; another transport's configured MTU comes with it.
  void move(Peer& peer, TransportId t, const Endpoint& to) const;
  void say(const Peer& peer, Buffer message, Outbox& out) const;
  void heartbeat(Now now, Peer& peer, Outbox& out);
  void check_silence(Now now, Peer& peer, Outbox& out);
  void check_network(Now now, Peer& peer, Outbox& out);
  Peer* peer_of(LinkId link);

  Settings settings_;
  const crypto::Identity& self_;
  StartupEpoch epoch_;
  Rng& rng_;
  Log& log_;
  DropCounters& drops_;
  AclCheck acl_;
  std::vector<Transport> transports_;
  Admission admission_;

  std::map<NodeAddr, Peer> peers_;
  std::map<LinkId, NodeAddr> by_link_;
  std::map<NodeAddr, Prospect> prospects_;
  std::map<SessionIndex, Dial> dials_;
  std::map<NodeAddr, SessionIndex> rekeys_;  // the dial that rekeys this peer
  std::map<SessionIndex, Candidate> candidates_;
  std::set<SessionIndex> used_;              // every index that a frame may still name
  /// Answers given, by the ephemeral key of the question: an identical message 1 costs no cryptography.
  struct Answer {
    Buffer question, answer;
    SessionIndex ours;
  };
  Lru<PublicKey, Answer> answers_{1024};
  Deadlines<Key> due_;
  std::vector<Event> events_;
  std::deque<Refusal> refusals_;
  std::uint64_t next_link_ = 1;
  std::uint64_t next_epoch_ = 1;
  std::uint32_t next_home_ = 0;
  bool draining_ = false;
};

}  // namespace weft::link
