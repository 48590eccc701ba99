/// Inside of a DecryptShard; its parts live in decrypt_shard.cpp (commands, frames of links),
/// decrypt_datagram.cpp (envelopes, transit), decrypt_session.cpp (what is for us) and decrypt_send.cpp (the
/// core's own messages).
#pragma once

#include "dataplane/decrypt_shard.h"
#include "dataplane/egress.h"
#include "dataplane/frame.h"
#include "dataplane/queue_control.h"
#include "dataplane/receiving.h"
#include "offload/coalesce.h"

namespace weft {

struct DecryptShard::Impl {
  explicit Impl(ShardOptions o);

  /// A frame that passed all tests that need no key.
  struct Sealed {
    MutBytes bytes;
    LinkHalf* half = nullptr;
    wire::LinkHeader header;
    Endpoint from;
  };
  /// A session message for us, on its way through the trial keys.
  struct Inner {
    wire::SealedSession message;
    MutBytes text;  // ciphertext, then plaintext, without the tag
    SessionHome* session = nullptr;
    SessionHalf* half = nullptr;  // the one tried now
    std::uint16_t path_mtu = 0;
    std::uint8_t ttl = 0;
    std::uint8_t tries = 0;
    Drop why = Drop::undecryptable;
    bool ce = false;
    bool newer_first = false;
    bool open = false;  // by `half`
    bool refused = false;
  };

  // decrypt_shard.cpp
  void add(LinkRecv&& recv);
  void add(SessionRecv&& recv);
  void drop_link(LinkId link);
  void cutover(Instant now, const LinkCutover& c);
  void cutover(Instant now, const SessionCutover& c);
  void on_read(Instant now, TransportId transport, const WireRead& read, ShardIo& io);
  void admit(Instant now, TransportId transport, const Endpoint& from, MutBytes frame, ShardIo& io);
  void on_handshake(Instant now, TransportId transport, const Endpoint& from, Bytes frame, bool first,
                    ShardIo& io);
  void process(Instant now, ShardIo& io);
  void on_opened(Instant now, Sealed& f, bool authentic, ShardIo& io);
  void account(Instant now, const Sealed& f, bool newest);
  void watch_address(Instant now, const Sealed& f, bool newest, ShardIo& io);
  void on_message(Instant now, const Sealed& f, MutBytes message, ShardIo& io);
  void on_mtu_probe(const Sealed& f, Bytes message, ShardIo& io);
  void on_mtu_notice(const Sealed& f, Bytes message, ShardIo& io);
  void finish(Instant now, ShardIo& io);
  /// False when its lane was full; counted.
  bool punt(Punt&& p, ShardIo& io);

  // decrypt_datagram.cpp
  /// `message` lies in its frame: 20 bytes of room before it and 16 behind.
  void on_datagram(Instant now, LinkHome& link, bool ce, MutBytes message, ShardIo& io);
  void to_core(Instant now, LinkHome& link, bool ce, Bytes message, ShardIo& io);
  void deliver(Instant now, LinkHome& link, bool ce, MutBytes message, const wire::Envelope& e, ShardIo& io);
  void transit(Instant now, LinkHome& link, bool ce, MutBytes message, const wire::Envelope& e, ShardIo& io);
  /// Hints for the core out of a payload in passing; false when the payload must not travel on.
  bool warm(Instant now, const wire::Envelope& e, std::size_t message_bytes, ShardIo& io);
  void forward(Instant now, LinkHome& link, bool ce, MutBytes message, const wire::Envelope& e, ShardIo& io);
  void stray(WorkerId home, StrayBurst::Item item, Bytes bytes);

  // decrypt_session.cpp
  void on_sealed_session(bool ce, MutBytes message, const wire::Envelope& e, SessionHome& session);
  SessionHome* session_home(const NodeAddr& remote);
  void open_sessions(Instant now, ShardIo& io);
  bool next_try(Inner& m);
  void on_session_message(Instant now, Inner& m, ShardIo& io);
  void report_coords(Instant now, const Inner& m, ShardIo& io);
  void account(Instant now, const Inner& m, const wire::SessionInner& inner, bool newest, ShardIo& io);
  void on_data(Instant now, const Inner& m, MutBytes body, ShardIo& io);
  bool slows_sender(Instant now, const SessionStats& session, MutBytes packet);
  bool is_probe_reply(Instant now, const NodeAddr& remote, Bytes packet, ShardIo& io);
  void write_tun(ShardIo& io);

  // decrypt_send.cpp
  void send_message(Instant now, LinkId link, Bytes message, bool ce, ShardIo& io);
  void send(Instant now, const SendLink& c, ShardIo& io);
  void send(Instant now, const SendSession& c, ShardIo& io);
  void send(Instant now, const SendProbe& c, ShardIo& io);
  void send(Instant now, const SendLinkReports& c, ShardIo& io);
  void send(Instant now, const SendSessionReports& c, ShardIo& io);

  StageTimer timed(Stage stage, std::size_t items) { return {stats, opts.stage_clock, stage, items}; }

  ShardOptions opts;
  MeshAddr self_mesh;
  std::size_t burst;
  Tables tables;
  ShardStats stats;
  std::unordered_map<SessionIndex, LinkHalf> halves;
  std::unordered_map<LinkId, LinkHome> links;
  std::unordered_map<NodeAddr, SessionHome> sessions;
  SessionHome* last_session = nullptr;
  std::vector<Sealed> frames;
  std::vector<Inner> inner;
  std::vector<std::uint32_t> tried;  // of inner, in the order of jobs
  std::vector<crypto::AeadJob> jobs;
  Egress egress;
  offload::Coalescer joiner;
  QueueControl queue;
  std::vector<StrayBurst> strays;  // by home
  bool has_strays = false;
  Bucket msg1_bucket;
  Bucket msg2_bucket;
  Bucket passing_coords{64, 64};
  Buffer own;  // the core's message being sealed
};

}  // namespace weft
