/// When the reports of one link or session are due. A deadline, not a tick.
///
/// A report is due when its interval has passed since the last one (at once if there was none) and the
/// interval saw traffic. Whether it did, only the meters know: ask them at the deadline and say `done` either
/// way.
///
/// Interval  sender report 2 x SRTT, receiver report 1 x SRTT, within the layer's bounds.
/// Thread    one owner. Cost: O(1), no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace weft {

enum class MetricsLayer : std::uint8_t { link, session };
/// full: both reports. lightweight: receiver reports only (RTT still works). minimal: none.
/// Never negotiated; what arrives is used in every mode.
enum class MetricsMode : std::uint8_t { full, lightweight, minimal };
enum class ReportKind : std::uint8_t { sender, receiver };

std::string_view name_of(MetricsMode mode);
std::optional<MetricsMode> parse_metrics_mode(std::string_view name);

class ReportSchedule {
 public:
  ReportSchedule(MetricsLayer layer, MetricsMode mode);

  /// After every decoded ReceiverReport, once there is an SRTT (microseconds; <= 0 changes no interval).
  void retune(std::int64_t srtt_us);

  /// Instant{} = at once, kNever = the mode has no such report.
  Instant due(ReportKind kind) const;
  bool is_due(ReportKind kind, Instant now) const { return due(kind) <= now; }
  Instant deadline() const { return std::min(due(ReportKind::sender), due(ReportKind::receiver)); }
  /// The report went out, or there was nothing to report: look again in one interval.
  void done(ReportKind kind, Instant now);

  /// Session: after a round of sends to this destination. All failed: the next sender report waits twice as
  /// long (up to 32 times); any success clears that.
  void on_send_round(bool any_succeeded);

  /// Without the failure multiplier.
  Duration interval(ReportKind kind) const { return intervals_[index(kind)]; }
  std::uint32_t failure_multiplier() const { return 1U << failures_; }

 private:
  static std::size_t index(ReportKind kind) { return static_cast<std::size_t>(kind); }

  std::array<Duration, 2> intervals_;
  std::array<std::optional<Instant>, 2> last_{};
  MetricsLayer layer_;
  MetricsMode mode_;
  std::uint8_t tunings_ = 0;
  std::uint8_t failures_ = 0;
};

}  // namespace weft
