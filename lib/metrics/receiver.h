/// What arrived under one key epoch of a link or session, frame by frame.
///
/// Feed     every authenticated frame of the current epoch and no other. Link: the whole frame length, header
/// and tag
///          included; session: the plaintext length.
/// Time     `now` never decreases between calls; a smaller one counts as no time passed.
/// Thread   one owner (a decrypt worker). Cost: on_frame O(1), no allocation.
/// Errors   none: every counter, timestamp and length is taken; sums of an interval saturate.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "wire/report.h"

namespace weft {

class ReceiverMeter {
 public:
  /// How long a cutover can silence jitter when frames of the old epoch may still come in here.
  static constexpr Duration kJitterGrace = 15s;

  /// `sender_ts` is the sender's session clock, ms modulo 2^32.
  void on_frame(std::uint64_t counter, std::uint32_t sender_ts, std::size_t bytes, bool ce, Instant now);

  /// The frame with this counter was a probe that might well not come, and it has not: it counts as one that came, and
  /// leaves no gap. Only right behind the frame that says so.
  void excuse();

  /// The report for the interval since the last one, which it ends; nullopt (and nothing changed) when no
  /// frame came.
  std::optional<wire::ReceiverReport> report(Instant now);

  /// A new key epoch: counters and the sender's clock begin anew, frame and byte totals go on.
  /// `grace`: how long jitter stays still; zero fits a caller that feeds the current epoch only.
  void cutover(Instant now, Duration grace = Duration::zero());

  std::uint64_t highest() const { return highest_; }      ///< counter, this epoch
  std::uint64_t frames() const { return frames_; }        ///< all epochs
  std::uint64_t bytes() const { return bytes_; }          ///< all epochs
  std::uint32_t ce_frames() const { return ce_frames_; }  ///< this epoch
  std::uint32_t reordered() const { return reordered_; }  ///< this epoch
  std::uint32_t jitter_us() const;
  /// Last frame of this epoch.
  std::optional<Instant> last_frame() const { return last_recv_; }
  bool interval_has_frames() const { return interval_frames_ > 0; }

 private:
  void track_gap(std::uint64_t counter);
  void close_burst();
  void track_jitter(std::uint32_t sender_ts, Instant now);

  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t highest_ = 0;
  std::optional<std::uint64_t> expected_;
  std::optional<Instant> last_recv_;
  std::optional<Instant> jitter_still_until_;
  std::uint64_t jitter_q4_ = 0;  // microseconds x 16
  std::uint64_t burst_sum_ = 0;  // frames lost in the interval's closed bursts
  std::uint32_t last_ts_ = 0;
  std::uint32_t ce_frames_ = 0;
  std::uint32_t reordered_ = 0;
  std::uint32_t interval_frames_ = 0;
  std::uint32_t interval_bytes_ = 0;
  std::uint32_t bursts_ = 0;
  std::uint16_t longest_burst_ = 0;
  std::uint16_t open_burst_ = 0;  // length so far; 0: no open burst
};

}  // namespace weft
