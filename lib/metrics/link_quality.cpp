#include "metrics/link_quality.h"

#include <algorithm>

namespace weft {
namespace {
constexpr std::int64_t kSubGrainRttUs = 500;
constexpr double kMaxEtx = 100;
// Reports cannot be replayed and rarely overtake one another: this many bad ones mean that the peer began
// anew.
constexpr std::uint8_t kRefusalsToBeginAnew = 4;
// How long frames of the old epoch can still reach the peer after our cutover.
constexpr Duration kDrain = 15s;
}  // namespace

std::string_view name_of(Trend t) {
  switch (t) {
    case Trend::rising:
      return "rising";
    case Trend::falling:
      return "falling";
    case Trend::stable:
      return "stable";
  }
  return "";
}

void DualEwma::add(double sample) {
  if (!started_) {
    fast_ = slow_ = sample;
    started_ = true;
    return;
  }
  fast_ += (sample - fast_) / 4;
  slow_ += (sample - slow_) / 32;
}

std::optional<Trend> DualEwma::trend() const {
  if (!started_) return std::nullopt;
  if (slow_ == 0) return Trend::stable;
  const double ratio = fast_ / slow_;
  return ratio > 1.05 ? Trend::rising : ratio < 0.95 ? Trend::falling : Trend::stable;
}

void SrttEstimator::add(std::int64_t rtt_us) {
  if (!started_) {
    srtt_us_ = rtt_us;
    rttvar_us_ = rtt_us / 2;
    started_ = true;
    return;
  }
  const auto off = srtt_us_ > rtt_us ? srtt_us_ - rtt_us : rtt_us - srtt_us_;
  rttvar_us_ += (off >> 2) - (rttvar_us_ >> 2);
  srtt_us_ += (rtt_us >> 3) - (srtt_us_ >> 3);
}

double etx_of(double forward, double reverse) {
  const double both = forward * reverse;
  return both > 0 ? std::clamp(1 / both, 1.0, kMaxEtx) : kMaxEtx;
}

double link_cost(double etx, std::optional<std::int64_t> srtt_us) {
  return srtt_us ? etx * (1 + static_cast<double>(*srtt_us) / 1000 / 100) : 1.0;
}

RttSample rtt_of(std::uint32_t our_ts, std::uint32_t echo, std::uint16_t dwell_ms) {
  if (echo == 0) return {};
  const auto left_peer = std::uint64_t{echo} + dwell_ms;
  if (left_peer > our_ts) return {RttSample::Kind::impossible, 0};
  const auto ms = static_cast<std::int64_t>(our_ts - left_peer);
  return {RttSample::Kind::taken, ms == 0 ? kSubGrainRttUs : ms * 1000};
}

LinkQuality::Verdict LinkQuality::judge(const wire::ReceiverReport& r, const SentSoFar& sent, Instant now) {
  Verdict verdict = Verdict::fresh;
  if (r.highest_counter > 0 && r.highest_counter >= sent.next_counter) {
    // A peer that counts late frames of the old epoch into the new one reports the old epoch's counter from
    // then on. While such frames may be the very last ones, nothing in its report can be trusted.
    if (r.highest_counter >= old_next_counter_ || now - cutover_at_ < kDrain) return Verdict::refused;
    verdict = Verdict::foreign_highest;
  }
  if (!saved_) return verdict;
  const auto& s = *saved_;
  if (r.highest_counter == s.highest && r.total_frames == s.frames && r.total_bytes == s.bytes &&
      r.ce_count == s.ce_frames && r.reordered == s.reordered)
    return Verdict::refused;
  const bool back = r.highest_counter < s.highest || r.total_frames < s.frames || r.total_bytes < s.bytes ||
                    r.ce_count < s.ce_frames || r.reordered < s.reordered;
  // Frame totals outlive key epochs, so they may exceed this epoch's counters, but never what we sent
  // altogether.
  const bool too_many = !back && r.total_frames - s.frames > sent.frames_total;
  if (!back && !too_many) return verdict;
  if (++refused_in_a_row_ < kRefusalsToBeginAnew) return Verdict::refused;
  saved_.reset();
  return verdict;
}

Result<LinkQuality::Heard, Drop> LinkQuality::on_report(const wire::ReceiverReport& r, const SentSoFar& sent,
                                                        std::uint32_t our_ts, Instant now) {
  ++tally_.reports;
  const auto verdict = judge(r, sent, now);
  if (verdict == Verdict::refused) return bad(Drop::bad_report);
  refused_in_a_row_ = 0;
  const auto heard = take_rtt(r, our_ts);
  // The first report after a start or cutover is only a base.
  if (saved_) {
    if (verdict == Verdict::fresh) take_loss(r);
    take_goodput(r, now);
  }
  jitter_ewma_.add(static_cast<double>(r.jitter_us));
  saved_ = Saved{r.highest_counter, r.total_frames, r.total_bytes, r.ce_count, r.reordered, now};
  return heard;
}

LinkQuality::Heard LinkQuality::take_rtt(const wire::ReceiverReport& r, std::uint32_t our_ts) {
  const auto sample = rtt_of(our_ts, r.timestamp_echo, r.dwell_ms);
  if (sample.kind == RttSample::Kind::impossible) ++tally_.rtt_impossible;
  if (sample.kind != RttSample::Kind::taken) return {};
  ++tally_.rtt_samples;
  if (sample.rtt_us == kSubGrainRttUs) ++tally_.rtt_zero;
  tally_.last_rtt_us = sample.rtt_us;
  const bool first = !srtt_.srtt_us();
  srtt_.add(sample.rtt_us);
  rtt_ewma_.add(static_cast<double>(sample.rtt_us));
  return {.rtt_sample = true, .first_rtt = first};
}

void LinkQuality::take_loss(const wire::ReceiverReport& r) {
  const auto span = r.highest_counter - saved_->highest;
  if (span == 0) return;
  const auto came = r.total_frames - saved_->frames;
  forward_ = std::min(1.0, static_cast<double>(came) / static_cast<double>(span));
  loss_ewma_.add(loss());
  renew_etx();
}

void LinkQuality::take_goodput(const wire::ReceiverReport& r, Instant now) {
  const auto bytes = static_cast<double>(r.total_bytes - saved_->bytes);
  goodput_ewma_.add(bytes);
  const double seconds = std::chrono::duration<double>(now - saved_->at).count();
  if (seconds <= 0) return;
  const double rate = bytes / seconds;
  if (goodput_ == 0) goodput_ = rate;
  else goodput_ += (rate - goodput_) / 4;
}

void LinkQuality::renew_etx() {
  etx_ = etx_of(forward_, reverse_);
  etx_ewma_.add(etx_);
}

void LinkQuality::on_own_receipts(std::uint64_t frames_total, std::uint64_t highest_counter) {
  if (receipts_ && highest_counter > receipts_->highest && frames_total >= receipts_->frames) {
    const auto came = static_cast<double>(frames_total - receipts_->frames);
    reverse_ = std::min(1.0, came / static_cast<double>(highest_counter - receipts_->highest));
    renew_etx();
  }
  receipts_ = Receipts{frames_total, highest_counter};
}

void LinkQuality::cutover(std::uint64_t old_next_counter, Instant now) {
  saved_.reset();
  receipts_.reset();
  forward_ = 1;
  refused_in_a_row_ = 0;
  old_next_counter_ = old_next_counter;
  cutover_at_ = now;
}

std::optional<double> LinkQuality::srtt_ms() const {
  const auto us = srtt_us();
  return us ? std::optional(static_cast<double>(*us) / 1000) : std::nullopt;
}
std::optional<double> LinkQuality::smoothed_loss() const {
  return loss_ewma_.started() ? std::optional(loss_ewma_.slow()) : std::nullopt;
}
std::optional<double> LinkQuality::smoothed_etx() const {
  return etx_ewma_.started() ? std::optional(etx_ewma_.slow()) : std::nullopt;
}
std::optional<double> LinkQuality::quality_index() const {
  const auto etx = smoothed_etx();
  const auto ms = srtt_ms();
  if (!etx || !ms) return std::nullopt;
  return *etx * (1 + *ms / 100);
}

}  // namespace weft
