#include "weft/top_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "weft/reply.h"

namespace weft::cli {
namespace {

using reply::list, reply::num, reply::text, reply::values;

struct Shown {
  std::string text;
  Look look = kPlain;
};
/// How a value is written.
enum class As : std::uint8_t {
  name,
  note,   // dim
  state,  // good or not
  text,
  ms,      // milliseconds, of a round trip
  loss,    // ratio
  rate,    // bytes per second
  bytes,   // so far
  count,   // so far
  number,  // two digits behind the point
  whole,
  age_s,      // seconds ago
  age_ms,     // milliseconds ago
  recent,     // events of late: none is best
  grown,      // bytes per second, from two answers
  happened,   // events per second, from two answers
  processor,  // milliseconds of processor time, from two answers
  curve
};
struct Column {
  const char* title;
  const char* field;
  As as;
  std::size_t most;   // characters; 0: a curve, which takes what is left
  int rank;           // the lower, the longer it stays on a narrow screen
  const char* order;  // the sort that it stands for; "": none

  bool right() const {
    return as != As::name && as != As::note && as != As::state && as != As::text && as != As::curve;
  }
};

using Columns = std::vector<Column>;

const Columns kPeerColumns{
    {"PEER", "name", As::name, 24, 0, "name"},       {"TREE", "role", As::note, 6, 4, "role"},
    {"STATE", "state", As::state, 9, 9, "state"},    {"RTT", "rtt_ms", As::ms, 7, 1, "rtt"},
    {"LOSS", "loss", As::loss, 7, 2, "loss"},        {"IN", "in", As::rate, 9, 1, "in"},
    {"OUT", "out", As::rate, 9, 1, "out"},           {"COST", "cost", As::number, 6, 8, "cost"},
    {"ETX", "etx", As::number, 6, 12, ""},           {"RECEIVED", "received", As::bytes, 9, 7, "received"},
    {"SENT", "sent", As::bytes, 9, 7, "sent"},       {"UP", "up_s", As::age_s, 11, 6, "up"},
    {"HEARD", "heard_ms", As::age_ms, 8, 10, ""},    {"ADDRESS", "address", As::text, 48, 11, ""},
    {"TRAFFIC", "traffic", As::curve, 0, 3, "rate"}, {"ROUND TRIP", "rtt", As::curve, 0, 5, ""}};

const Columns kTreeColumns{{"PEER", "name", As::name, 32, 0, "name"},
                           {"TREE", "role", As::note, 6, 1, "role"},
                           {"DEPTH", "depth", As::whole, 6, 2, "depth"},
                           {"DISTANCE", "distance", As::whole, 8, 3, "distance"},
                           {"COST", "cost", As::number, 7, 4, "cost"},
                           {"COST TO ROOT", "effective_depth", As::number, 12, 6, ""},
                           {"NODES BEHIND", "nodes", As::whole, 12, 5, "nodes"},
                           {"ROOT", "root", As::text, 32, 7, ""}};

const Columns kSessionColumns{{"NODE", "name", As::name, 24, 0, "name"},
                              {"STATE", "state", As::state, 11, 5, "state"},
                              {"DIR", "dir", As::note, 3, 11, ""},
                              {"RTT", "rtt_ms", As::ms, 7, 1, "rtt"},
                              {"LOSS", "loss", As::loss, 7, 2, "loss"},
                              {"MTU", "mtu", As::whole, 5, 8, ""},
                              {"IN", "received", As::grown, 9, 3, ""},
                              {"OUT", "sent", As::grown, 9, 3, ""},
                              {"RECEIVED", "received", As::bytes, 9, 4, "received"},
                              {"SENT", "sent", As::bytes, 9, 4, "sent"},
                              {"PACKETS IN", "packets_in", As::count, 10, 9, ""},
                              {"PACKETS OUT", "packets_out", As::count, 11, 9, ""},
                              {"IDLE", "idle_ms", As::age_ms, 9, 6, "idle"},
                              {"UP", "up_s", As::age_s, 11, 7, "up"}};

const Columns kWorkerColumns{
    {"THREAD", "name", As::name, 16, 0, ""},        {"CPU", "cpu_ms", As::processor, 8, 1, ""},
    {"PACKETS", "packets", As::happened, 9, 2, ""}, {"BYTES", "bytes", As::grown, 10, 3, ""},
    {"DROPS", "drops", As::happened, 9, 4, ""},     {"HANDED OVER", "strays", As::happened, 11, 5, ""},
    {"CPU SO FAR", "cpu_ms", As::age_ms, 11, 6, ""}};

const Columns kRefusalColumns{{"CAUSE", "name", As::name, 24, 0, "name"},
                              {"LAST MINUTE", "minute", As::recent, 11, 1, "minute"},
                              {"SINCE START", "count", As::count, 11, 2, "count"},
                              {"WHAT", "text", As::text, 66, 3, ""},
                              {"BY SECOND", "curve", As::curve, 0, 4, ""}};

const Columns& columns_of(TopPage p) {
  static const Columns kNone;
  switch (p) {
    case TopPage::peers:
      return kPeerColumns;
    case TopPage::tree:
      return kTreeColumns;
    case TopPage::sessions:
      return kSessionColumns;
    case TopPage::workers:
      return kWorkerColumns;
    case TopPage::refusals:
      return kRefusalColumns;
    case TopPage::traffic:
    case TopPage::peer:
      break;
  }
  return kNone;
}

std::string age_of_ms(double ms) {
  return ms < 10'000 ? fmt::format("{:.1f} s", ms / 1000) : age_text(std::llround(ms / 1000));
}
Look processor_look(double cores) { return cores > 0.9 ? kBad : cores > 0.7 ? kWarn : kPlain; }

Shown shown_number(As as, double x) {
  switch (as) {
    case As::ms:
      return {ms_text(x)};
    case As::loss:
      return {percent_text(x), loss_look(x)};
    case As::rate:
    case As::grown:
      return {rate_text(x), x == 0 ? kDim : kPlain};
    case As::happened:
      return {count_text(x) + "/s", x == 0 ? kDim : kPlain};
    case As::processor:
      return {percent_text(x / 1000), processor_look(x / 1000)};
    case As::bytes:
      return {bytes_text(x)};
    case As::number:
      return {fmt::format("{:.2f}", x)};
    case As::whole:
      return {fmt::format("{:.0f}", x)};
    case As::recent:
      return {fmt::format("{:.0f}", x), x > 0 ? kWarn : kDim};
    case As::age_s:
      return {age_of_seconds(x)};
    case As::age_ms:
      return {age_of_ms(x)};
    default:
      return {count_text(x)};
  }
}

Shown shown(const TopModel& m, const Column& c, const Json& row) {
  const Json& value = m.field(row, c.field);
  switch (c.as) {
    case As::name:
      return {text(value), m.field(row, "broken") == Json(true) ? kBad : kBold};
    case As::note:
      return {text(value), kDim};
    case As::text:
      return {text(value)};
    case As::state: {
      const auto s = text(value);
      return {s, s == "ok" || s == "established" ? kGood : kWarn};
    }
    case As::curve:
      return {};
    case As::grown:
    case As::happened:
    case As::processor: {
      const double rate = m.rate(row, c.field, m.page() == TopPage::sessions ? "id" : "name");
      return std::isfinite(rate) ? shown_number(c.as, rate) : Shown{"-", kDim};
    }
    default:
      return value.is_number() ? shown_number(c.as, num(value)) : Shown{"-", kDim};
  }
}

/// Widths of the columns that fit; 0: left out. Curves share what is left.
std::vector<std::size_t> layout(const Columns& columns, const std::vector<std::vector<Shown>>& cells,
                                std::size_t room) {
  constexpr std::size_t kLeastCurve = 8, kMostCurve = 60, kGap = 1;
  std::vector<std::size_t> wanted(columns.size()), out(columns.size(), 0), by_rank(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    by_rank[i] = i;
    // A mark may stand behind the title.
    wanted[i] = width(columns[i].title) + (columns[i].order[0] != '\0' ? 1 : 0);
    if (columns[i].most == 0) wanted[i] = std::max(wanted[i], kLeastCurve);
    else
      for (const auto& row : cells)
        wanted[i] = std::max(wanted[i], std::min(width(row[i].text), columns[i].most));
  }
  std::ranges::stable_sort(by_rank, {}, [&](std::size_t i) { return columns[i].rank; });
  std::size_t used = 0, curves = 0;
  for (const auto i : by_rank) {
    const auto more = wanted[i] + (used > 0 ? kGap : 0);
    if (used + more > room) continue;
    used += more;
    out[i] = wanted[i];
    if (columns[i].most == 0) ++curves;
  }
  for (std::size_t i = 0; i < columns.size() && curves > 0; ++i) {
    if (columns[i].most != 0 || out[i] == 0) continue;
    const auto more = std::min(kMostCurve - std::min(kMostCurve, out[i]), (room - used) / curves);
    out[i] += more;
    used += more;
    --curves;
  }
  return out;
}

}  // namespace

std::string age_of_seconds(double s) { return age_text(std::llround(s)); }
Look loss_look(double loss) { return loss >= 0.05 ? kBad : loss >= 0.01 ? kWarn : kPlain; }

void draw_table(Screen& s, const TopModel& m, std::size_t from, std::size_t rows, bool ascii) {
  const Columns& columns = columns_of(m.page());
  const bool selects = m.page() != TopPage::workers;
  std::vector<std::vector<Shown>> cells;
  for (const auto& row : list(m.data(), "rows")) {
    if (cells.size() >= rows) break;
    auto& line = cells.emplace_back();
    for (const auto& c : columns) line.push_back(shown(m, c, row));
  }
  const auto widths = layout(columns, cells, s.columns());
  const auto line = [&](std::size_t at_row, const std::function<Shown(std::size_t)>& cell) {
    std::size_t x = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (widths[i] == 0) continue;
      const Shown c = cell(i);
      const auto fits = cut(c.text, widths[i]);
      s.put(at_row, columns[i].right() ? x + widths[i] - width(fits) : x, fits, c.look);
      x += widths[i] + 1;
    }
  };
  line(from, [&](std::size_t i) {
    std::string title = columns[i].title;
    const bool sorted = columns[i].order[0] != '\0' && columns[i].order == m.sort();
    if (sorted) title += ascii ? (m.reversed() ? "^" : "v") : m.reversed() ? "▲" : "▼";
    return Shown{title, sorted ? kBold : kDim};
  });
  for (std::size_t r = 0; r < cells.size(); ++r) {
    const Json& row = list(m.data(), "rows")[r];
    line(from + 1 + r, [&](std::size_t i) {
      if (columns[i].most != 0) return cells[r][i];
      return Shown{spark_text(values(m.field(row, columns[i].field)), widths[i], SparkFrom::zero, ascii),
                   i + 1 == columns.size() ? kPlain : kGood};
    });
    if (selects && m.offset() + r == m.selected()) s.paint(from + 1 + r, 0, {Colour::none, true});
  }
  if (cells.empty() && !m.data().is_null())
    s.put(from + 1, 0, m.filter().empty() ? "nothing here yet" : "nothing matches /" + m.filter(), kDim);
}

}  // namespace weft::cli
