/// Receiving halves and what is measured on them, of the links and sessions that this worker is home to.
///
/// Current   metrics follow one epoch: the first one, then the one that the last cutover named.
/// Thread    one owner.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bucket.h"
#include "metrics/receiver.h"
#include "metrics/sender.h"
#include "metrics/spin.h"
#include "seam/halves.h"

namespace weft {

/// Totals over all sending epochs of one link or session, for its SenderReports. Looks at the shared key only
/// when a report is made, so the seals of other workers are in.
class SentTotals {
 public:
  std::optional<wire::SenderReport> report(const SendKeyRef& key, std::uint32_t now_ts) {
    if (key != key_) {
      if (key_) {  // nobody seals with the old key any more
        frames_ += frames_of(*key_);
        bytes_ += key_->bytes.load(std::memory_order_relaxed);
        meter_.cutover(frames_, bytes_);
      }
      key_ = key;
    }
    return meter_.report(frames_ + frames_of(*key), bytes_ + key->bytes.load(std::memory_order_relaxed),
                         now_ts);
  }

 private:
  static std::uint64_t frames_of(const SendKey& k) { return k.next.load(std::memory_order_relaxed); }

  SenderMeter meter_;
  SendKeyRef key_;
  std::uint64_t frames_ = 0;  // of epochs before key_
  std::uint64_t bytes_ = 0;
};

inline SpinBit::Role spin_role(bool initiator) {
  return initiator ? SpinBit::Role::initiator : SpinBit::Role::responder;
}

/// What all epochs of a link share.
struct LinkHome {
  LinkHome(LinkId id, bool initiator, std::shared_ptr<LinkStats> s)
      : link(id), stats(std::move(s)), spin(spin_role(initiator)) {}

  /// A neighbour's messages to the core: far above what an honest one sends, far below what would fill the
  /// lane.
  static constexpr double kMessagesBurst = 1024;
  static constexpr double kMessagesPerSecond = 4096;

  LinkId link;
  std::shared_ptr<LinkStats> stats;
  ReceiverMeter meter;
  SpinBit spin;
  SentTotals sent;
  std::optional<SessionIndex> current;
  EpochId current_epoch;
  std::optional<std::uint64_t>
      excused;        // counter of a probe that was missing: counted, should it come after all
  Endpoint moved_to;  // last PuntMoved, and when
  Instant moved_at;
  Bucket messages{kMessagesBurst, kMessagesPerSecond};
};

struct LinkHalf {
  LinkRecv recv;
  LinkHome* home = nullptr;
  bool proven = false;

  bool is_current() const { return home->current == recv.our_index; }
};

struct SessionHalf {
  SessionRecv recv;
  bool proven = false;
};

struct SessionHome {
  SessionHome(const NodeAddr& r, bool initiator, std::shared_ptr<SessionStats> s)
      : remote(r), mesh(mesh_addr_of(r)), stats(std::move(s)), spin(spin_role(initiator)) {}

  static constexpr std::size_t kHalves =
      4;  // pending, current, previous, and one that the core is about to drop

  /// The n-th half to try: n-th in trial order, nullptr behind the last. A received K other than ours makes
  /// the newer epoch the first guess; K never decides.
  SessionHalf* candidate(std::size_t n, bool newer_first) {
    std::size_t order[kHalves];
    std::size_t count = 0;
    const auto take = [&](auto&& wanted) {
      for (std::size_t i = 0; i < halves.size() && count < kHalves; ++i)
        if (wanted(halves[i].recv.epoch)) order[count++] = i;
    };
    const auto newer = [this](EpochId e) { return !current || e > *current; };
    const auto same = [this](EpochId e) { return current && e == *current; };
    const auto older = [this](EpochId e) { return current && e < *current; };
    if (newer_first) take(newer);
    take(same);
    if (!newer_first) take(newer);
    take(older);
    return n < count ? &halves[order[n]] : nullptr;
  }

  NodeAddr remote;
  MeshAddr mesh;
  std::shared_ptr<SessionStats> stats;
  std::vector<SessionHalf> halves;
  ReceiverMeter meter;
  SpinBit spin;
  SentTotals sent;
  std::optional<EpochId> current;
  std::uint16_t told_mtu = 0;  // last PuntPathMtu, and when
  Instant told_mtu_at;
  Bucket coords{16, 4};  // PuntCoords
};

}  // namespace weft
