/// `weft stats`: the daemon's history as tables, curves, JSON or CSV.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "weft/plot.h"
#include "weft/table.h"

namespace weft::cli {

using Json = nlohmann::json;

/// How far back, in seconds, and in which steps.
struct StatsSpan {
  std::int64_t seconds = 3600;
  bool by_minute = false;
};
/// Digits and s, m, h or d; seconds as far as they are kept. Error: a sentence.
Result<StatsSpan, std::string> stats_span(std::string_view since);

// ---- pages. `series` as show_stats_history gives it, or one of show_stats_all_history's -----------------------------

Values values_of(const Json& series);
struct Extent {
  double lo = 0, hi = 0, mean = 0, last = 0;
  std::size_t known = 0;  // values; none: all of this is 0
};
Extent extent_of(const Values& values);
/// "bytes_in, the last 1 h: now 3.0 kB/s, min …, mean …, max …".
std::string stats_line(const Json& series);
/// What show_stats_summary gives: one row and a small curve each.
std::string stats_table(const Json& summary, const Style& style, std::size_t columns);
/// The same with a large curve each.
std::string stats_plots(const Json& summary, const PlotSize& size);
/// A large curve.
std::string stats_plot(const Json& series, const PlotSize& size);
/// time,NAME,…: times of the values' ends in UTC, an empty field for what is unknown.
std::string stats_csv(const std::vector<Json>& series, std::int64_t newest_ms);

}  // namespace weft::cli
