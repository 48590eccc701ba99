#include "probe/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/walk.h"

namespace weft::probe {
namespace {

constexpr std::size_t kNamesShown = 4;

std::string plural(std::uint64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string names_of(const std::vector<Claim>& claims, const NameOf& name) {
  std::string out;
  for (std::size_t i = 0; i < claims.size() && i < kNamesShown; ++i)
    out += (out.empty() ? "" : ", ") + name(claims[i].peer);
  if (claims.size() > kNamesShown) out += fmt::format(" and {} more", claims.size() - kNamesShown);
  return out;
}

std::string_view how_text(HopClass how) {
  switch (how) {
    case HopClass::tree_up:
      return "up the tree";
    case HopClass::tree_down:
      return "down the tree";
    case HopClass::tree_down_cross:
      return "down the tree, off its straight way";
    case HopClass::crosslink_descend:
      return "sideways, to a node above it";
    case HopClass::crosslink_ascend:
      return "sideways, to a nearer branch";
    case HopClass::direct_peer:
      return "itself";
  }
  return "";
}

/// What nodes on the way said, newest first; empty: nothing.
std::vector<std::string> signals_of(const Report& r, const NameOf& name) {
  std::vector<std::string> out;
  for (auto it = r.signals.rbegin(); it != r.signals.rend() && out.size() < 3; ++it) {
    const auto who = name(it->reporter);
    switch (it->kind) {
      case Signal::Kind::coords_required:
        out.push_back(
            fmt::format("{}, a node on the way, says that it does not know where the target is", who));
        break;
      case Signal::Kind::path_broken:
        out.push_back(fmt::format("{}, a node on the way, says that the place it knows leads nowhere", who));
        break;
      case Signal::Kind::mtu_exceeded:
        out.push_back(
            fmt::format("{}, a node on the way, carries frames of up to {} bytes only", who, it->mtu));
        break;
    }
  }
  return out;
}

Words filter_words(const Report& r, const Record& rec, const NameOf& name) {
  switch (rec.reason) {
    case Reason::direct_peer:
      return {"it is a neighbour; nobody has to be asked", {}};
    case Reason::cached:
      return {"its place in the tree is known already", {}};
    case Reason::no_links:
      return {"this node has no link, so nobody can be asked", {"weft status says why, and what to try"}};
    case Reason::bloom_miss:
      return {
          fmt::format("none of {} claims to reach it", plural(r.links, "neighbour", "neighbours")),
          {"does it run, and is it linked? On it: weft status",
           "are both in one mesh? Both must name the same root: weft tree, here and there",
           "if it started moments ago: what it announces takes some seconds per hop; ask again",
           "is the npub right? A digit of another key names a node that does not exist: weft resolve NAME"}};
    default:
      break;
  }
  if (rec.verdict == Verdict::running) return {"waiting for a neighbour's filter to claim it", {}};
  return {fmt::format("by {} ({} of {})", names_of(r.claims, name), r.claims.size(),
                      plural(r.links, "neighbour", "neighbours")),
          {}};
}

Words lookup_words(const Report& r, const Record& rec) {
  switch (rec.reason) {
    case Reason::direct_peer:
    case Reason::cached:
      return {"not needed", {}};
    case Reason::backoff_suppressed:
      return {"lookups for it failed a moment ago and are held back (node.lookup.backoff_*)",
              {"wait, and ask again"}};
    case Reason::too_many_lookups:
      return {"too many lookups are open", {"wait, and ask again"}};
    case Reason::bloom_unconfirmed:
      return {fmt::format("asked {} in {}, and nobody answered for it", plural(r.attempts, "time", "times"),
                          duration_text(rec.elapsed.value_or(Duration{}))),
              {"a filter keeps a node for a while after it has gone, and sometimes claims one by chance: "
               "does it run? On it: "
               "weft status",
               "if it runs: is it linked, and under the same root as this node? weft tree, here and there",
               "if both are so, a node between loses questions or answers: weft probe the nodes on the way "
               "(weft tree)"}};
    default:
      break;
  }
  if (rec.verdict == Verdict::running)
    return {fmt::format("asked {}; no answer yet (attempt {})", plural(r.fanout, "neighbour", "neighbours"),
                        r.attempts),
            {}};
  return {fmt::format("it answered for its place, signed, in {} (attempt {})",
                      duration_text(r.lookup_took.value_or(Duration{})), r.attempts),
          {}};
}

Words recheck_words(const Report& r, const Record& rec) {
  if (rec.reason == Reason::direct_peer) return {"it is a neighbour", {}};
  if (rec.verdict == Verdict::ok)
    return {"it still answers lookups, so it runs: packets to it, or from it, get lost on the way", {}};
  if (rec.verdict == Verdict::running)
    return {fmt::format("is it still there? Asked {} (attempt {})",
                        plural(r.fanout, "neighbour", "neighbours"), r.attempts),
            {}};
  const std::string what = rec.reason == Reason::bloom_miss
                               ? "no neighbour claims to reach it any more"
                               : fmt::format("asked {} for its place, and nobody answers any more",
                                             plural(r.attempts, "time", "times"));
  return {what, {"it has gone, or is cut off: on it, weft status"}};
}

Words path_words(const Report& r, const Record& rec, const NameOf& name) {
  switch (rec.reason) {
    case Reason::no_coords:
      return {"its place in the tree is not known, so there is no next hop", {}};
    case Reason::disjoint_trees:
      return {"it is under another root: the two trees have not joined, or are just joining",
              {"ask again in some seconds; if it stays so, some link between the two parts is missing: weft "
               "tree, here and there"}};
    case Reason::no_next_hop:
      return {"no neighbour is closer to it than this node",
              {"a link that the tree counts on has just gone: ask again in some seconds; weft links"}};
    default:
      break;
  }
  if (!r.next_hop) return {"choosing", {}};
  const Hop& h = *r.next_hop;
  if (h.peer == r.target) return {fmt::format("straight over the link to it (MTU {})", h.mtu), {}};
  const Walk w = walk_of(r);
  const std::string far =
      w.complete ? fmt::format("; at most {} by the tree", plural(w.steps.size(), "link", "links")) : "";
  return {fmt::format("next hop {} ({}; link MTU {}){}", name(h.peer), how_text(h.how), h.mtu, far), {}};
}

Words session_words(const Report& r, const Record& rec, const NameOf& name) {
  if (rec.reason == Reason::preexisting) return {"keys are there already", {}};
  if (rec.reason == Reason::send_error)
    return {"no handshake could be sent: " + rec.detail, {"see the path above"}};
  if (rec.reason == Reason::handshake_timeout) {
    Words w{fmt::format("{} in {}, and no answer", plural(r.session.resends + 1, "handshake", "handshakes"),
                        duration_text(rec.elapsed.value_or(Duration{}))),
            signals_of(r, name)};
    w.remedies.push_back(
        "it went away since it was last heard of, or a node on the way drops what it should pass on: weft "
        "trace");
    w.remedies.push_back("or it refuses: on it, weft drops (setup_rate, setup_table_full, bad_handshake)");
    return w;
  }
  if (rec.verdict == Verdict::running) return {"handshake with the target under way", {}};
  return {fmt::format("end-to-end handshake done in {}", duration_text(rec.elapsed.value_or(Duration{}))),
          {}};
}

Words round_trip_words(const Report& r, const Record& rec, const NameOf& name) {
  const auto reports = grown(r.session.trips.reports, r.before.reports);
  switch (rec.reason) {
    case Reason::no_report: {
      Words w{"nothing came back since the handshake", signals_of(r, name)};
      w.remedies.push_back("the way back may be another one, and broken: weft probe from the other side");
      w.remedies.push_back("it restarted and lost its keys: ask again in half a minute");
      return w;
    }
    case Reason::no_echo:
      return {
          fmt::format("it answers ({}), but none measures the time", plural(reports, "report", "reports")),
          {}};
    case Reason::bad_timestamp_echo:
      return {"it answers with times that cannot be; a fault of its program or a bad clock", {}};
    default:
      break;
  }
  if (rec.verdict == Verdict::running) return {"waiting for an answer", {}};
  if (!r.rtt) return {"it answers", {}};
  if (r.rtt_by_echo) return {fmt::format("{} there and back", duration_text(*r.rtt)), {}};
  return {fmt::format("{} there and back, as its own reports tell", duration_text(*r.rtt)), {}};
}

Words ping_words(const Record& rec) {
  if (rec.reason == Reason::ip_silent)
    return {"its daemon answers, its IPv6 side does not answer ping",
            {"on it: does the interface exist (tun.enabled; ip addr show weft0)?",
             "on it: does a firewall drop ICMPv6 echo on that interface? sudo nft list ruleset"}};
  return {"its IPv6 side answers ping", {}};
}

Words full_size_words(const Report& r, const Record& rec) {
  if (rec.reason == Reason::too_big_lost)
    return {
        fmt::format("packets of {} bytes do not come back, those of {} do", r.full_size, r.largest_passed),
        {fmt::format("a link on the way carries less than its MTU says, so large transfers hang: set "
                     "transports.udp.mtu: "
                     "{} on the nodes at both ends of that link, and restart them",
                     r.largest_passed + wire::kShimOverhead),
         "to find the link: weft probe the nodes on the way, one by one (weft trace)"}};
  if (rec.verdict == Verdict::running)
    return {r.largest_passed == 0
                ? "trying"
                : fmt::format("looking for the largest that passes; so far {} bytes", r.largest_passed),
            {}};
  return {fmt::format("{} bytes in one packet, there and back (frames of {})", r.largest_passed,
                      r.largest_passed + wire::kShimOverhead),
          {}};
}

}  // namespace

std::string duration_text(Duration d) {
  const double ms = std::chrono::duration<double, std::milli>(d).count();
  if (ms >= 1000) return fmt::format("{:.1f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms < 1 ? 2 : ms < 10 ? 1 : 0);
}

Words words_of(const Report& r, Stage stage, const NameOf& name) {
  const Record& rec = r.at(stage);
  if (rec.verdict == Verdict::pending) return {};
  if (rec.reason == Reason::not_reached) return {"not reached", {}};
  if (rec.reason == Reason::not_asked) return {"not asked for", {}};
  switch (stage) {
    case Stage::filter:
      return filter_words(r, rec, name);
    case Stage::lookup:
      return lookup_words(r, rec);
    case Stage::path:
      return path_words(r, rec, name);
    case Stage::session:
      return session_words(r, rec, name);
    case Stage::round_trip:
      return round_trip_words(r, rec, name);
    case Stage::ping:
      return ping_words(rec);
    case Stage::full_size:
      return full_size_words(r, rec);
    case Stage::recheck:
      return recheck_words(r, rec);
  }
  return {};
}

std::string conclusion_of(const Report& r) {
  switch (r.overall) {
    case Overall::running:
      return "under way";
    case Overall::cancelled:
      return "cancelled";
    case Overall::ok:
      return "reachable";
    case Overall::failed: {
      constexpr std::pair<Stage, std::string_view> kEnds[] = {
          {Stage::filter, "no neighbour claims to know it"},
          {Stage::lookup, "nobody answers for its place"},
          {Stage::recheck, "it has gone"},
          {Stage::path, "no way leads there"},
          {Stage::session, "it does not answer a handshake"}};
      for (const auto& [stage, why] : kEnds)
        if (r.at(stage).verdict == Verdict::failed) return fmt::format("not reachable: {}", why);
      return "not reachable";
    }
    case Overall::partial:
      break;
  }
  if (r.at(Stage::round_trip).verdict == Verdict::failed)
    return r.at(Stage::recheck).verdict == Verdict::ok
               ? "it runs, but packets get lost on the way there or back"
               : "perhaps reachable in one direction only: nothing comes back";
  if (r.at(Stage::ping).verdict == Verdict::failed) return "its daemon is reachable, its IPv6 side is not";
  if (r.at(Stage::full_size).verdict == Verdict::failed) return "reachable, but not with large packets";
  return "partly reachable";
}

}  // namespace weft::probe
