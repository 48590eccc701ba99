#include "pmtu/search.h"

#include <algorithm>

namespace weft::pmtu {
namespace {

/// UDP payloads of networks that there are: 1500 less IPv4 or IPv6 and UDP headers, the same behind PPPoE and tunnels,
/// jumbo frames of 9000 and 9216, loopback.
constexpr std::array<std::uint16_t, 13> kUsual{1280, 1352, 1392, 1400, 1432,  1452, 1472,
                                               1492, 8952, 8972, 9188, 16384, kMost};

constexpr std::uint8_t kRefusals = 3;       // MAX_PROBES of RFC 8899
constexpr std::uint8_t kRefusalsLossy = 6;  // where answers get lost, probes do so without being too large
constexpr std::uint8_t kMostSilences = 12;  // then nobody is there to say anything
constexpr Duration kRaiseEvery = 600s;      // PMTU_RAISE_TIMER
constexpr Duration kAfterSilence = 60s;
constexpr Duration kConfirmEvery = 2s;  // while traffic flows
constexpr Duration kIdleLook = 8s;      // at most, while none does
constexpr Duration kSpacing = 50ms;     // losses closer together than this may have one cause
constexpr Duration kConfirmSpacing = 300ms;
constexpr Duration kLongestHold = 1s;
constexpr Duration kFirstPatience = 1s;
constexpr Duration kLongestPatience = 4s;

/// The search ends where what is left to find is less than this.
constexpr std::uint32_t grain(std::uint16_t size) { return std::max<std::uint32_t>(1, size / 256); }

}  // namespace

std::string_view name_of(State s) {
  switch (s) {
    case State::off:
      return "off";
    case State::searching:
      return "searching";
    case State::settled:
      return "settled";
    case State::suspicious:
      return "suspicious";
  }
  return "";
}

Search::Search(std::uint16_t base, std::uint16_t most)
    : base_(base), most_(std::max(base, most)), mtu_(base), too_large_(std::uint32_t{most_} + 1) {}

void Search::start(Instant now) {
  if (state_ == State::off) look_up(now);
}

void Search::restart(Instant now) {
  if (state_ == State::off) return;
  too_large_ = std::uint32_t{most_} + 1;
  srtt_ = {};
  if (mtu_ == base_) return look_up(now);
  larger_next_ = true;
  ask_for(mtu_, now);
}

std::optional<std::uint16_t> Search::next_size() const {
  if (too_large_ - mtu_ <= grain(mtu_)) return std::nullopt;
  for (const std::uint16_t size : kUsual)
    if (size > mtu_ && size < too_large_) return size;
  if (too_large_ > most_) return most_;
  return static_cast<std::uint16_t>(mtu_ + (too_large_ - mtu_) / 2);
}

void Search::ask_for(std::uint16_t size, Instant now) {
  candidate_ = size;
  refusals_ = silences_ = 0;
  open_.reset();
  due_ = now;
}

void Search::look_up(Instant now) {
  larger_next_ = false;
  const auto size = next_size();
  if (!size) return settle(now, kRaiseEvery);
  state_ = State::searching;
  ask_for(*size, now);
}

void Search::settle(Instant now, Duration again) {
  state_ = State::settled;
  candidate_ = 0;
  open_.reset();
  larger_next_ = false;
  raise_at_ = now + again;
  await_traffic(now, kConfirmEvery);
}

void Search::await_traffic(Instant now, Duration wait) {
  traffic_wait_ = wait;
  due_ = mtu_ == base_ ? raise_at_ : std::min(raise_at_, now + wait);
}

Duration Search::patience() const {
  const Duration once =
      srtt_ == Duration{} ? kFirstPatience : std::clamp<Duration>(4 * srtt_ + 100ms, 250ms, 3s);
  return std::min<Duration>(once * (1 << std::min<int>(silences_, 3)), kLongestPatience);
}

Round Search::send(Instant now) {
  const Round round{next_id_++, candidate_};
  sent_[round.id % kRemembered] = {round, now, false};
  open_ = round.id;
  ++rounds_;
  due_ = now + patience();
  return round;
}

std::optional<Round> Search::on_deadline(Instant now, std::uint64_t bytes_sent) {
  if (!due_ || now < *due_) return std::nullopt;
  if (candidate_ == 0) return confirm(now, bytes_sent);
  if (open_) return unanswered(now);
  return send(now);
}

std::optional<Round> Search::confirm(Instant now, std::uint64_t bytes_sent) {
  if (now >= raise_at_) {
    too_large_ = std::uint32_t{most_} + 1;
    look_up(now);
    return candidate_ == 0 ? std::nullopt : std::optional(send(now));
  }
  const bool traffic = bytes_sent - bytes_seen_ >= mtu_;
  bytes_seen_ = bytes_sent;
  if (!traffic) {
    await_traffic(now, std::min(2 * traffic_wait_, kIdleLook));
    return std::nullopt;
  }
  ask_for(mtu_, now);
  return send(now);
}

std::optional<Round> Search::unanswered(Instant now) {
  open_.reset();
  if (++silences_ < kMostSilences) return send(now);
  settle(now, kAfterSilence);
  await_traffic(now, kIdleLook);
  return std::nullopt;
}

Search::Effect Search::on_ack(Instant now, std::uint32_t id, std::uint16_t arrived) {
  Sent& s = sent_[id % kRemembered];
  if (id == 0 || s.round.id != id || (arrived != 0 && arrived != s.round.size)) return Effect::unknown;
  if (!s.answered) {
    const Duration rtt = now - s.at;
    srtt_ = srtt_ == Duration{} ? std::max<Duration>(rtt, 1us) : srtt_ + (rtt - srtt_) / 8;
    s.answered = true;
  }
  const auto before = mtu();
  if (arrived != 0) passed(now, arrived);
  else if (open_ == id) failed(now);
  if (held_ && (state_ == State::settled || mtu_ >= held_->size || now - held_->since >= kLongestHold))
    held_.reset();
  if (mtu() == before) return Effect::none;
  return mtu() > before ? Effect::raised : Effect::lowered;
}

void Search::passed(Instant now, std::uint16_t size) {
  if (size >= too_large_) too_large_ = std::uint32_t{most_} + 1;  // a late answer: it was not too large
  if (size > mtu_) {
    mtu_ = size;
    return look_up(now);
  }
  if (size < mtu_ || !confirming()) return;
  state_ = State::settled;
  if (larger_next_) return look_up(now);
  candidate_ = 0;
  open_.reset();
  await_traffic(now, kConfirmEvery);
}

void Search::failed(Instant now) {
  open_.reset();
  ++refusals_;
  if (refusals_ < (silences_ > 0 ? kRefusalsLossy : kRefusals)) {
    if (confirming()) state_ = State::suspicious;
    due_ = now + std::max(srtt_, confirming() ? kConfirmSpacing : kSpacing);
    return;
  }
  if (!confirming()) {
    too_large_ = candidate_;
    return look_up(now);
  }
  ++black_holes_;
  too_large_ = std::uint32_t{mtu_} + 1;  // asked again on the way up, should it have been bad luck
  if (!held_) held_ = Held{mtu_, now};
  mtu_ = base_;
  look_up(now);
}

}  // namespace weft::pmtu
