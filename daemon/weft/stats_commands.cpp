#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "weft/client.h"
#include "weft/pages.h"
#include "weft/reply.h"
#include "weft/shared.h"
#include "weft/stats.h"

namespace weft::cli {
namespace {

struct Options {
  std::string first, second;
  std::string since = "1h", granularity;
  bool plot = false, csv = false, ascii = false;
  std::string metric, peer, window = "10m";
};

PlotSize screen(bool ascii, bool one) {
  winsize w{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0;
  PlotSize s{known ? w.ws_col : std::size_t{80}, 11, ascii};
  if (!one) s.rows = 5;
  else if (known) s.rows = std::clamp<std::size_t>(w.ws_row - std::min<std::size_t>(w.ws_row, 5), 5, 21) | 1U;
  return s;
}

/// Which of the two words is the series and which the peer. Error: a sentence.
struct Wanted {
  std::string peer, series;  // empty: this node, all of them
};
Result<Wanted, std::string> wanted(const Shared& shared, const Options& o) {
  if (o.first.empty()) return Wanted{};
  if (!o.second.empty()) return Wanted{o.first, o.second};
  const auto known = ask(shared.socket, "show_stats_list");
  if (!known) return bad(known.error());
  bool of_peers = false;
  for (const auto& m : reply::list(*known, "metrics")) {
    if (reply::word(m, "name") != o.first) continue;
    if (reply::word(m, "scope") == "node") return Wanted{"", o.first};
    of_peers = true;
  }
  if (of_peers) return bad(o.first + " is recorded for peers: weft stats PEER " + o.first);
  if (o.first.starts_with("drop_")) return Wanted{"", o.first};
  return Wanted{o.first, ""};
}

/// Every value of one series, or of all of them.
int whole_series(const Shared& shared, const Options& o, const Wanted& want, Json params,
                 const StatsSpan& span) {
  const bool one = !want.series.empty();
  if (one) params["metric"] = want.series;
  params["granularity"] = !o.granularity.empty() ? o.granularity : span.by_minute ? "1m" : "1s";
  const auto d = ask(shared.socket, one ? "show_stats_history" : "show_stats_all_history", params);
  if (!d) return fail(d.error());
  if (shared.json) {
    print_json(*d);
    return kDone;
  }
  std::vector<Json> series;
  if (one) series.push_back(*d);
  else
    for (const auto& s : reply::list(*d, "series")) series.push_back(s);
  const auto size = screen(o.ascii, one);
  if (o.csv) {
    std::cout << stats_csv(series, reply::integer(reply::at(*d, "weft", "newest_ms")));
  } else if (o.plot) {
    std::cout << stats_plot(series[0], size);
  } else {
    std::cout << stats_line(series[0]) << spark_text(values_of(series[0]), size.columns) << "\n";
  }
  return kDone;
}

int stats(const Shared& shared, const Options& o) {
  const auto span = stats_span(o.since);
  if (!span) return fail(span.error(), kMisuse);
  const auto want = wanted(shared, o);
  if (!want) return fail(want.error());
  Json params = {{"window", std::to_string(span->seconds) + "s"}};
  if (!want->peer.empty()) {
    params["peer"] = want->peer;
    // A word alone may be either. It came here only after an answer of the daemon, so this is about the word.
    if (o.second.empty() && !ask(shared.socket, "resolve", {{"name", want->peer}}))
      return fail(want->peer +
                  " is neither a recorded series (weft stats list) nor a known peer (weft stats peers)");
  }
  if (!want->series.empty() || o.csv || shared.json)
    return whole_series(shared, o, *want, std::move(params), *span);
  const auto size = screen(o.ascii, false);
  params["points"] = o.plot ? 2 * size.columns : size.columns;
  const auto d = ask(shared.socket, "show_stats_summary", params);
  if (!d) return fail(d.error());
  std::cout << (o.plot ? stats_plots(*d, size) : stats_table(*d, style(), size.columns));
  return kDone;
}

int history(const Shared& shared, const Options& o) {
  Json params = {{"metric", o.metric},
                 {"window", o.window},
                 {"granularity", o.granularity.empty() ? "1s" : o.granularity}};
  if (!o.peer.empty()) params["peer"] = o.peer;
  return print(shared, "show_stats_history", params,
               [&](const Json& d) { return Page{}.history(d, o.plot, screen(false, true).columns); });
}

}  // namespace

void add_stats(CLI::App& app, const Shared& shared) {
  const auto o = std::make_shared<Options>();
  CLI::App* stats_app =
      app.add_subcommand("stats", "An hour of seconds, a day of minutes: of this node or of a peer");
  stats_app->require_subcommand(0, 1);
  stats_app->add_option("PEER|SERIES", o->first,
                        "A peer (npub or name), or a series of this node; none: all series");
  stats_app->add_option("SERIES", o->second, "A series of that peer; none: all of them");
  stats_app->add_option("--since", o->since, "How far back: digits and s, m, h or d")->capture_default_str();
  stats_app->add_option("--granularity", o->granularity, "1s or 1m; else what the span allows");
  auto* plot = stats_app->add_flag("--plot", o->plot, "Curves as wide as the terminal");
  stats_app->add_flag("--csv", o->csv, "Comma-separated, with the time of each value")->excludes(plot);
  stats_app->add_flag("--ascii", o->ascii, "Curves without braille characters");
  stats_app->callback([stats_app, shared, o] {
    if (stats_app->get_subcommands().empty()) shared.code = stats(shared, *o);
  });
  stats_app->footer(
      "Examples: weft stats bytes_in --plot; weft stats friend srtt_ms --since 1d --plot; weft stats friend");
  const auto add = [&](const char* name, const char* help, std::function<int()> act) {
    CLI::App* c = stats_app->add_subcommand(name, help);
    c->callback([act = std::move(act), shared] { shared.code = act(); });
    return c;
  };
  add("list", "What is recorded", [shared] {
    return print(shared, "show_stats_list", nullptr,
                 [](const Json& d) { return Page{style()}.stats_list(d); });
  });
  add("peers", "Peers with a record", [shared] {
    return print(shared, "show_stats_peers", nullptr,
                 [](const Json& d) { return Page{style()}.stats_peers(d); });
  });
  add("metrics", "All counters, as JSON", [shared] { return print(shared, "show_metrics", nullptr, {}); });
  auto* one = add("history", "One series as plain numbers", [shared, o] { return history(shared, *o); });
  one->add_option("METRIC", o->metric, "See stats list")->required();
  one->add_option("--peer", o->peer, "Of this peer: npub, or a name");
  one->add_option("--window", o->window, "How far back: digits and s, m or h")->capture_default_str();
  one->add_option("--granularity", o->granularity, "1s or 1m");
  one->add_flag("--plot", o->plot, "A line of blocks");
}

}  // namespace weft::cli
