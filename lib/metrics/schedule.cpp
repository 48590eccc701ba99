#include "metrics/schedule.h"

namespace weft {
namespace {
constexpr std::uint8_t kColdTunings = 5;
constexpr std::uint8_t kMaxFailures = 5;
constexpr Duration kLinkCold = 200ms;
constexpr Duration kLinkFloor = 1s;
constexpr Duration kLinkCeiling = 5s;
constexpr Duration kSessionCold = 1s;
constexpr Duration kSessionFloor = 500ms;
constexpr Duration kSessionCeiling = 10s;
constexpr std::int64_t kMaxSrttUs = 3'600'000'000;
}  // namespace

std::string_view name_of(MetricsMode mode) {
  switch (mode) {
    case MetricsMode::full:
      return "full";
    case MetricsMode::lightweight:
      return "lightweight";
    case MetricsMode::minimal:
      return "minimal";
  }
  return "";
}

std::optional<MetricsMode> parse_metrics_mode(std::string_view name) {
  for (const auto mode : {MetricsMode::full, MetricsMode::lightweight, MetricsMode::minimal})
    if (name == name_of(mode)) return mode;
  return std::nullopt;
}

ReportSchedule::ReportSchedule(MetricsLayer layer, MetricsMode mode) : layer_(layer), mode_(mode) {
  intervals_.fill(layer == MetricsLayer::link ? kLinkCold : kSessionCold);
}

void ReportSchedule::retune(std::int64_t srtt_us) {
  if (tunings_ <= kColdTunings) ++tunings_;
  if (srtt_us <= 0) return;
  Duration floor = kSessionFloor;
  Duration ceiling = kSessionCeiling;
  if (layer_ == MetricsLayer::link) {
    floor = tunings_ <= kColdTunings ? kLinkCold : kLinkFloor;
    ceiling = kLinkCeiling;
  }
  const std::chrono::microseconds srtt(std::min(srtt_us, kMaxSrttUs));
  intervals_[index(ReportKind::sender)] = std::clamp<Duration>(2 * srtt, floor, ceiling);
  intervals_[index(ReportKind::receiver)] = std::clamp<Duration>(srtt, floor, ceiling);
}

Instant ReportSchedule::due(ReportKind kind) const {
  if (mode_ == MetricsMode::minimal) return kNever;
  if (kind == ReportKind::sender && mode_ == MetricsMode::lightweight) return kNever;
  const auto& last = last_[index(kind)];
  if (!last) return Instant{};
  const auto wait = intervals_[index(kind)];
  return *last + (kind == ReportKind::sender ? wait * failure_multiplier() : wait);
}

void ReportSchedule::done(ReportKind kind, Instant now) { last_[index(kind)] = now; }

void ReportSchedule::on_send_round(bool any_succeeded) {
  if (any_succeeded) failures_ = 0;
  else if (failures_ < kMaxFailures) ++failures_;
}

}  // namespace weft
