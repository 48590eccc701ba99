#include "weft/stats.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "weft/reply.h"

namespace weft::cli {
namespace {

using reply::at, reply::integer, reply::list, reply::text;

constexpr std::int64_t kHour = 3600, kDay = 86'400;

std::int64_t step_of(const Json& series) {
  return std::max<std::int64_t>(1, integer(at(series, "granularity_seconds")));
}
std::int64_t window_of(const Json& summary) { return integer(at(summary, "window_seconds")); }

std::string span_title(const Json& series, std::size_t values) {
  return "the last " + age_text(static_cast<std::int64_t>(values) * step_of(series));
}

}  // namespace

Result<StatsSpan, std::string> stats_span(std::string_view since) {
  std::int64_t n = 0;
  const auto* const end = since.data() + since.size();
  const auto [rest, error] = std::from_chars(since.data(), end, n);
  const std::int64_t factor = rest + 1 != end ? 0
                              : *rest == 's'  ? 1
                              : *rest == 'm'  ? 60
                              : *rest == 'h'  ? kHour
                              : *rest == 'd'  ? kDay
                                              : 0;
  if (error != std::errc{} || factor == 0 || n <= 0)
    return bad(fmt::format("--since {}: digits and s, m, h or d are wanted, as in 90s, 10m, 2h, 1d", since));
  const auto seconds = n > kDay / factor ? kDay : n * factor;  // no more is kept
  return StatsSpan{seconds, seconds > kHour};
}

Values values_of(const Json& series) { return reply::values(at(series, "values")); }

Extent extent_of(const Values& values) {
  Extent e;
  for (const auto& v : values) {
    if (!v) continue;
    e.lo = e.known == 0 ? *v : std::min(e.lo, *v);
    e.hi = e.known == 0 ? *v : std::max(e.hi, *v);
    e.mean += *v;
    e.last = *v;
    ++e.known;
  }
  if (e.known > 0) e.mean /= static_cast<double>(e.known);
  return e;
}

std::string stats_line(const Json& series) {
  const auto values = values_of(series);
  const Extent e = extent_of(values);
  const auto unit = text(at(series, "unit"));
  const auto title = fmt::format("{}, {}", text(at(series, "metric")), span_title(series, values.size()));
  if (e.known == 0) return title + ": no data yet\n";
  return fmt::format("{}: now {}, min {}, mean {}, max {}\n", title,
                     values.back() ? value_text(*values.back(), unit) : "unknown", value_text(e.lo, unit),
                     value_text(e.mean, unit), value_text(e.hi, unit));
}

std::string stats_table(const Json& summary, const Style& style, std::size_t columns) {
  using Align = Table::Align;
  constexpr std::size_t kNumbers = 62;  // what stands before the curve, at most
  const std::size_t curve = columns > kNumbers + 8 ? columns - kNumbers : 8;
  Table t({{"SERIES"},
           {"NOW", Align::right},
           {"MIN", Align::right},
           {"MEAN", Align::right},
           {"MAX", Align::right},
           {"THE LAST " + age_text(window_of(summary))}});
  for (const auto& s : list(summary, "series")) {
    const auto unit = text(at(s, "unit"));
    const auto show = [&](const char* key) {
      const Json& x = at(s, key);
      return x.is_number() ? value_text(x.get<double>(), unit) : std::string("-");
    };
    t.row({{text(at(s, "metric")), Colour::bold},
           show("now"),
           show("min"),
           show("mean"),
           show("max"),
           spark_text(values_of(s), curve)});
  }
  return t.text(style, "no data yet");
}

std::string stats_plots(const Json& summary, const PlotSize& size) {
  std::string out;
  for (const auto& s : list(summary, "series")) {
    const auto values = values_of(s);
    const auto unit = text(at(s, "unit"));
    if (!out.empty()) out += "\n";
    out += text(at(s, "metric"));
    if (const Json& now = at(s, "now"); now.is_number())
      out += ": now " + value_text(now.get<double>(), unit);
    out += "\n" + plot_text(values, unit, window_of(summary), size);
  }
  return out.empty() ? "no data yet\n" : out;
}

std::string stats_plot(const Json& series, const PlotSize& size) {
  const auto values = values_of(series);
  if (extent_of(values).known == 0) return stats_line(series);
  return stats_line(series) + plot_text(values, text(at(series, "unit")),
                                        static_cast<std::int64_t>(values.size()) * step_of(series), size);
}

std::string stats_csv(const std::vector<Json>& series, std::int64_t newest_ms) {
  std::string out = "time";
  std::vector<Values> values;
  std::size_t rows = 0;
  for (const auto& s : series) {
    out += "," + text(at(s, "metric"));
    values.push_back(values_of(s));
    rows = std::max(rows, values.back().size());
  }
  out += "\n";
  const auto step = series.empty() ? 1 : step_of(series.front());
  for (std::size_t r = 0; r < rows; ++r) {
    const auto when = newest_ms / 1000 - static_cast<std::int64_t>(rows - 1 - r) * step;
    out += fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(when)));
    for (const auto& v : values) {
      const auto missing = rows - v.size();
      out += r >= missing && v[r - missing] ? fmt::format(",{}", *v[r - missing]) : std::string(",");
    }
    out += "\n";
  }
  return out;
}

}  // namespace weft::cli
