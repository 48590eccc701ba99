/// All end-to-end sessions of this node: handshakes, rekeys, coordinates warm-up, and packets that wait.
///
/// Keys      leave for the workers as soon as both sides have them: AddSessionRecv to the session's home (one
///           worker for its life), SetSession to all at cutover. A receiving half is always on its way before
///           the message goes out that lets the peer use it.
/// Inputs    decoded here from whole session payloads, so that hostile bytes meet one door. The node has
///           already taken note of coordinates that a handshake carries (as any node in passing does).
/// Effects   go to `out` in order; what the node must know goes to take_events().
/// Errors    a refusal is returned and changes nothing, except that the limiter's token is spent.
/// Time      monotonic. deadline() is exact: nothing happens between deadlines and inputs.
/// Thread    control thread. Cost: O(log sessions) plus the curve operations of a handshake.
/// Source    docs/spec/session.md sections 1.1-1.6.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/deadlines.h"
#include "base/drop.h"
#include "base/result.h"
#include "base/rng.h"
#include "crypto/identity.h"
#include "crypto/noise.h"
#include "seam/outbox.h"
#include "seam/punt.h"
#include "session/admission.h"
#include "session/events.h"
#include "session/pending.h"
#include "session/settings.h"
#include "session/surroundings.h"

namespace weft::wire {
struct SessionSetup;
}

namespace weft::session {

struct Peer;      // one remote node; defined in session/peer.h
struct Epoch;     // keys in use or about to be
struct Question;  // a setup of ours in flight
struct Answer;    // a setup of theirs that we answered

enum class State : std::uint8_t { initiating, awaiting_msg3, established };

/// A session as operators see it.
struct View {
  NodeAddr remote;
  State state = State::initiating;
  bool is_initiator = false;
  std::optional<PublicKey> key;  // unknown while awaiting_msg3
  Instant created;               // of the session, not of its epoch
  Instant epoch_start;           // zero of the inner timestamps; established only
  Instant last_activity;         // DataPacket sent or received, else when it came up
  bool current_k_bit = false;
  bool is_draining = false;
  bool rekey_in_progress = false;
  std::uint32_t warmup_remaining = 0;
  unsigned resend_count = 0;
  std::uint16_t path_mtu = 65535;  // as the workers know it; 65535: unknown
  WorkerId home;
  std::shared_ptr<SessionStats> stats;  // null before established
};

class Sessions {
 public:
  /// `self`, `around` and `rng` must outlive this.
  Sessions(const crypto::Identity& self, const StartupEpoch& epoch, const Settings& settings,
           Surroundings& around, Rng& rng);
  ~Sessions();

  // ---- local wishes ----

  /// Begins a session unless one is up or being asked for. Errors: own_source, no_route, setup_table_full,
  /// bad_point; nothing is kept then.
  Result<void, Drop> open(Instant now, const NodeAddr& remote, const PublicKey& key, Outbox& out);
  /// Holds an IPv6 packet until there is a session and a next hop; hands it back to the workers at once when
  /// there are. Errors: pending_overflow (the oldest packet to this destination, or this packet, is gone).
  Result<void, Drop> queue_packet(Instant now, const NodeAddr& remote, Buffer packet, Outbox& out);
  /// Coordinates of `remote` were found: opens the session that packets wait for, asks again with better
  /// coordinates, or lets an established one send. Errors: as open().
  Result<void, Drop> lookup_succeeded(Instant now, const NodeAddr& remote, const PublicKey& key, Outbox& out);
  /// No lookup goes on for `remote`: waiting packets come back as Unreachable.
  void lookup_failed(const NodeAddr& remote);
  /// Sends our coordinates and nothing else, which has the other side report soon. False: not established, or no way.
  bool send_coords(Instant now, const NodeAddr& remote, Outbox& out);
  /// A next hop to `remote` appeared: waiting packets of an established session go.
  void route_appeared(Instant now, const NodeAddr& remote, Outbox& out);
  /// The link to this very node is gone, so its session is too. Waiting packets stay.
  void remove(const NodeAddr& remote, Outbox& out);

  // ---- from the mesh; `via` is the authenticated link peer that handed the datagram over ----

  Result<void, Drop> on_setup(Instant now, const NodeAddr& src, const NodeAddr& via, Bytes payload,
                              Outbox& out);
  Result<void, Drop> on_ack(Instant now, const NodeAddr& src, Bytes payload, Outbox& out);
  Result<void, Drop> on_msg3(Instant now, const NodeAddr& src, Bytes payload, Outbox& out);
  /// A route error (phase 0, flag U). `src` is the datagram's source.
  Result<void, Drop> on_signal(Instant now, const NodeAddr& src, Bytes payload, Outbox& out);
  /// The first authentic frame of an epoch was opened by its home.
  Result<void, Drop> on_proven(Instant now, const PuntSessionProven& p, Outbox& out);

  // ---- surroundings changed ----

  /// What the workers may send in one frame; 65535 = unknown. No effect without an established session.
  void set_path_mtu(const NodeAddr& remote, std::uint16_t mtu, Outbox& out);
  /// Our own coordinates changed: sessions that still carry them get the new ones.
  void own_path_changed(Outbox& out);
  void coords_changed(const NodeAddr& remote, Outbox& out);

  // ---- time ----

  std::optional<Instant> deadline() const;
  void on_deadline(Instant now, Outbox& out);

  // ---- looking ----

  std::vector<Event> take_events() { return std::exchange(events_, {}); }
  std::optional<View> view(const NodeAddr& remote) const;
  /// By address.
  void for_each(const std::function<void(const View&)>& f) const;
  /// There are keys and the workers have them.
  bool established(const NodeAddr& remote) const;
  std::size_t size() const;
  std::size_t half_open() const { return half_open_; }
  const Pending& pending() const { return pending_; }

 private:
  using Table = std::map<NodeAddr, std::unique_ptr<Peer>>;

  // handshake.cpp
  Result<void, Drop> ask(Instant now, Peer& p, const PublicKey& key, Outbox& out);
  bool send_setup(Instant now, const Peer& p, Outbox& out);
  Result<void, Drop> answer(Instant now, Peer& p, const NodeAddr& via, const wire::SessionSetup& setup,
                            Outbox& out);
  Result<void, Drop> make_room(const NodeAddr& src, const NodeAddr& via);
  Result<void, Drop> repeat_msg3(Instant now, Peer& p, Epoch& e, Outbox& out);
  Result<void, Drop> reassure(Instant now, Peer& p, Outbox& out);
  void forget_answers(Peer& p);

  // epochs.cpp
  void install(Instant now, Peer& p, std::unique_ptr<Epoch> e, crypto::HandshakeKeys keys, Outbox& out);
  void come_up(Instant now, Peer& p, Outbox& out);
  void settle(Instant now, Peer& p, Outbox& out);
  void cut_over(Instant now, Peer& p, Outbox& out);
  void drop_epoch(const Peer& p, std::unique_ptr<Epoch>& e, Outbox& out);
  void drop_keys(Peer& p, Outbox& out);
  void send_msg3(Instant now, const Peer& p, Epoch& e, Outbox& out);
  void send_probe(Instant now, const Peer& p, const Epoch& e, Outbox& out);
  void plan_rekey(Instant now, Peer& p, Duration not_before);

  // coords.cpp
  bool send_warmup(Instant now, Peer& p, Outbox& out);
  void rewarm(Peer& p, Outbox& out);
  bool refresh_coords(Peer& p);
  std::shared_ptr<const wire::Path> own_shared();
  void emit_session(Peer& p, Outbox& out);
  void flush(Instant now, Peer& p, Outbox& out);

  // timers.cpp
  void schedule(const Peer& p);
  void on_due(Instant now, Peer& p, Outbox& out);
  void question_due(Instant now, Peer& p, Outbox& out);
  void answers_due(Instant now, Peer& p, Outbox& out);
  void repair_due(Instant now, Peer& p, Epoch& e, Outbox& out);
  void review_due(Instant now, Peer& p);
  Instant rekey_moment(const Peer& p) const;
  void rekey_due(Instant now, Peer& p, Outbox& out);
  Duration backoff(unsigned count) const;

  void forget(NodeAddr remote);
  View view_of(const Peer& p) const;
  Peer* find(const NodeAddr& remote) const;

  const crypto::Identity& self_;
  StartupEpoch startup_;
  Settings settings_;
  Surroundings& around_;
  Rng& rng_;
  Table peers_;
  Pending pending_;
  SetupLimiter limiter_;
  Bucket ack_reads_{kAckBurst, kAckRate};
  Deadlines<NodeAddr> deadlines_;
  std::vector<Event> events_;
  std::shared_ptr<const wire::Path> own_shared_;
  std::size_t half_open_ = 0;  // answers to strangers
  std::uint64_t last_epoch_ = 0;
};

}  // namespace weft::session
