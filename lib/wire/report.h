/// Metrics reports, for a link and for a session: the same fields, another beginning.
///
/// link      message with its type byte: type, three zero bytes, fields (48 and 68 bytes)
/// session   body after the inner header: two zero bytes, fields (46 and 66 bytes)
///
/// Counters and bytes count one key epoch. Timestamps are ms of the epoch of the node whose frames are meant.
/// Source   docs/spec/mesh.md section 5.1; session.md section 1.1.
#pragma once

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"

namespace weft::wire {

enum class ReportForm : std::uint8_t { link, session };

struct SenderReport {
  std::uint64_t first_counter = 0;  // of the interval
  std::uint64_t last_counter = 0;
  std::uint32_t first_timestamp = 0;
  std::uint32_t last_timestamp = 0;
  std::uint32_t interval_bytes = 0;
  std::uint64_t total_frames = 0;
  std::uint64_t total_bytes = 0;

  bool operator==(const SenderReport&) const = default;
};

struct ReceiverReport {
  std::uint64_t highest_counter = 0;
  std::uint64_t total_frames = 0;
  std::uint64_t total_bytes = 0;
  std::uint32_t timestamp_echo = 0;   // the peer's newest timestamp; 0 = none
  std::uint16_t dwell_ms = 0;         // since that frame came
  std::uint16_t max_burst_loss = 0;   // frames, in the interval
  std::uint16_t mean_burst_loss = 0;  // frames, 8.8 fixed point
  std::uint32_t jitter_us = 0;
  std::uint32_t ce_count = 0;
  std::int32_t owd_trend = 0;  // advisory
  std::uint32_t burst_count = 0;
  std::uint32_t reordered = 0;
  std::uint32_t interval_frames = 0;
  std::uint32_t interval_bytes = 0;

  bool operator==(const ReceiverReport&) const = default;
};

/// Errors: too_short; wrong_type (link form).
Result<SenderReport, Drop> decode_sender_report(Bytes in, ReportForm form) noexcept;
Result<ReceiverReport, Drop> decode_receiver_report(Bytes in, ReportForm form) noexcept;
void encode_sender_report(Buffer& out, const SenderReport& r, ReportForm form);
void encode_receiver_report(Buffer& out, const ReceiverReport& r, ReportForm form);

/// Session body: the path MTU that the destination saw. Values below kMtuFloor are for the receiver to
/// ignore.
struct PathMtuNotification {
  std::uint16_t path_mtu = 0;
};
/// Errors: too_short.
Result<PathMtuNotification, Drop> decode_path_mtu_notification(Bytes body) noexcept;
void encode_path_mtu_notification(Buffer& out, const PathMtuNotification& m);

}  // namespace weft::wire
