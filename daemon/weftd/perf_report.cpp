#include "weftd/perf_report.h"

#include <fmt/format.h>

namespace weft::daemon {

std::string PerfReport::lines(const control::ShardTotals& now, double seconds) {
  std::string out;
  const auto secs = seconds > 0 ? seconds : 1.0;
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto runs = now.stages[i].runs - last_.stages[i].runs;
    const auto items = now.stages[i].items - last_.stages[i].items;
    const auto ns = now.stages[i].ns - last_.stages[i].ns;
    if (runs == 0) continue;
    if (!out.empty()) out += '\n';
    out += fmt::format(
        "[perf {:.0f}s] {:<13} {:>9.0f}/s {:>9.0f} items/s {:>7.1f} items/run {:>8.0f} ns/item {:>5.1f}% of "
        "a core",
        secs, name_of(static_cast<Stage>(i)), static_cast<double>(runs) / secs,
        static_cast<double>(items) / secs, static_cast<double>(items) / static_cast<double>(runs),
        items > 0 ? static_cast<double>(ns) / static_cast<double>(items) : 0.0,
        static_cast<double>(ns) / secs / 1e7);
  }
  const auto sizes = [&](std::string_view name, const auto& new_slots, const auto& old_slots) {
    std::string row;
    for (std::size_t i = 0; i < Histogram::kSlots; ++i)
      if (const auto n = new_slots[i] - old_slots[i]; n > 0)
        row += fmt::format(" <{}:{}", std::size_t{1} << i, n);
    if (!row.empty())
      out += fmt::format("{}[perf {:.0f}s] {:<13}{}", out.empty() ? "" : "\n", secs, name, row);
  };
  sizes("burst_in", now.burst_in, last_.burst_in);
  sizes("run_out", now.run_out, last_.run_out);
  last_ = now;
  return out;
}

}  // namespace weft::daemon
