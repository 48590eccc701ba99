#include "weft/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/guard_pages.h"
#include "weft/reply.h"
#include "weft/stats.h"

namespace weft::cli {
namespace {

using Align = Table::Align;
using reply::at, reply::integer, reply::list, reply::num, reply::text, reply::truth;

template <class F>
std::string number_or_dash(const Json& j, F f) {
  return j.is_number() ? f(j.get<double>()) : "-";
}
std::string plural(std::size_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

Colour loss_colour(const Json& loss) {
  return num(loss) >= 0.05 ? Colour::bad : num(loss) >= 0.01 ? Colour::warn : Colour::none;
}

std::string line(std::string_view title, std::string_view value) {
  return fmt::format("  {:<10} {}\n", title, value);
}

std::string ago(std::int64_t now_ms, const Json& then_ms) {
  if (!then_ms.is_number_integer() || then_ms == 0) return "-";
  return age_text((now_ms - integer(then_ms)) / 1000);
}

}  // namespace

bool is_linked(const Json& data) { return truth(at(data, "weft", "linked")); }

std::string Page::status(const Json& d) const {
  const Json& w = at(d, "weft");
  const bool linked = is_linked(d);
  std::string out = style.paint(linked ? Colour::good : Colour::bad, text(at(w, "headline"))) + "\n\n";
  out += line("npub", text(at(d, "npub")));
  out += line("address", text(at(d, "ipv6_addr")));
  out += line("interface", fmt::format("{} ({}), MTU {}; packets up to {} bytes pass every link whole",
                                       text(at(d, "tun_name")), text(at(d, "tun_state")),
                                       text(at(w, "tun_mtu")), text(at(d, "effective_ipv6_mtu"))));
  out += line("names", at(w, "dns").is_string() ? "*.fips answered on " + text(at(w, "dns"))
                                                : std::string("no DNS responder"));
  out += line("firewall", reachable_text(w, at(d, "tun_state") == Json("active")));
  out += line("daemon", fmt::format("{} {}, pid {}, up {}", text(at(d, "version")), text(at(d, "state")),
                                    text(at(d, "pid")), age_text(integer(at(d, "uptime_secs")))));
  if (!truth(at(d, "persistent")))
    out += line("key", "for this run only: the next start will be another node");
  const Json& f = at(d, "forwarding");
  out += line("traffic", fmt::format("{} datagrams sent, {} received, {} passed on for others",
                                     count_text(num(at(f, "originated_packets"))),
                                     count_text(num(at(f, "delivered_packets"))),
                                     count_text(num(at(f, "forwarded_packets")))));
  const auto items = [&](std::string_view title, const Json& lines) {
    if (!lines.empty()) out += fmt::format("\n{}:\n", title);
    for (const auto& x : lines) out += "  - " + text(x) + "\n";
  };
  items(linked ? "Not linked" : "Why", list(w, "why"));
  const Json& next = list(w, "next_steps");
  if (!next.empty()) out += "\nWhat to do, the likeliest first:\n";
  for (std::size_t i = 0; i < next.size(); ++i) out += fmt::format("  {}. {}\n", i + 1, text(next[i]));
  items("Note", list(w, "notes"));
  return out;
}

std::string Page::peers(const Json& d) const {
  Table t({{"PEER"},
           {"ADDRESS"},
           {"DIR"},
           {"TREE"},
           {"RTT", Align::right},
           {"LOSS", Align::right},
           {"SENT", Align::right},
           {"RECEIVED", Align::right},
           {"UP", Align::right},
           {"STATE"}});
  for (const auto& p : list(d, "peers")) {
    const bool stale = at(p, "connectivity") != Json("connected");
    t.row({{text(at(p, "display_name")), Colour::bold},
           text(at(p, "transport_addr")),
           at(p, "direction") == Json("outbound") ? "out" : "in",
           truth(at(p, "is_parent"))  ? "parent"
           : truth(at(p, "is_child")) ? "child"
                                      : "-",
           number_or_dash(at(p, "mmp", "srtt_ms"), ms_text),
           {number_or_dash(at(p, "mmp", "loss_rate"), percent_text), loss_colour(at(p, "mmp", "loss_rate"))},
           bytes_text(num(at(p, "stats", "bytes_sent"))),
           bytes_text(num(at(p, "stats", "bytes_recv"))),
           ago(now_ms, at(p, "authenticated_at_ms")),
           {text(at(p, "connectivity")), stale ? Colour::warn : Colour::good}});
  }
  return t.text(style, "no peers; `weft status` says why");
}

std::string Page::wanted(const Json& d) const {
  Table t({{"PEER"}, {"NPUB"}, {"ADDRESSES"}, {"FROM"}, {"STATE"}});
  for (const auto& p : list(d, "peers")) {
    std::string addresses;
    for (const auto& a : list(p, "addresses"))
      addresses += (addresses.empty() ? "" : ", ") + text(at(a, "addr"));
    std::string state = "linked";
    if (!truth(at(p, "up"))) {
      state = at(p, "trouble").is_string() ? text(at(p, "trouble")) : "no answer";
      if (truth(at(p, "dialling"))) state += "; asking now";
      else if (at(p, "next_try_ms").is_number())
        state += "; next try in " + age_text((integer(at(p, "next_try_ms")) - now_ms + 999) / 1000);
    }
    t.row({{text(at(p, "display_name")), Colour::bold},
           text(at(p, "npub")),
           addresses.empty() ? "-" : addresses,
           truth(at(p, "kept")) ? "weft peer add" : "file",
           {state, truth(at(p, "up")) ? Colour::good : Colour::warn}});
  }
  return t.text(style, "no peers are configured; add one: weft peer add NPUB HOST:PORT");
}

std::string Page::links(const Json& d, const Json& connections) const {
  Table t({{"LINK", Align::right},
           {"REMOTE"},
           {"DIR"},
           {"STATE"},
           {"MTU", Align::right},
           {"HOW KNOWN"},
           {"SOCKET"},
           {"SENT", Align::right},
           {"RECEIVED", Align::right},
           {"LAST HEARD", Align::right},
           {"AGE", Align::right}});
  for (const auto& l : list(d, "links"))
    t.row({text(at(l, "link_id")),
           text(at(l, "remote_addr")),
           text(at(l, "direction")),
           {text(at(l, "state")), at(l, "state") == Json("connected") ? Colour::good : Colour::warn},
           text(at(l, "weft", "mtu")),
           text(at(l, "weft", "mtu_from")),
           at(l, "socket") == Json("connected") ? "own" : "shared",
           bytes_text(num(at(l, "stats", "bytes_sent"))),
           bytes_text(num(at(l, "stats", "bytes_recv"))),
           ago(now_ms, at(l, "stats", "last_recv_ms")),
           ago(now_ms, at(l, "created_at_ms"))});
  std::string out = t.text(style, "no links");
  if (const auto n = list(connections, "connections").size(); n > 0)
    out += fmt::format("\n{} under way; see weft show connections\n", plural(n, "handshake"));
  return out;
}

std::string Page::tree(const Json& d) const {
  std::string out;
  const bool root = truth(at(d, "is_root"));
  out += line("root", root ? std::string("this node")
                           : text(at(d, "root")) +
                                 (at(d, "root_npub").is_string() ? " " + text(at(d, "root_npub")) : ""));
  out += line("parent", root ? std::string("-") : text(at(d, "parent_display_name")));
  out += line("depth", text(at(d, "depth")));
  std::string path;
  for (const auto& a : list(d, "my_coords")) path += (path.empty() ? "" : " > ") + text(a).substr(0, 8);
  out += line("path", path) + "\n";
  Table t({{"PEER"}, {"DEPTH", Align::right}, {"DISTANCE", Align::right}, {"ROOT"}});
  for (const auto& p : list(d, "peers")) {
    const bool same = at(p, "root") == at(d, "root");
    t.row({{text(at(p, "display_name")), Colour::bold},
           text(at(p, "depth")),
           same ? text(at(p, "distance_to_us")) : "-",
           {text(at(p, "root")).substr(0, 8), same ? Colour::none : Colour::warn}});
  }
  return out + t.text(style, "no peer has announced itself yet");
}

std::string Page::sessions(const Json& d) const {
  Table t({{"NODE"},
           {"STATE"},
           {"RTT", Align::right},
           {"LOSS", Align::right},
           {"PATH MTU", Align::right},
           {"SENT", Align::right},
           {"RECEIVED", Align::right},
           {"IDLE", Align::right}});
  for (const auto& s : list(d, "sessions")) {
    const Json& mtu = at(s, "mmp", "path_mtu");
    t.row({{text(at(s, "display_name")), Colour::bold},
           {text(at(s, "state")), at(s, "state") == Json("established") ? Colour::good : Colour::warn},
           number_or_dash(at(s, "mmp", "srtt_ms"), ms_text),
           number_or_dash(at(s, "mmp", "loss_rate"), percent_text),
           mtu == Json(65535) ? "-" : text(mtu),
           bytes_text(num(at(s, "stats", "bytes_sent"))),
           bytes_text(num(at(s, "stats", "bytes_recv"))),
           ago(now_ms, at(s, "last_activity_ms"))});
  }
  return t.text(style, "no sessions; one begins with the first packet to a node");
}

std::string Page::routes(const Json& d) const {
  Table t({{"DESTINATION"}, {"ADDRESS"}, {"VIA"}, {"BY"}, {"TREE HOPS", Align::right}});
  for (const auto& r : list(d, "routes"))
    t.row(
        {{text(at(r, "display_name")), Colour::bold},
         text(at(r, "ipv6_addr")),
         at(r, "next_hop").is_string() ? Cell(text(at(r, "next_hop_name"))) : Cell("no route", Colour::warn),
         text(at(r, "stage")),
         text(at(r, "tree_distance"))});
  return t.text(style, "no destinations yet");
}

std::string Page::cache(const Json& d) const {
  std::string out = fmt::format("{} of {} entries, {} expired, kept {} after last use\n\n",
                                text(at(d, "count")), text(at(d, "max_entries")), text(at(d, "expired")),
                                age_text(integer(at(d, "default_ttl_ms")) / 1000));
  Table t({{"NODE"},
           {"ADDRESS"},
           {"DEPTH", Align::right},
           {"PATH MTU", Align::right},
           {"AGE", Align::right},
           {"USED", Align::right}});
  for (const auto& e : list(d, "entries"))
    t.row({{text(at(e, "display_name")), Colour::bold},
           text(at(e, "ipv6_addr")),
           text(at(e, "depth")),
           text(at(e, "path_mtu")),
           age_text(integer(at(e, "age_ms")) / 1000),
           ago(now_ms, at(e, "last_used_ms"))});
  return out + t.text(style, "no coordinates cached");
}

std::string Page::bloom(const Json& d) const {
  Table t({{"PEER"}, {"NODES", Align::right}, {"FILL", Align::right}, {"SEQUENCE", Align::right}});
  for (const auto& f : list(d, "peer_filters"))
    t.row({{text(at(f, "display_name")), Colour::bold},
           number_or_dash(at(f, "estimated_count"), [](double x) { return fmt::format("about {:.0f}", x); }),
           number_or_dash(at(f, "fill_ratio"), percent_text),
           text(at(f, "filter_sequence"))});
  return t.text(style, "no filters yet");
}

std::string Page::transports(const Json& d) const {
  Table t({{"TRANSPORT"},
           {"LOCAL"},
           {"STATE"},
           {"MTU", Align::right},
           {"SENT", Align::right},
           {"RECEIVED", Align::right},
           {"ERRORS", Align::right},
           {"KERNEL DROPS", Align::right},
           {"NOTE"}});
  for (const auto& x : list(d, "transports")) {
    const Json& s = at(x, "stats");
    const std::string name = at(x, "name").is_string() ? "/" + text(at(x, "name")) : "";
    t.row({{text(at(x, "type")) + name, Colour::bold},
           text(at(x, "local_addr")),
           {text(at(x, "state")), at(x, "state") == Json("up") ? Colour::good : Colour::warn},
           text(at(x, "mtu")),
           bytes_text(num(at(s, "bytes_sent"))),
           bytes_text(num(at(s, "bytes_recv"))),
           count_text(num(at(s, "send_errors")) + num(at(s, "recv_errors"))),
           count_text(num(at(s, "kernel_drops"))),
           at(x, "weft", "note").is_string() ? text(at(x, "weft", "note")) : ""});
  }
  return t.text(style, "no transports");
}

std::string Page::drops(const Json& d, bool all) const {
  Table t({{"NAME"}, {"COUNT", Align::right}, {"MEANING"}});
  for (const auto& x : list(d, "drops"))
    if (all || num(at(x, "count")) > 0)
      t.row({text(at(x, "name")), text(at(x, "count")), text(at(x, "text"))});
  return t.text(style, "nothing was refused or dropped");
}

std::string Page::acl(const Json& d) const {
  std::string out =
      line("mode", text(at(d, "effective_mode")) + ", others: " + text(at(d, "default_decision")));
  const auto tokens = [&](std::string_view title, const char* file, const char* everybody,
                          const char* entries) {
    out += line(title, text(at(d, file)));
    if (truth(at(d, everybody))) out += line("", "ALL");
    for (const auto& e : list(d, entries)) out += line("", text(e));
  };
  tokens("allow", "allow_file", "allow_all", "allow_file_entries");
  tokens("deny", "deny_file", "deny_all", "deny_file_entries");
  return out;
}

std::string Page::refusals(const Json& d) const {
  Table t({{"WHEN", Align::right}, {"FROM"}, {"WHO"}, {"WHY"}});
  for (const auto& r : list(d, "refusals"))
    t.row({ago(now_ms, at(r, "at_ms")), text(at(r, "from")), text(at(r, "display_name")),
           text(at(r, "text")) + (at(r, "rule").is_string() ? ": " + text(at(r, "rule")) : "")});
  Table counts({{"CAUSE"}, {"TIMES", Align::right}, {"MEANING"}});
  for (const auto& c : list(d, "counted"))
    counts.row({text(at(c, "reason")), count_text(num(at(c, "count"))), text(at(c, "text"))});
  const std::string shown = t.text(style, "nobody was turned away");
  return list(d, "counted").empty() ? shown : shown + "\n" + counts.text(style, "");
}

std::string Page::metrics(const Json& counters, const Json& mmp, const Json& dataplane, bool all) const {
  Table q({{"LINK"},
           {"RTT", Align::right},
           {"LOSS", Align::right},
           {"ETX", Align::right},
           {"GOODPUT", Align::right},
           {"RTT TREND"},
           {"CE", Align::right}});
  for (const auto& p : list(mmp, "peers")) {
    const Json& l = at(p, "link_layer");
    q.row({{text(at(p, "display_name")), Colour::bold},
           number_or_dash(at(l, "srtt_ms"), ms_text),
           {percent_text(num(at(l, "loss_rate"))), loss_colour(at(l, "loss_rate"))},
           fmt::format("{:.2f}", num(at(l, "etx"))),
           rate_text(num(at(l, "goodput_bps"))),
           text(at(l, "rtt_trend")),
           text(at(l, "ecn_ce_count"))});
  }
  std::string out = q.text(style, "no links measured");
  out += fmt::format("\nworkers: {} encrypt, {} decrypt, sealing with {}\n\n",
                     text(at(dataplane, "encrypt_workers")), text(at(dataplane, "decrypt_workers")),
                     text(at(dataplane, "aead")));
  Table t({{"COUNTER"}, {"VALUE", Align::right}});
  for (const char* family : {"forwarding", "tree", "bloom", "lookup", "errors", "congestion"}) {
    const Json& f = at(counters, family);
    if (!f.is_object()) continue;
    for (const auto& [key, value] : f.items())
      if (all || num(value) > 0) t.row({fmt::format("{}.{}", family, key), text(value)});
  }
  return out + t.text(style, "all counters are 0");
}

std::string Page::stats_list(const Json& d) const {
  Table t({{"SERIES"}, {"OF"}, {"UNIT"}, {"WHAT"}});
  for (const auto& m : list(d, "metrics"))
    t.row({{text(at(m, "name")), Colour::bold},
           text(at(m, "scope")),
           text(at(m, "unit")),
           text(at(m, "weft", "text"))});
  for (const auto& m : list(at(d, "weft"), "refusals"))
    t.row({{text(at(m, "name")), Colour::bold},
           text(at(m, "scope")),
           text(at(m, "unit")),
           text(at(m, "text"))});
  return t.text(style, "no series");
}

std::string Page::stats_peers(const Json& d) const {
  Table t({{"PEER"}, {"ACTIVE"}, {"FIRST SEEN", Align::right}, {"LAST CONTACT", Align::right}});
  for (const auto& p : list(d, "peers"))
    t.row({{text(at(p, "display_name")), Colour::bold},
           text(at(p, "is_active")),
           age_text(integer(at(p, "first_seen_secs_ago"))),
           age_text(integer(at(p, "last_contact_secs_ago")))});
  return t.text(style, "no peer has been seen yet");
}

std::string Page::history(const Json& d, bool plot, std::size_t columns) const {
  const auto values = values_of(d);
  const Extent e = extent_of(values);
  const std::string title =
      fmt::format("{} ({}), the last {}", text(at(d, "metric")), text(at(d, "unit")),
                  age_text(static_cast<std::int64_t>(values.size()) * integer(at(d, "granularity_seconds"))));
  if (e.known == 0) return title + ": no data yet\n";
  std::string out = fmt::format("{}: min {:.6g}, mean {:.6g}, max {:.6g}, last {:.6g}, {} of {} values\n",
                                title, e.lo, e.mean, e.hi, e.last, e.known, values.size());
  if (plot) return out + spark_text(values, columns) + "\n";
  for (const auto& x : values) out += x ? fmt::format("{:.6g}\n", *x) : std::string("-\n");
  return out;
}

}  // namespace weft::cli
