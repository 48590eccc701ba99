/// What the core wants done: appended by rooms and flows in order, carried out in that order by the shell.
#pragma once

#include <variant>
#include <vector>

#include "seam/command.h"

namespace weft {

/// A handshake frame, sent as it is on a transport's listening socket.
struct RawSend {
  TransportId transport;
  Endpoint to;
  Buffer frame;
};
struct ToAll { Broadcast command; };
/// To one decrypt worker.
struct ToHome { WorkerId home; Command command; };
/// To the encrypt worker that takes packets which waited; always the same one, so that they stay in order.
struct ToEncrypt { Command command; };
/// A finished IPv6 packet for the interface.
struct WriteTun { Buffer packet; };
/// Look a host name up, without blocking; answered by Node::on_resolved with the same ticket.
struct Resolve {
  std::uint64_t ticket = 0;
  std::string host;
};
/// Peers added or removed at run time: keep this text (YAML) across restarts.
struct KeepPeers { std::string text; };

using Effect = std::variant<RawSend, ToAll, ToHome, ToEncrypt, WriteTun, Resolve, KeepPeers>;

class Outbox {
 public:
  void raw(TransportId t, const Endpoint& to, Buffer frame) { effects_.push_back(RawSend{t, to, std::move(frame)}); }
  void all(Broadcast c) { effects_.push_back(ToAll{std::move(c)}); }
  void home(WorkerId w, Command c) { effects_.push_back(ToHome{w, std::move(c)}); }
  void encrypt(Command c) { effects_.push_back(ToEncrypt{std::move(c)}); }
  void push(Effect e) { effects_.push_back(std::move(e)); }

  std::vector<Effect> take() { return std::exchange(effects_, {}); }
  bool empty() const { return effects_.empty(); }
  const std::vector<Effect>& effects() const { return effects_; }

 private:
  std::vector<Effect> effects_;
};

}  // namespace weft
