/// One burst's way out: frames gather per link, get their outer counters together, are sealed in one go and
/// leave in runs of equal size.
///
/// A frame   lies at its final place with everything from offset 20 (the link message) filled in and 16 bytes
///           of room for the tag at its end. Egress writes the first 20 bytes and the tag.
/// Order     per link as added. Links do not wait for each other.
/// Thread    one owner. Cost: no allocation once built.
#pragma once

#include "dataplane/shard_io.h"
#include "dataplane/stage_timer.h"
#include "dataplane/tables.h"

namespace weft {

class Egress {
 public:
  enum class Kind : std::uint8_t { own, transit };

  explicit Egress(std::size_t capacity);

  bool full() const { return frames_.size() >= capacity_; }
  bool empty() const { return frames_.empty(); }
  /// Not when full().
  void add(LinkEntry& link, MutBytes frame, Kind kind, HopClass how, bool ce);
  void flush(Instant now, crypto::Aead& aead, WireSink& wire, ShardStats& stats, StageTimer::Clock clock);

 private:
  struct Frame {
    MutBytes bytes;
    std::uint32_t next = 0;
    Kind kind = Kind::own;
    HopClass how = HopClass::direct_peer;
    bool ce = false;
  };
  /// A link's share of jobs_ and sealed_.
  struct Share {
    LinkEntry* link = nullptr;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void prepare(Instant now, LinkEntry& link, ShardStats& stats);
  void send(const Share& share, WireSink& wire, ShardStats& stats);
  void account(std::span<const std::uint32_t> run, const SendOutcome& out, ShardStats& stats);

  std::size_t capacity_;
  std::vector<Frame> frames_;
  std::vector<LinkEntry*> links_;  // in order of their first frame
  std::vector<Share> shares_;
  std::vector<std::uint32_t> sealed_;  // frames in the order of jobs_
  std::vector<crypto::AeadJob> jobs_;
  std::vector<Bytes> run_;
};

}  // namespace weft
