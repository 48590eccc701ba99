/// The nouns of the link layer. Values only; links.h has the verbs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/schema.h"
#include "crypto/ik.h"
#include "seam/outbox.h"
#include "wire/link_msg.h"
#include "wire/own_msg.h"

namespace weft::link {

/// What the core knows of a transport instance; the sockets are the shell's.
struct Transport {
  TransportId id;
  std::string kind = "udp";
  std::string name;      // of a named instance, else empty
  Endpoint local;        // as bound
  std::uint16_t mtu = 1280;
  bool accepts = true;   // strangers may dial in
  bool up = true;
};

struct Settings {
  Duration resend_first = 1s;
  double resend_factor = 2.0;
  std::uint32_t resend_count = 5;
  Duration handshake_timeout = 30s;
  Duration heartbeat = 10s;
  Duration dead_after = 30s;
  bool rekey = true;
  Duration rekey_after = 120s;
  std::uint64_t rekey_messages = 65536;
  std::size_t max_peers = 128;            // 0: no limit
  std::size_t max_connections = 256;      // own dials under way; 0: no limit
  std::size_t max_pending_inbound = 1000; // candidates of nodes that are no peers yet
  double stranger_burst = 100, stranger_rate = 10;
  double known_burst = 128, known_rate = 6.4;
  std::uint32_t decrypt_workers = 1;
  std::uint32_t features = wire::kWideWindow | wire::kMtuProbes;  // told to neighbours that are weft

  static Settings from(const config::Config& c, std::uint32_t decrypt_workers);
};

/// One set of link keys, seen from the core: the keys themselves are the workers'.
struct Epoch {
  EpochId id;
  SessionIndex ours, theirs;
  SendKeyRef send;
  Instant started;
  bool by_us = false;                 // we sent its message 1
  std::optional<Instant> proven;      // first authentic frame under it
};

/// Message 1 sent, message 2 awaited: a new link, a second path, or a rekey of a live link.
struct Dial {
  LinkId link;                        // the link it will be, or rekeys
  PublicKey key;
  NodeAddr addr;
  TransportId transport;
  Endpoint to;
  SessionIndex ours;
  crypto::IkInitiator ik;
  Buffer frame;                       // resent byte for byte
  Instant started;
  std::uint32_t resends = 0;
  bool peer_was_up = false;           // then its answer is finished as a rekey, never by the tie-break
  bool is_rekey = false;
};

/// Message 1 answered, first frame awaited.
struct Candidate {
  LinkId link;
  PublicKey key;
  NodeAddr addr;
  StartupEpoch epoch;
  TransportId transport;
  Endpoint from;
  Epoch keys;
  WorkerId home;
  std::shared_ptr<LinkStats> stats;
  Instant created;
  bool lost_tiebreak = false;         // still readable for a while, never a link
};

struct Peer {
  LinkId link;
  PublicKey key;
  NodeAddr addr;
  StartupEpoch epoch;
  bool initiator = false;             // who dialled the link first: spin-bit role and direction shown
  TransportId transport;
  Endpoint to;
  std::uint16_t mtu = 1280;
  WorkerId home;
  Epoch current;
  std::optional<Epoch> previous;
  bool k = false;
  bool congested = false;
  Instant up_since;
  std::int64_t up_since_unix_ms = 0;
  Duration jitter{};                  // added to rekey_after; redrawn at every cutover
  std::optional<Instant> peer_rekeyed;
  std::optional<Instant> judge_at;    // after a network change: silence until then starts a new dial
  std::uint32_t rekeys = 0;           // cutovers so far
  std::optional<std::uint32_t> features;  // of a weft node, once it has said hello; a reference node never does
  std::uint32_t hellos = 0;           // asked so far
  std::shared_ptr<LinkStats> stats;

  bool has(std::uint32_t feature) const { return (features.value_or(0) & feature) != 0; }
  Instant last_heard() const { return std::max(stats->last_recv.get(), current.started); }
};

/// Why a link ended, or a dial.
enum class End : std::uint8_t { silent, disconnected, restarted, operator_asked, shutdown, timed_out, refused, send_failed };
std::string_view name_of(End e);

struct LinkUp { LinkId link; NodeAddr addr; PublicKey key; };
struct LinkDown { LinkId link; NodeAddr addr; End why; };
/// New keys, same link. The other side may have lost what we told it, so announce again.
struct LinkRekeyed { LinkId link; NodeAddr addr; };
struct LinkMoved { LinkId link; NodeAddr addr; Endpoint to; };
/// The far side has said hello: it is weft, and this is what it can.
struct LinkFeatures { LinkId link; NodeAddr addr; };
struct DialEnded { PublicKey key; Endpoint to; End why; };
using Event = std::variant<LinkUp, LinkDown, LinkRekeyed, LinkMoved, LinkFeatures, DialEnded>;

/// A handshake that was turned away, for whoever asks why a neighbour does not come up.
struct Refusal {
  std::int64_t unix_ms = 0;
  Endpoint from;
  std::optional<PublicKey> who;  // when the message told
  Drop why{};
  std::string rule;              // line of the access list, limit, …
};

/// nullopt: admitted. Else the rule that refuses, as a person would look for it.
using AclCheck = std::function<std::optional<std::string>(const PublicKey&)>;

}  // namespace weft::link
