/// What we sent, as a SenderReport tells it.
///
/// Frames are sealed on several workers, so nothing is counted here: the caller reads the current key's
/// shared frame and byte counts when a report is due. Counters of a key are consecutive from 0, hence the
/// interval's first and last follow from its count.
///
/// Thread  one owner. Cost: O(1), no allocation.
/// Errors  a count that stood still or fell gives no report.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/report.h"

namespace weft {

class SenderMeter {
 public:
  /// `epoch_frames`, `epoch_bytes`: sealed under the current key so far; `now_ts`: our session clock, ms. The
  /// timestamp of the interval's first frame is taken to be that of the report before.
  std::optional<wire::SenderReport> report(std::uint64_t epoch_frames, std::uint64_t epoch_bytes,
                                           std::uint32_t now_ts);

  /// A new key: its counters and the session clock begin anew, totals go on. The arguments are the old key's
  /// last counts; of its frames, those that no report told are told in the totals only.
  void cutover(std::uint64_t old_epoch_frames, std::uint64_t old_epoch_bytes);

 private:
  std::uint64_t base_frames_ = 0;  // of all keys before
  std::uint64_t base_bytes_ = 0;
  std::uint64_t told_frames_ = 0;  // of the current key
  std::uint64_t told_bytes_ = 0;
  std::uint32_t told_ts_ = 0;
};

}  // namespace weft
