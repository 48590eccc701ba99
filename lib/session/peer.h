/// What is kept of one remote node. Private to this room.
///
/// First contact and rekey are the same exchange beside the same slots: a Question is a setup of ours that
/// waits for its answer, an Answer is one of theirs that waits for the third message, and whichever completes
/// becomes `current` when there is none, else `pending` until it is proven. Neither touches the keys in use,
/// so nothing forged does.
#pragma once

#include "crypto/xk.h"
#include "session/sessions.h"

namespace weft::session {

struct Question {
  crypto::XkInitiator xk;
  Instant resend_at;
  Instant expires;
  unsigned resends = 0;
};

struct Answer {
  crypto::XkResponder xk;
  crypto::XkMsg1 asked;  // the setup's noise part: a repeat of it gets the same answer
  NodeAddr via;
  Buffer ack;
  Instant made;
  Instant resend_at;
  Instant expires;
  unsigned resends = 0;
};

/// The third message, while the other side may still lack it.
struct Repair {
  crypto::XkMsg2 answered;  // the ack's noise part: a repeat of it asks for the same third message
  crypto::XkMsg3 msg3;
  Instant resend_at;          // kNever: on repeated acks only
  Instant probe_at = kNever;  // when to show the keys; after each msg3 of a rekey
  Instant expires;
  Instant not_before;  // pace of answers to repeated acks
  unsigned resends = 0;
  std::uint64_t heard = 0;  // frames_heard() when msg3 was last sent
};

struct Epoch {
  EpochId id;
  SendKeyRef send;
  bool initiator = false;  // of this epoch's handshake
  bool k = false;
  bool proven = false;  // the other side has sent under it
  Instant start;
  std::optional<Repair> repair;
};

struct Peer {
  explicit Peer(const NodeAddr& r, Instant now) : remote(r), created(now) {}

  NodeAddr remote;
  Instant created;
  std::optional<PublicKey> key;
  std::optional<Question> question;
  std::vector<Answer> answers;  // oldest first
  // Of the newest epoch that we answered: late copies of the setup mean nothing, a copy of the third message
  // says that they have not heard us under it.
  std::optional<crypto::XkMsg1> last_asked;
  std::optional<crypto::XkMsg3> last_msg3;
  std::unique_ptr<Epoch> current, pending, previous;

  // Meaningful while there is a current epoch.
  bool initiator = false;     // of the session; rekeys do not change it
  StartupEpoch remote_start;  // another one: the peer has restarted and knows none of our older keys
  Instant up_since;
  std::optional<Instant> settles_at;  // until then the workers do not have it
  WorkerId home;
  std::shared_ptr<SessionStats> stats;
  std::shared_ptr<const wire::Path> own_coords, dest_coords;  // as the workers have them
  std::uint16_t path_mtu = 65535;
  Instant drain_from;  // cutover to the current epoch
  Instant rekey_at = kNever;
  std::optional<Instant> asked_again;  // when they last sent a setup beside the live session
  Instant review_at;
  std::uint64_t sent_seen = 0, heard_seen = 0;
  std::optional<Instant> silent_since;
  Duration patience = kSilence;  // with silence
  Instant warmup_not_before;

  std::uint64_t frames_heard() const { return stats->epoch_frames_recv.get() + stats->packets_recv.get(); }
  Instant last_activity() const {
    return std::max({up_since, stats->last_data_recv.get(), stats->last_data_sent.get()});
  }
  bool empty() const { return !current && !question && answers.empty(); }
};

}  // namespace weft::session
