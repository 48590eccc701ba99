/// How good the way to one peer is, as the peer's ReceiverReports and our own receipts tell it. Links and
/// sessions alike.
///
/// Unit     rtt and jitter microseconds; loss and ratios 0..1; goodput bytes per second; ETX 1..100.
/// Input    only reports and receipts of the current key epoch.
/// Errors   Drop::bad_report: the report repeats, goes backwards or claims what cannot be; nothing was
/// changed. A peer
///          whose counters began anew is heard again after a few such reports.
/// Thread   one owner. Cost: O(1), no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/drop.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/report.h"

namespace weft {

enum class Trend : std::uint8_t { rising, falling, stable };
std::string_view name_of(Trend t);

/// The same samples smoothed over about 4 and about 32 of them.
class DualEwma {
 public:
  void add(double sample);
  bool started() const { return started_; }
  double fast() const { return fast_; }
  double slow() const { return slow_; }
  /// fast / slow above 1.05 or below 0.95; stable while slow is 0; nullopt before the first sample.
  std::optional<Trend> trend() const;

 private:
  double fast_ = 0;
  double slow_ = 0;
  bool started_ = false;
};

/// Smoothed round trip in integers, as RFC 6298 has it.
class SrttEstimator {
 public:
  void add(std::int64_t rtt_us);
  std::optional<std::int64_t> srtt_us() const { return started_ ? std::optional(srtt_us_) : std::nullopt; }
  std::optional<std::int64_t> rttvar_us() const {
    return started_ ? std::optional(rttvar_us_) : std::nullopt;
  }

 private:
  std::int64_t srtt_us_ = 0;
  std::int64_t rttvar_us_ = 0;
  bool started_ = false;
};

/// 1 / (forward x reverse) within [1, 100]; 100 when nothing gets through.
double etx_of(double forward, double reverse);
/// etx x (1 + SRTT/100 ms); 1 without SRTT.
double link_cost(double etx, std::optional<std::int64_t> srtt_us);

/// What a round trip came to, from a report's echo. The clocks are ours, ms since the epoch's start.
struct RttSample {
  enum class Kind : std::uint8_t { none, taken, impossible };
  Kind kind = Kind::none;
  std::int64_t rtt_us = 0;
};
/// none: no echo. impossible: echo + dwell overflows or lies in the future. A result of 0 ms is a round trip
/// under our clock's grain and counts as 500 us, so that near peers are measured at all.
RttSample rtt_of(std::uint32_t our_ts, std::uint32_t echo, std::uint16_t dwell_ms);

/// What we really sent, so that claims about it can be checked.
struct SentSoFar {
  std::uint64_t next_counter = 0;  // of the current epoch: every counter below was used
  std::uint64_t frames_total = 0;  // all epochs
};

class LinkQuality {
 public:
  struct Heard {
    bool rtt_sample = false;
    bool first_rtt = false;  // the peer has just become measured: evaluate parents
  };
  struct Tally {
    std::uint64_t reports = 0;  // refused ones too
    std::uint64_t rtt_samples = 0;
    std::uint64_t rtt_zero = 0;  // of these, under the clock's grain
    std::uint64_t rtt_impossible = 0;
    std::int64_t last_rtt_us = 0;
  };

  /// `our_ts`: our session clock now, ms.
  Result<Heard, Drop> on_report(const wire::ReceiverReport& r, const SentSoFar& sent, std::uint32_t our_ts,
                                Instant now);
  /// Our own receiver's totals, after every decoded report: what of the peer's frames came through since the
  /// last call.
  void on_own_receipts(std::uint64_t frames_total, std::uint64_t highest_counter);
  /// Our sending epoch changed. `old_next_counter`: where the old epoch's counter stood.
  void cutover(std::uint64_t old_next_counter, Instant now);

  std::optional<std::int64_t> srtt_us() const { return srtt_.srtt_us(); }
  std::optional<std::int64_t> rttvar_us() const { return srtt_.rttvar_us(); }
  std::optional<double> srtt_ms() const;
  double forward() const { return forward_; }
  double reverse() const { return reverse_; }
  double loss() const { return 1.0 - forward_; }  ///< of the last report interval
  double etx() const { return etx_; }             ///< instantaneous
  double goodput() const { return goodput_; }     ///< bytes per second
  double cost() const { return link_cost(etx_, srtt_us()); }
  std::optional<double> smoothed_loss() const;
  std::optional<double> smoothed_etx() const;
  /// Smoothed ETX x (1 + SRTT/100 ms): lqi of a link, sqi of a session.
  std::optional<double> quality_index() const;
  const DualEwma& rtt_ewma() const { return rtt_ewma_; }          // microseconds
  const DualEwma& loss_ewma() const { return loss_ewma_; }        // ratio
  const DualEwma& goodput_ewma() const { return goodput_ewma_; }  // bytes per report
  const DualEwma& jitter_ewma() const { return jitter_ewma_; }    // microseconds
  const DualEwma& etx_ewma() const { return etx_ewma_; }
  /// CE-marked frames that the peer last told.
  std::uint32_t peer_ce_frames() const { return saved_ ? saved_->ce_frames : 0; }
  const Tally& tally() const { return tally_; }

 private:
  struct Saved {  // of the last report used
    std::uint64_t highest;
    std::uint64_t frames;
    std::uint64_t bytes;
    std::uint32_t ce_frames;
    std::uint32_t reordered;
    Instant at;
  };
  struct Receipts {
    std::uint64_t frames;
    std::uint64_t highest;
  };
  enum class Verdict : std::uint8_t { fresh, foreign_highest, refused };

  Verdict judge(const wire::ReceiverReport& r, const SentSoFar& sent, Instant now);
  Heard take_rtt(const wire::ReceiverReport& r, std::uint32_t our_ts);
  void take_loss(const wire::ReceiverReport& r);
  void take_goodput(const wire::ReceiverReport& r, Instant now);
  void renew_etx();

  SrttEstimator srtt_;
  DualEwma rtt_ewma_, loss_ewma_, goodput_ewma_, jitter_ewma_, etx_ewma_;
  double forward_ = 1;
  double reverse_ = 1;
  double etx_ = 1;
  double goodput_ = 0;
  std::optional<Saved> saved_;
  std::optional<Receipts> receipts_;
  std::uint64_t old_next_counter_ = 0;
  Instant cutover_at_{};
  std::uint8_t refused_in_a_row_ = 0;
  Tally tally_;
};

}  // namespace weft
