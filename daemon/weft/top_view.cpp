#include "weft/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weft/plot.h"
#include "weft/reply.h"
#include "weft/top_table.h"

namespace weft::cli {
namespace {

using reply::at, reply::list, reply::num, reply::text, reply::values;

constexpr std::size_t kHead = 4;  // headline, numbers, pages, titles
constexpr std::size_t kLeastColumns = 40, kLeastRows = 10;
constexpr std::size_t kMostHandshakes = 4;

// ---- curves ---------------------------------------------------------------------------------------------------------

std::size_t curve_columns(std::size_t columns) { return columns >= 180 ? 3 : columns >= 76 ? 2 : 1; }

void draw_curves(Screen& s, const TopModel& m, std::size_t from, std::size_t rows, bool ascii) {
  const Json& curves = list(m.data(), "curves");
  if (curves.empty()) return;
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
  item("up", age_of_seconds(num(at(h, "uptime_s"))));
  if (x + 12 < s.columns()) {
    Values traffic = values(at(h, "traffic_in"));
    const Values out = values(at(h, "traffic_out"));
    for (std::size_t i = 0; i < traffic.size() && i < out.size(); ++i)
      if (traffic[i] && out[i]) *traffic[i] += *out[i];
    s.put(1, x, spark_text(traffic, std::min<std::size_t>(60, s.columns() - x), SparkFrom::zero, ascii),
          kGood);
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
    const auto here = list(m.data(), "rows").size();
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
  const Json& names = list(m.data(), "path");
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
          cut(fmt::format("{} ago  {} at {}: {}", age_of_seconds(num(h[0])), who, text(h[1]), text(h[3])),
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
      draw_table(s, m, from, body, ascii);
      break;
    case TopPage::tree:
      draw_tree_head(s, m, from);
      draw_table(s, m, from + 1, body - 1, ascii);
      break;
    case TopPage::sessions:
      draw_table(s, m, from, body, ascii);
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
      draw_table(s, m, from, body - curves, ascii);
      draw_curves(s, m, from + 1 + body - curves, curves, ascii);
      break;
    }
    case TopPage::refusals: {
      const auto below = handshake_rows(body);
      draw_table(s, m, from, body - below, ascii);
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
