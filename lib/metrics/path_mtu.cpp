#include "metrics/path_mtu.h"

#include <algorithm>

namespace weft {
namespace {
constexpr std::uint8_t kClaimsToRaise = 3;
// Beyond any real round trip; keeps the product below far from overflow.
constexpr std::int64_t kMaxSrttUs = 3'600'000'000;
}  // namespace

Duration path_mtu_interval(std::optional<std::int64_t> srtt_us) {
  const auto srtt = std::clamp<std::int64_t>(srtt_us.value_or(0), 0, kMaxSrttUs);
  return std::max<Duration>(kPathMtuNoticeInterval, std::chrono::microseconds(srtt * 5));
}

void PathMtuObserver::observe(std::uint16_t path_mtu) {
  if (path_mtu == observed_) return;
  observed_ = path_mtu;
  changed_ = true;
}

Instant PathMtuObserver::due(std::uint16_t own_sending_mtu, Duration interval) const {
  if (observed_ == wire::kMtuUnknown) return kNever;
  if (!last_notice_) return Instant{};
  if (changed_ && observed_ < own_sending_mtu) return Instant{};
  return *last_notice_ + interval;
}

std::optional<std::uint16_t> PathMtuObserver::take_notice(Instant now, std::uint16_t own_sending_mtu,
                                                          Duration interval) {
  if (now < due(own_sending_mtu, interval)) return std::nullopt;
  last_notice_ = now;
  changed_ = false;
  return observed_;
}

void PathMtuLimit::seed(std::uint16_t first_hop_mtu) { current_ = std::min(current_, first_hop_mtu); }

void PathMtuLimit::neighbour(std::uint16_t link_mtu) {
  *this = PathMtuLimit{};
  current_ = link_mtu;
}

PathMtuLimit::Effect PathMtuLimit::on_claim(std::uint16_t claimed, Instant now, Duration interval) {
  if (claimed < wire::kMtuFloor) return Effect::below_floor;
  if (claimed == current_ || claimed == wire::kMtuUnknown) return Effect::none;
  if (claimed < current_) {
    current_ = claimed;
    candidate_ = 0;
    return Effect::lowered;
  }
  if (claimed != candidate_) {
    candidate_ = claimed;
    claims_ = 0;
    first_claim_ = now;
  }
  if (claims_ < kClaimsToRaise) ++claims_;
  if (claims_ < kClaimsToRaise || now - first_claim_ < 2 * interval) return Effect::none;
  current_ = claimed;
  candidate_ = 0;
  return Effect::raised;
}

}  // namespace weft
