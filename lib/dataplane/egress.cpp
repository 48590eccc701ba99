#include "dataplane/egress.h"

#include "dataplane/frame.h"
#include "wire/link_frame.h"

namespace weft {
namespace {

Gauge& route_counter(ForwardingStats& f, HopClass how) {
  switch (how) {
    case HopClass::tree_up:
      return f.route_tree_up;
    case HopClass::tree_down:
      return f.route_tree_down;
    case HopClass::tree_down_cross:
      return f.route_tree_down_cross;
    case HopClass::crosslink_descend:
      return f.route_crosslink_descend;
    case HopClass::crosslink_ascend:
      return f.route_crosslink_ascend;
    case HopClass::direct_peer:
      break;
  }
  return f.route_direct_peer;
}

/// What the forwarding counters call a datagram's bytes: the link message.
std::size_t message_bytes(MutBytes frame) { return frame.size() - wire::kFrameCost; }

}  // namespace

Egress::Egress(std::size_t capacity) : capacity_(capacity) {
  frames_.reserve(capacity);
  links_.reserve(capacity);
  shares_.reserve(capacity);
  sealed_.reserve(capacity);
  jobs_.reserve(capacity);
  run_.reserve(kMaxRunFrames);
}

void Egress::add(LinkEntry& link, MutBytes frame, Kind kind, HopClass how, bool ce) {
  const auto at = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back({frame, 0, kind, how, ce});
  if (link.frames++ == 0) {
    link.first_frame = at;
    links_.push_back(&link);
  } else {
    frames_[link.last_frame].next = at;
  }
  link.last_frame = at;
}

void Egress::prepare(Instant now, LinkEntry& link, ShardStats& stats) {
  const LinkSend& to = link.send;
  const auto n = link.frames;
  const auto first = to.key->reserve(n);
  std::uint32_t at = link.first_frame;
  link.frames = 0;
  if (!first) {
    stats.drops.add(Drop::counter_exhausted, n);
    for (std::uint32_t i = 0; i < n; ++i, at = frames_[at].next)
      if (frames_[at].kind == Kind::transit)
        stats.forwarding.drop_send_error.add(message_bytes(frames_[at].bytes));
    return;
  }
  const frame::LinkHead head(to, now);
  const std::size_t begin = jobs_.size();
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < n; ++i, at = frames_[at].next) {
    const Frame& f = frames_[at];
    jobs_.push_back(frame::link_job(head, f.bytes, *first + i, f.ce));
    sealed_.push_back(at);
    bytes += f.bytes.size();
  }
  shares_.push_back({&link, begin, jobs_.size()});
  frame::count_sent(to, n, bytes);
}

void Egress::flush(Instant now, crypto::Aead& aead, WireSink& wire, ShardStats& stats,
                   StageTimer::Clock clock) {
  if (frames_.empty()) return;
  {
    const StageTimer t(stats, clock, Stage::hop_seal, frames_.size());
    for (LinkEntry* link : links_) prepare(now, *link, stats);
    aead.seal(jobs_);
  }
  {
    const StageTimer t(stats, clock, Stage::wire_send, jobs_.size());
    for (const Share& share : shares_) send(share, wire, stats);
  }
  frames_.clear();
  links_.clear();
  shares_.clear();
  sealed_.clear();
  jobs_.clear();
}

void Egress::send(const Share& share, WireSink& wire, ShardStats& stats) {
  std::size_t i = share.begin;
  while (i < share.end) {
    if (!jobs_[i]
             .ok) {  // no back-end refuses a seal; if one ever does, the frame must not leave in the clear
      stats.drops.add(Drop::send_failed);
      ++i;
      continue;
    }
    const std::size_t begin = i;
    const std::size_t size = frames_[sealed_[i]].bytes.size();
    std::size_t total = 0;
    run_.clear();
    for (bool tail = false; i < share.end && !tail && run_.size() < kMaxRunFrames && jobs_[i].ok; ++i) {
      const Bytes f = frames_[sealed_[i]].bytes;
      if (f.size() > size || (!run_.empty() && total + f.size() > kMaxRunBytes)) break;
      tail = f.size() < size;
      total += f.size();
      run_.push_back(f);
    }
    stats.run_out.add(run_.size());
    account(std::span(sealed_).subspan(begin, i - begin), wire.send(share.link->send, run_), stats);
  }
}

void Egress::account(std::span<const std::uint32_t> run, const SendOutcome& out, ShardStats& stats) {
  const std::size_t lost = std::min(out.lost, run.size());
  if (lost > 0) stats.drops.add(out.why, lost);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Frame& f = frames_[run[i]];
    if (f.kind != Kind::transit) continue;
    if (i >= run.size() - lost) {
      stats.forwarding.drop_send_error.add(message_bytes(f.bytes));
      continue;
    }
    stats.forwarding.forwarded.add(message_bytes(f.bytes));
    route_counter(stats.forwarding, f.how).add(1);
    if (f.ce) stats.forwarding.ce_forwarded.add(1);
  }
}

}  // namespace weft
