#include "weft/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "weft/plot.h"

namespace weft::cli {
namespace {

constexpr std::size_t kHead = 4;  // headline, numbers, pages, titles
constexpr std::size_t kLeastColumns = 40, kLeastRows = 10;
constexpr std::size_t kMostHandshakes = 4;
constexpr Look kPlain{}, kDim{Colour::dim, false}, kBold{Colour::bold, false}, kGood{Colour::good, false},
    kWarn{Colour::warn, false}, kBad{Colour::bad, false};

// ---- reading answers of any shape -----------------------------------------------------------------------------------

const Json& none() {
  static const Json kNone;
  return kNone;
}
const Json& at(const Json& j, std::string_view key) {
  if (!j.is_object()) return none();
  const auto it = j.find(key);
  return it == j.end() ? none() : *it;
}
std::string text(const Json& j) {
  if (j.is_string()) return clean(j.get_ref<const std::string&>());
  if (j.is_boolean()) return j.get<bool>() ? "yes" : "no";
  return j.is_number() ? j.dump() : std::string("-");
}
double num(const Json& j, double otherwise = 0) { return j.is_number() ? j.get<double>() : otherwise; }
Values values(const Json& j) {
  Values out;
  if (j.is_array())
    for (const auto& x : j) out.push_back(x.is_number() ? std::optional(x.get<double>()) : std::nullopt);
  return out;
}
const Json& rows_of(const Json& data) {
  static const Json kNone = Json::array();
  const Json& r = at(data, "rows");
  return r.is_array() ? r : kNone;
}

/// A curve in one line, from 0 to its largest value.
std::string spark(const Values& v, std::size_t columns, bool ascii) {
  constexpr std::array<const char*, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kAscii = "_.-=+*%#";
  if (v.empty() || columns == 0) return "";
  std::vector<std::optional<double>> shown(std::min(columns, v.size()));
  double most = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    auto& c = shown[i * shown.size() / v.size()];
    if (v[i] && (!c || *v[i] > *c)) c = v[i];
    if (v[i]) most = std::max(most, *v[i]);
  }
  std::string out;
  for (const auto& c : shown) {
    if (!c) {
      out += ' ';
      continue;
    }
    const auto level =
        most <= 0 ? 0 : static_cast<std::size_t>(std::lround(std::clamp(*c / most, 0.0, 1.0) * 7));
    if (ascii) out += kAscii[level];
    else out += kBlocks[level];
  }
  return out;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

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

std::string age_of_ms(double ms) {
  return ms < 10'000 ? fmt::format("{:.1f} s", ms / 1000) : age_text(std::llround(ms / 1000));
}
std::string age_of_s(double s) { return age_text(std::llround(s)); }

Look loss_look(double loss) { return loss >= 0.05 ? kBad : loss >= 0.01 ? kWarn : kPlain; }
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
      return {age_of_s(x)};
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

void draw_table(Screen& s, const TopModel& m, const Columns& columns, std::size_t from, std::size_t rows,
                bool selects, bool ascii) {
  std::vector<std::vector<Shown>> cells;
  for (const auto& row : rows_of(m.data())) {
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
    const Json& row = rows_of(m.data())[r];
    line(from + 1 + r, [&](std::size_t i) {
      if (columns[i].most != 0) return cells[r][i];
      return Shown{spark(values(m.field(row, columns[i].field)), widths[i], ascii),
                   i + 1 == columns.size() ? kPlain : kGood};
    });
    if (selects && m.offset() + r == m.selected()) s.paint(from + 1 + r, 0, {Colour::none, true});
  }
  if (cells.empty() && !m.data().is_null())
    s.put(from + 1, 0, m.filter().empty() ? "nothing here yet" : "nothing matches /" + m.filter(), kDim);
}

// ---- curves ---------------------------------------------------------------------------------------------------------

std::size_t curve_columns(std::size_t columns) { return columns >= 180 ? 3 : columns >= 76 ? 2 : 1; }

void draw_curves(Screen& s, const TopModel& m, std::size_t from, std::size_t rows, bool ascii) {
  const Json& curves = at(m.data(), "curves");
  if (!curves.is_array() || curves.empty()) return;
  const auto across = std::min(curve_columns(s.columns()), curves.size());
  const auto down = (curves.size() + across - 1) / across;
  const auto each = std::max<std::size_t>(4, rows / down);
  const auto wide = s.columns() / across;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto top = from + i / across * each, left = i % across * wide;
    if (top + 3 > from + rows) break;
    const auto v = values(at(curves[i], "values"));
    const auto unit = text(at(curves[i], "unit"));
    std::string title = text(at(curves[i], "name"));
    if (!v.empty() && v.back()) title += "  " + value_text(*v.back(), unit);
    s.put(top, left, title, kBold, wide - 1);
    const auto seconds = std::llround(num(at(m.data(), "window_s"), 600));
    const auto plot = plot_text(v, unit, seconds, {wide - 1, std::max<std::size_t>(2, each - 2), ascii});
    std::size_t row = top + 1, begin = 0;
    for (auto end = plot.find('\n'); end != std::string::npos && row < from + rows;
         end = plot.find('\n', begin)) {
      s.put(row++, left, plot.substr(begin, end - begin), kPlain, wide - 1);
      begin = end + 1;
    }
  }
}

// ---- around the page ------------------------------------------------------------------------------------------------

void draw_headline(Screen& s, const TopModel& m, std::int64_t now_ms) {
  const Json& h = m.head();
  const Json& linked = at(h, "linked");
  if (!m.trouble().empty()) {
    const auto since = (now_ms - m.trouble_since_ms()) / 1000;
    s.put(0, 0, fmt::format("reconnecting ({} s): {}", since, m.trouble()), {Colour::bad, true});
    return;
  }
  if (h.is_null()) {
    s.put(0, 0, "asking weftd", kDim);
    return;
  }
  auto x = s.put(0, 0, text(at(h, "headline")), linked == Json(true) ? kGood : kBad);
  // What stands in the way follows where there is room; it never pushes the headline out.
  const Json& advice = at(h, "advice");
  if (advice.is_string() && x + 10 < s.columns()) {
    x = s.put(0, x, "; ", kDim);
    s.put(0, x, cut(text(advice), s.columns() - x), kWarn);
  }
}

void draw_numbers(Screen& s, const TopModel& m, bool ascii) {
  const Json& h = m.head();
  if (h.is_null()) return;
  const Json& now = at(h, "now");
  const auto show = [&](const char* key, const char* unit) {
    const Json& x = at(now, key);
    return x.is_number() ? value_text(num(x), unit) : std::string("-");
  };
  std::size_t x = 0;
  const auto item = [&](std::string_view title, const std::string& value, Look look = kBold) {
    if (x + width(title) + width(value) + 1 > s.columns()) return;
    x = s.put(1, x, std::string(title) + " ", kDim);
    x = s.put(1, x, value, look) + 2;
  };
  item("in", show("link_bytes_in", "bytes/s"));
  item("out", show("link_bytes_out", "bytes/s"));
  item("rtt", show("mean_srtt_ms", "ms"));
  const double loss = num(at(now, "loss_rate"));
  item("loss", show("loss_rate", "fraction"), loss >= 0.01 ? loss_look(loss) : kBold);
  const double drops = num(at(now, "drops"));
  item("drops", show("drops", "events/s"), drops > 0 ? kWarn : kBold);
  const double cpu = num(at(now, "cpu_control")) + num(at(now, "cpu_workers"));
  item("cpu", fmt::format("{:.1f} %", cpu * 100));
  item("passed on", show("forwarded_bytes", "bytes/s"));
  item("sessions", text(at(h, "sessions")));
  item("up", age_of_s(num(at(h, "uptime_s"))));
  if (x + 12 < s.columns()) {
    Values traffic = values(at(h, "traffic_in"));
    const Values out = values(at(h, "traffic_out"));
    for (std::size_t i = 0; i < traffic.size() && i < out.size(); ++i)
      if (traffic[i] && out[i]) *traffic[i] += *out[i];
    s.put(1, x, spark(traffic, std::min<std::size_t>(60, s.columns() - x), ascii), kGood);
  }
}

void draw_pages(Screen& s, const TopModel& m) {
  std::size_t x = 0;
  for (std::size_t i = 0; i < kTopPages; ++i) {
    const auto page = static_cast<TopPage>(i);
    const bool here = page == m.page() || (page == TopPage::peers && m.page() == TopPage::peer);
    x = s.put(2, x, fmt::format("{} {}", i + 1, name_of(page)), here ? Look{Colour::none, true} : kDim) + 2;
  }
  const Json& total = at(m.data(), "total");
  std::string right;
  if (total.is_number_unsigned() && total.get<std::size_t>() > 0) {
    const auto here = rows_of(m.data()).size();
    right = fmt::format("{}-{} of {}", m.offset() + 1, m.offset() + here, total.get<std::size_t>());
  }
  if (m.paused()) right = "paused";
  if (x + width(right) <= s.columns()) s.put_right(2, s.columns(), right, m.paused() ? kWarn : kDim);
}

void draw_foot(Screen& s, const TopModel& m) {
  const auto row = s.rows() - 1;
  if (m.typing()) {
    const auto x = s.put(row, 0, "show only what contains: " + m.filter());
    s.put(row, x, " ", {Colour::none, true});
    return;
  }
  std::string keys = "q quit  ? keys  ";
  if (m.page() == TopPage::traffic || m.page() == TopPage::workers || m.page() == TopPage::peer)
    keys += fmt::format("w the last {}  ", age_text(m.window_s()));
  else keys += "s order  r turn  / filter  ";
  if (m.page() == TopPage::peers) keys += "Enter one peer  ";
  if (m.page() == TopPage::peer) keys += "Esc back  ";
  keys += "space pause";
  s.put(row, 0, keys, kDim);
  if (!m.filter().empty()) s.put_right(row, s.columns(), " filter: " + cut(m.filter(), 20), kWarn);
}

void draw_help(Screen& s) {
  constexpr std::array<std::string_view, 15> kLines{
      "weft top: what this node does, once a second",
      "",
      "1 to 6, Tab, left, right   page",
      "up, down, PgUp, PgDn       scroll; Home and End for the ends",
      "s, S                       order by the next or previous column",
      "r                          turn the order round",
      "/                          show only names and addresses that contain a text",
      "Enter                      curves of the peer under the cursor; Esc goes back",
      "w                          curves over 10 minutes, an hour, a day",
      "space                      pause",
      "+, -                       ask less or more often",
      "q                          quit",
      "",
      "drops by second and by day: weft stats; all of it as JSON: weft show top",
      "any key goes back"};
  for (std::size_t i = 0; i < kLines.size() && i + 1 < s.rows(); ++i)
    s.put(i + 1, 2, kLines[i], i == 0 ? kBold : kPlain);
}

void draw_tree_head(Screen& s, const TopModel& m, std::size_t row) {
  std::string path;
  const Json& names = at(m.data(), "path");
  if (names.is_array())
    for (auto it = names.rbegin(); it != names.rend(); ++it) path += (path.empty() ? "" : " < ") + text(*it);
  s.put(row, 0,
        cut(fmt::format("root {}, depth {}, parent changed {} times; path from the root: {}",
                        text(at(m.head(), "root")), text(at(m.head(), "depth")),
                        text(at(m.data(), "parent_switches")), path),
            s.columns()),
        kPlain);
}

void draw_handshakes(Screen& s, const TopModel& m, std::size_t row, std::size_t rows) {
  const Json& list = at(m.data(), "handshakes");
  if (!list.is_array()) return;
  s.put(row, 0, list.empty() ? "no handshake was turned away" : "handshakes turned away, newest first", kDim);
  for (std::size_t i = 0; i < list.size() && i + 1 < rows; ++i) {
    const Json& h = list[i];
    if (!h.is_array() || h.size() < 4) continue;
    const auto who = text(h[2]).empty() ? std::string("unknown") : text(h[2]);
    s.put(row + 1 + i, 0,
          cut(fmt::format("{} ago  {} at {}: {}", age_of_s(num(h[0])), who, text(h[1]), text(h[3])),
              s.columns()));
  }
}

/// Rows of the refused handshakes, their title included.
std::size_t handshake_rows(std::size_t body) { return body >= 14 ? kMostHandshakes + 1 : 0; }
/// Rows of the workers' curves.
std::size_t worker_curves(std::size_t body) { return body >= 12 ? body / 2 : 0; }

}  // namespace

TopRoom top_room(TopPage page, std::size_t columns, std::size_t rows) {
  const std::size_t body = rows > kHead + 1 ? rows - kHead - 1 : 1;
  const auto points = std::min<std::size_t>(600, 2 * (columns / curve_columns(columns)));
  switch (page) {
    case TopPage::tree:
      return {body > 1 ? body - 1 : 1, 0};
    case TopPage::refusals:
      return {body - handshake_rows(body), 60};
    case TopPage::traffic:
    case TopPage::peer:
    case TopPage::workers:
      return {body, points};
    default:
      return {body, 60};
  }
}

Screen draw_top(const TopModel& m, std::size_t columns, std::size_t rows, std::int64_t now_ms, bool ascii) {
  Screen s(columns, rows);
  if (columns < kLeastColumns || rows < kLeastRows) {
    if (rows > 0) s.put(0, 0, fmt::format("too small: {} by {} at least", kLeastColumns, kLeastRows));
    return s;
  }
  if (m.helping()) {
    draw_help(s);
    return s;
  }
  draw_headline(s, m, now_ms);
  draw_numbers(s, m, ascii);
  draw_pages(s, m);
  const auto from = kHead - 1, body = rows - kHead - 1;
  switch (m.page()) {
    case TopPage::peers:
      draw_table(s, m, kPeerColumns, from, body, true, ascii);
      break;
    case TopPage::tree:
      draw_tree_head(s, m, from);
      draw_table(s, m, kTreeColumns, from + 1, body - 1, true, ascii);
      break;
    case TopPage::sessions:
      draw_table(s, m, kSessionColumns, from, body, true, ascii);
      break;
    case TopPage::traffic:
    case TopPage::peer: {
      if (m.page() == TopPage::peer)
        s.put_right(2, columns,
                    text(at(m.data(), "name")) + (at(m.data(), "up") == Json(false) ? " (not linked)" : ""),
                    kBold);
      draw_curves(s, m, from, body + 1, ascii);
      break;
    }
    case TopPage::workers: {
      const auto curves = worker_curves(body);
      draw_table(s, m, kWorkerColumns, from, body - curves, false, ascii);
      draw_curves(s, m, from + 1 + body - curves, curves, ascii);
      break;
    }
    case TopPage::refusals: {
      const auto below = handshake_rows(body);
      draw_table(s, m, kRefusalColumns, from, body - below, true, ascii);
      if (below > 0) draw_handshakes(s, m, from + 1 + body - below, below);
      break;
    }
  }
  // What is shown is old by now.
  if (!m.trouble().empty())
    for (std::size_t r = 1; r + 1 < rows; ++r) s.paint(r, 0, kDim);
  draw_foot(s, m);
  return s;
}

}  // namespace weft::cli
