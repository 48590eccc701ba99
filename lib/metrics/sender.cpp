#include "metrics/sender.h"

#include <algorithm>

namespace weft {

std::optional<wire::SenderReport> SenderMeter::report(std::uint64_t epoch_frames, std::uint64_t epoch_bytes,
                                                      std::uint32_t now_ts) {
  if (epoch_frames <= told_frames_) return std::nullopt;
  const auto bytes = epoch_bytes > told_bytes_ ? epoch_bytes - told_bytes_ : 0;

  wire::SenderReport r;
  r.first_counter = told_frames_;
  r.last_counter = epoch_frames - 1;
  r.first_timestamp = told_ts_;
  r.last_timestamp = now_ts;
  r.interval_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX));
  r.total_frames = base_frames_ + epoch_frames;
  r.total_bytes = base_bytes_ + epoch_bytes;

  told_frames_ = epoch_frames;
  told_bytes_ = epoch_bytes;
  told_ts_ = now_ts;
  return r;
}

void SenderMeter::cutover(std::uint64_t old_epoch_frames, std::uint64_t old_epoch_bytes) {
  base_frames_ += old_epoch_frames;
  base_bytes_ += old_epoch_bytes;
  told_frames_ = told_bytes_ = 0;
  told_ts_ = 0;
}

}  // namespace weft
