/// The connected sockets that one decrypt worker reads: those of the links whose home it is.
///
/// Order    a new socket is read only after what came to the listening socket before it: until then it waits. One that
///          is given up is read to its end before it is closed.
/// Cost     of a turn: the sockets that have something, however many there are.
/// Thread   the worker's.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "io/poll_set.h"
#include "seam/command.h"
#include "weftd/link_socket.h"

namespace weft::daemon {

class LinkSockets {
 public:
  /// Tags from `first_tag` on are this object's in `poll`.
  LinkSockets(io::PollSet& poll, std::uint64_t first_tag, WorkerId home)
      : poll_(poll), first_tag_(first_tag), home_(home) {}

  /// Looks at every command before the shard gets it. True when a socket was taken in: its transport's listening socket
  /// must then be looked at.
  bool on_command(const Command& command);
  /// The listening socket of this transport was read: empty afterwards, or not.
  void listening_read(TransportId transport, bool empty);
  void ready(std::uint64_t tag);
  bool is_tag(std::uint64_t tag) const { return tag >= first_tag_; }

  /// Parks and closes what nobody uses any more; `read` empties a socket first. False from `read`: nothing left.
  template <class Read>
  void retire(Instant now, Read read) {
    for (std::size_t at = 0; at < slots_.size(); ++at) {  // reading may take new ones in
      Slot* const s = slots_[at].get();
      if (s == nullptr || !s->retiring || !step_back(now, *s)) continue;
      for (int i = 0; i < kLastReads && read(*s->socket); ++i) {
      }
      if (s->done) close(slots_[at]);
    }
  }
  /// One batch of each socket that has something. True: some have more.
  template <class Read>
  bool read_ready(Read read) {
    std::swap(turn_, ready_);
    ready_.clear();
    for (const auto at : turn_) {
      if (!slots_[at] || slots_[at]->waiting) continue;  // closed meanwhile, or its place taken by another
      slots_[at]->queued = false;
      if (read(*slots_[at]->socket)) ready(first_tag_ + at);
    }
    return !ready_.empty();
  }
  /// Sockets are on their way out: call retire(), and sleep no longer than `patience`, in ms.
  bool retiring() const { return retiring_ > 0; }
  int patience(Instant now) const;

 private:
  struct Slot {
    std::shared_ptr<LinkSocket> socket;
    bool waiting = true;    // not read yet
    bool retiring = false;  // not the link's any more
    bool parked = false;
    bool done = false;
    bool queued = false;  // in ready_
    int held = 0;         // batches of the listening socket that came first
    Instant close_at;
  };

  static constexpr int kMostHeld = 64;  // a listening socket that never runs empty must not keep us waiting
  static constexpr int kLastReads = 4096;  // more than any receive buffer holds
  /// After parking: what other processors were handing over at that moment.
  static constexpr Duration kGrace = std::chrono::milliseconds(50);

  bool take(const SendLease& lease);
  void give_up(LinkId link);
  /// True when the socket is to be read to its end now.
  bool step_back(Instant now, Slot& slot);
  void close(std::unique_ptr<Slot>& slot);
  void open(std::size_t at);

  io::PollSet& poll_;
  std::uint64_t first_tag_;
  WorkerId home_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unordered_map<LinkId, std::size_t> by_link_;
  std::vector<std::size_t> ready_, turn_;
  std::size_t retiring_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace weft::daemon
