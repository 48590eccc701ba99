#include "weft/probe_page.h"

#include <fmt/format.h>

#include <array>

#include "weft/reply.h"

namespace weft::cli {
namespace {

using reply::at, reply::list, reply::num, reply::truth;

constexpr std::size_t kNameWidth = 10;

/// What a member says, cleaned; "" when it says nothing.
std::string text(const Json& j, std::string_view key) { return clean(reply::word(j, key)); }
double number(const Json& j, std::string_view key) { return num(at(j, key)); }

bool settled(const std::string& verdict) {
  return verdict == "ok" || verdict == "failed" || verdict == "skipped";
}

/// The stages' names for people: what each one asks.
std::string title(const std::string& stage) {
  constexpr std::array<std::pair<const char*, const char*>, 8> kTitles{{{"filter", "claimed"},
                                                                        {"lookup", "lookup"},
                                                                        {"path", "next hop"},
                                                                        {"session", "session"},
                                                                        {"round_trip", "round trip"},
                                                                        {"ping", "ping"},
                                                                        {"full_size", "full size"},
                                                                        {"recheck", "still there"}}};
  for (const auto& [name, shown] : kTitles)
    if (stage == name) return shown;
  return stage;
}

std::string padded(std::string s, std::size_t n) {
  if (width(s) < n) s.append(n - width(s), ' ');
  return s;
}

std::string stage_line(const Json& stage, const Style& style) {
  const std::string verdict = text(stage, "verdict");
  const Colour colour = verdict == "ok" ? Colour::good : verdict == "failed" ? Colour::bad : Colour::dim;
  const std::string mark = verdict == "skipped" ? "-" : verdict;
  std::string out = fmt::format("  {}  {}  {}\n", padded(title(text(stage, "stage")), kNameWidth),
                                style.paint(colour, padded(mark, 6)), text(stage, "text"));
  if (verdict != "failed") return out;
  for (const auto& r : list(stage, "remedies"))
    if (r.is_string())
      out += fmt::format("  {}  {}\n", std::string(kNameWidth + 8, ' '), "* " + clean(r.get<std::string>()));
  return out;
}

}  // namespace

std::string ProbePage::update(const Json& report) {
  std::string out;
  if (!header_) {
    header_ = true;
    const Json& t = at(report, "target");
    out = fmt::format("{}  {}  {}\n", text(t, "display_name"), text(t, "npub"), text(t, "ipv6_addr"));
  }
  const Json& stages = list(at(report, "weft"), "stages");
  for (; shown_ < stages.size() && settled(text(stages[shown_], "verdict")); ++shown_) {
    const auto reason = text(stages[shown_], "reason");
    if (reason != "not_reached" && reason != "not_asked") out += stage_line(stages[shown_], style_);
  }
  return out;
}

std::string ProbePage::waiting(const Json& report) const {
  const Json& stages = list(at(report, "weft"), "stages");
  if (shown_ >= stages.size()) return "";
  if (text(stages[shown_], "verdict") != "running") return "";
  return fmt::format("  {}  {}", padded(title(text(stages[shown_], "stage")), kNameWidth),
                     style_.paint(Colour::dim, text(stages[shown_], "text") + " …"));
}

std::string ProbePage::conclusion(const Json& report) const {
  const std::string overall = text(report, "overall");
  const Colour colour = overall == "ok" ? Colour::good : overall == "partial" ? Colour::warn : Colour::bad;
  return style_.paint(colour, text(at(report, "weft"), "conclusion")) + "\n";
}

std::string trace_text(const Json& report, const Style& style) {
  const Json& w = at(report, "weft");
  const Json& walk = at(w, "walk");
  const Json& steps = list(walk, "steps");
  const Json& path = at(report, "path");
  std::string out = fmt::format("  {:>2}  {}\n", 0, "this node");
  std::size_t n = 0;
  const bool complete = truth(at(walk, "complete"));
  if (steps.empty()) return "  the way is not known\n";
  for (const auto& s : steps) {
    const bool last = ++n == steps.size();
    const bool known = truth(at(s, "known"));
    if (last && !complete && n > 1) out += "   ?  (nodes that this node cannot tell)\n";
    std::string how = known ? "known" : "inferred";
    std::string why;
    if (n == 1 && known) {
      why = last ? "a neighbour" : "this node's next hop";
      if (at(s, "link_rtt_ms").is_number()) why += ", link round trip " + ms_text(number(s, "link_rtt_ms"));
      if (at(s, "link_mtu").is_number()) why += fmt::format(", link MTU {:.0f}", number(s, "link_mtu"));
    } else if (last) {
      why = known ? "the target; it answered" : "the target; it has not answered";
    } else {
      why = "on the straight way along the tree";
    }
    out += fmt::format("  {:>2}  {}  {}  {}\n",
                       last && !complete && n > 1 ? std::string("?") : std::to_string(n),
                       padded(text(s, "display_name"), 20),
                       style.paint(known ? Colour::good : Colour::dim, padded(how, 8)), why);
  }
  out += "\n";
  const auto line = [&](const char* what, const std::string& basis, const std::string& said) {
    out += fmt::format("  {}  {}  {}\n", padded(what, 12), padded(basis, 8), said);
  };
  if (complete)
    line("links there", steps.size() == 1 ? "known" : "inferred",
         fmt::format("{}{}", steps.size() == 1 ? "" : "at most ", steps.size()));
  if (at(path, "tree_distance").is_number()) {
    const Json& ago = at(w, "coords_proven_ago_ms");
    line("tree", ago.is_number() ? "signed" : "hearsay",
         fmt::format("{:.0f} up, {:.0f} down by its place in the tree{}", number(path, "tree_hops_up"),
                     number(path, "tree_hops_down"),
                     ago.is_number()
                         ? fmt::format(", which it signed {} ago", age_text(ago.get<std::int64_t>() / 1000))
                         : ", as read in passing"));
  }
  if (at(walk, "links_back").is_number())
    line("links back", "measured",
         fmt::format("{:.0f}, by the hop limit its packets arrive with", number(walk, "links_back")));
  const Json& session = at(report, "session");
  if (at(session, "path_mtu").is_number())
    line("path MTU", "measured",
         fmt::format("frames of {:.0f} bytes, as the nodes on the way say", number(session, "path_mtu")));
  if (number(w, "largest_passed") > 0)
    line("packet", "measured", fmt::format("{:.0f} bytes came back", number(w, "largest_passed")));
  if (at(w, "rtt_us").is_number()) line("round trip", "measured", ms_text(number(w, "rtt_us") / 1000));
  for (const auto& s : list(w, "signals"))
    line("said by", "hearsay", fmt::format("{}: {}", text(s, "reporter_name"), text(s, "kind")));
  return out;
}

}  // namespace weft::cli
