// History for people: spans, curves that fit and tell gaps, tables and CSV.
#include "weft/stats.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::cli {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == '\n') out.emplace_back();
    else out.back() += c;
  }
  if (out.back().empty()) out.pop_back();
  return out;
}
Json series(Json values, const char* name = "bytes_in", const char* unit = "bytes/s", int step = 1) {
  return {{"metric", name}, {"unit", unit}, {"granularity_seconds", step}, {"values", std::move(values)}};
}
/// Lowest and highest row of the curve (0 is the top) in which column `c` has dots, margin left out.
std::string column(const std::string& plot, std::size_t c, std::size_t rows) {
  std::string out;
  const auto all = lines(plot);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto& l = all[r];
    const auto axis = l.find_first_of("|+");
    const auto at = axis + 1 + c;
    out += at < l.size() ? l[at] : ' ';
  }
  return out;
}

TEST(StatsSpan, SecondsUpToAnHourThenMinutes) {
  EXPECT_EQ(stats_span("90s")->seconds, 90);
  EXPECT_FALSE(stats_span("1h")->by_minute);
  EXPECT_TRUE(stats_span("61m")->by_minute);
  EXPECT_EQ(stats_span("1d")->seconds, 86'400);
  EXPECT_EQ(stats_span("9999999999999d")->seconds, 86'400) << "no more is kept";
}

TEST(StatsSpan, WhatIsNoSpanIsSaid) {
  for (const char* text : {"", "h", "10", "-5m", "0s", "1.5h", "10w", "5 m", "99999999999999999999s"})
    EXPECT_TRUE(has(stats_span(text).error(), "as in 90s, 10m, 2h, 1d")) << text;
}

TEST(Plot, EveryLineFitsIntoTheColumnsAndEveryRowIsThere) {
  Values v;
  for (int i = 0; i < 3600; ++i) v.emplace_back(i % 97);
  for (const std::size_t columns : {20U, 40U, 80U, 200U})
    for (const bool ascii : {false, true}) {
      const auto all = lines(plot_text(v, "bytes/s", 3600, {columns, 7, ascii}));
      ASSERT_EQ(all.size(), 8U);
      for (const auto& l : all) EXPECT_LE(width(l), columns) << l;
    }
}

TEST(Plot, ALineGoesWhereTheValuesGoAndIsJoined) {
  Values v;
  for (int i = 0; i <= 50; ++i) v.emplace_back(i);
  const auto plot = plot_text(v, "peers", 1, {63, 11, true});
  EXPECT_EQ(column(plot, 0, 11), "          *");
  EXPECT_EQ(column(plot, 50, 11), "*          ");
  EXPECT_EQ(column(plot, 25, 11), "     *     ");
  const auto jump = plot_text({0.0, 0.0, 100.0, 100.0}, "peers", 1, {20, 5, true});
  EXPECT_EQ(column(jump, 3, 5), "    *");
  EXPECT_EQ(column(jump, 4, 5), "**** ") << "the step is drawn";
}

TEST(Plot, GapsStayEmptyAndAShortPeakStaysVisible) {
  Values v(600, 1.0);
  for (int i = 200; i < 400; ++i) v[static_cast<std::size_t>(i)] = std::nullopt;
  v[500] = 100;
  const auto plot = plot_text(v, "peers", 1, {72, 5, true});
  EXPECT_EQ(column(plot, 30, 5), "     ");
  EXPECT_EQ(column(plot, 10, 5), "    *");
  EXPECT_EQ(column(plot, 50, 5), "*****");
}

TEST(Plot, TheScaleBeginsAtZeroUnlessTheValuesStayFarFromIt) {
  EXPECT_TRUE(has(lines(plot_text({20.0, 90.0}, "ms", 1, {40, 5, true}))[4], "0.0 ms +"));
  EXPECT_TRUE(has(lines(plot_text({101.0, 104.0}, "ms", 1, {40, 5, true}))[4], "101 ms +"));
  EXPECT_TRUE(has(lines(plot_text({7.0, 7.0}, "ms", 1, {40, 5, true}))[0], "10 ms +"));
  EXPECT_TRUE(has(lines(plot_text({0.0, 0.0}, "ms", 1, {40, 5, true}))[4], "0.0 ms +*"));
}

TEST(Plot, NothingKnownIsSaid) {
  EXPECT_EQ(plot_text({}, "ms", 1, {}), "no data yet\n");
  EXPECT_EQ(plot_text({std::nullopt, std::nullopt}, "ms", 1, {}), "no data yet\n");
}

TEST(Plot, ValuesAreShownInTheirUnits) {
  EXPECT_EQ(value_text(1'234'000, "bytes/s"), "1.2 MB/s");
  EXPECT_EQ(value_text(0.0123, "fraction"), "1.2 %");
  EXPECT_EQ(value_text(0.5, "cores"), "50.0 %");
  EXPECT_EQ(value_text(12'000, "packets/s"), "12.0k/s");
  EXPECT_EQ(value_text(0.5, "events/s"), "0.5/s");
  EXPECT_EQ(value_text(3, "peers"), "3");
  EXPECT_EQ(value_text(1.034, "ratio"), "1.03");
}

TEST(Stats, OneSeriesIsSummedUpInALine) {
  EXPECT_EQ(stats_line(series({1000, nullptr, 3000})),
            "bytes_in, the last 3 s: now 3.0 kB/s, min 1.0 kB/s, mean 2.0 kB/s, max 3.0 kB/s\n");
  EXPECT_EQ(stats_line(series({nullptr, nullptr}, "mesh_size", "nodes", 60)),
            "mesh_size, the last 2 min: no data yet\n");
}

TEST(Stats, AllSeriesAreATableThatFits) {
  Json one = series({1, 2, 3}), two = series({nullptr, nullptr, nullptr}, "srtt_ms", "ms");
  one["now"] = 2500;
  one["min"] = 1;
  const Json few = {{"series", {one, two}}, {"window_seconds", 3}};
  const auto text = stats_table(few, {}, 80);
  EXPECT_TRUE(has(text, "THE LAST 3 s"));
  EXPECT_TRUE(has(text, "bytes_in  2.5 kB/s  1 B/s"));
  EXPECT_TRUE(has(text, "srtt_ms          -      -"));
  EXPECT_TRUE(has(stats_plots(few, {80, 5, true}), "bytes_in: now 2.5 kB/s\n"));
  EXPECT_TRUE(has(stats_plots(few, {80, 5, true}), "srtt_ms\nno data yet\n"));
  Json values = Json::array();
  for (int i = 0; i < 1440; ++i) values.push_back(i * 1'000'000);
  for (const std::size_t columns : {80U, 200U})
    for (const auto& l : lines(stats_table({{"series", {series(values)}}}, {}, columns)))
      EXPECT_LE(width(l), columns);
}

TEST(Stats, CsvHasTheTimeOfEveryValue) {
  EXPECT_EQ(stats_csv({series({1, nullptr, 2.5}, "a", "x", 60), series({7, 8, 9}, "b", "x", 60)},
                      1'700'000'000'000),
            "time,a,b\n2023-11-14T22:11:20Z,1,7\n2023-11-14T22:12:20Z,,8\n2023-11-14T22:13:20Z,2.5,9\n");
}

TEST(Stats, AnyReplyOfAnyShapeIsShownSomehow) {
  for (const Json& d :
       {Json(), Json(5), Json::array(), Json{{"series", 5}}, Json{{"series", {1, "x", Json::array()}}},
        Json{{"values", {"x", nullptr, 5}}, {"granularity_seconds", -4}, {"unit", 7}}}) {
    EXPECT_FALSE(stats_table(d, {}, 80).empty());
    EXPECT_FALSE(stats_line(d).empty());
    EXPECT_FALSE(stats_plots(d, {}).empty());
    EXPECT_FALSE(stats_plot(d, {}).empty());
    EXPECT_FALSE(stats_csv({d}, 0).empty());
  }
}

}  // namespace
}  // namespace weft::cli
