#include "control/command.h"
#include "probe/probes.h"
#include "probe/walk.h"
#include "probe/words.h"

namespace weft::control {
namespace {

using probe::Record;
using probe::Report;
using probe::Stage;

std::string_view class_text(HopClass c) {
  switch (c) {
    case HopClass::tree_up:
      return "tree_up";
    case HopClass::tree_down:
      return "tree_down";
    case HopClass::tree_down_cross:
      return "tree_down_cross";
    case HopClass::crosslink_descend:
      return "crosslink_descend";
    case HopClass::crosslink_ascend:
      return "crosslink_ascend";
    case HopClass::direct_peer:
      return "direct_peer";
  }
  return "";
}

bool leaves_tree_walk(HopClass c) {
  return c == HopClass::tree_down_cross || c == HopClass::crosslink_descend ||
         c == HopClass::crosslink_ascend;
}

Json ms_or_null(const std::optional<Duration>& d) { return d ? Json(to_ms(*d)) : Json(nullptr); }

Json stage_json(const Report& r, Stage s) {
  const Record& rec = r.at(s);
  return {{"detail", text_or_null(rec.detail)},
          {"elapsed_ms", ms_or_null(rec.elapsed)},
          {"reason", text_or_null(probe::name_of(rec.reason))},
          {"verdict", probe::name_of(rec.verdict)}};
}

Json path_part(const Report& r, const probe::NameOf& name) {
  Json j = stage_json(r, Stage::path);
  j["computed_locally"] = true;
  j["observed"] = false;
  j["coords_known"] = r.coords.has_value();
  for (const char* key : {"our_depth", "their_depth", "same_root", "lca", "lca_depth", "tree_hops_up",
                          "tree_hops_down", "tree_distance", "next_hop", "no_hop_reason"})
    j[key] = nullptr;
  j["our_coords"] = r.coords ? path_json(r.own_path) : Json::array();
  j["their_coords"] = r.coords ? path_json(r.coords->path) : Json::array();
  if (r.coords) {
    const Path& theirs = r.coords->path;
    j["our_depth"] = r.own_path.size() - 1;
    j["their_depth"] = theirs.size() - 1;
    j["same_root"] = r.own_path.back() == theirs.back();
    if (const std::size_t shared = probe::shared_end(r.own_path, theirs); shared > 0) {
      j["lca"] = theirs[theirs.size() - shared].hex();
      j["lca_depth"] = shared - 1;
      j["tree_hops_up"] = r.own_path.size() - shared;
      j["tree_hops_down"] = theirs.size() - shared;
      j["tree_distance"] = r.own_path.size() + theirs.size() - 2 * shared;
    }
  }
  if (r.next_hop)
    j["next_hop"] = {{"class", class_text(r.next_hop->how)},
                     {"direct_peer", r.next_hop->peer == r.target},
                     {"display_name", name(r.next_hop->peer)},
                     {"leaves_tree_walk", leaves_tree_walk(r.next_hop->how)},
                     {"node_addr", r.next_hop->peer.hex()}};
  else if (const auto why = r.at(Stage::path).reason; why == probe::Reason::no_next_hop)
    j["no_hop_reason"] = "no_closer_peer";
  else j["no_hop_reason"] = text_or_null(probe::name_of(why));
  return j;
}

Json rtt_part(const Report& r) {
  const auto& t = r.session.trips;
  Json j = stage_json(r, Stage::round_trip);
  j["reports_seen"] = probe::grown(t.reports, r.before.reports);
  j["samples"] = probe::grown(t.samples, r.before.samples);
  j["zero_samples"] = probe::grown(t.zero, r.before.zero);
  j["arith_failures"] = probe::grown(t.impossible, r.before.impossible);
  if (r.rtt) j["rtt_ms"] = to_ms(*r.rtt);
  put_if(j, "srtt_ms", r.session.srtt_ms);
  return j;
}

Json discovery_part(const Report& r, const std::vector<Duration>& attempts) {
  Json ladder = Json::array();
  for (const Duration d : attempts) ladder.push_back(to_ms(d) / 1000);
  Json source = nullptr;
  if (r.is_neighbour) source = "direct_peer";
  else if (r.lookup_took) source = "lookup";
  else if (r.coords_were_cached) source = "cache";
  Json j = stage_json(r, Stage::lookup);
  j["attempt_timeouts_secs"] = std::move(ladder);
  j["attempts"] = r.attempts == 0 ? Json(nullptr) : Json(r.attempts);
  j["source"] = std::move(source);
  return j;
}

Json session_part(const Report& r) {
  Json j = stage_json(r, Stage::session);
  j["established"] = r.session.established;
  j["preexisting"] = r.session_preexisting;
  put_if(j, "path_mtu", r.session.path_mtu);
  return j;
}

/// A session that was opened here stays until it has been idle for long: closing it would only cost the next packet a
/// handshake, and the other side is not told of an end anyway.
Json cleanup_part(const Report& r) {
  const bool left = r.session.established;
  return {{"coords_were_cached", r.coords_were_cached},
          {"identity_was_cached", true},
          {"left_intact_reason", !left                   ? Json(nullptr)
                                 : r.session_preexisting ? Json("preexisting")
                                                         : Json("left_to_idle_timeout")},
          {"lookup_issued", r.lookup_issued},
          {"session_created_and_torn_down", false},
          {"session_left_intact", left},
          {"warmups_sent", r.warmups}};
}

Json walk_part(const Report& r, const probe::NameOf& name) {
  const auto w = probe::walk_of(r);
  Json steps = Json::array();
  for (const auto& s : w.steps) {
    Json step = {{"display_name", name(s.node)}, {"known", s.known}, {"node_addr", s.node.hex()}};
    if (r.next_hop && s.node == r.next_hop->peer) {
      put_if(step, "link_rtt_ms", r.next_hop->link_rtt_ms);
      step["link_mtu"] = r.next_hop->mtu;
    }
    steps.push_back(std::move(step));
  }
  return {{"complete", w.complete}, {"links_back", or_null(w.links_back)}, {"steps", std::move(steps)}};
}

Json weft_part(const Report& r, const probe::NameOf& name) {
  Json stages = Json::array();
  for (std::size_t i = 0; i < probe::kStages; ++i) {
    const auto s = static_cast<Stage>(i);
    const auto words = probe::words_of(r, s, name);
    Json j = stage_json(r, s);
    j["stage"] = probe::name_of(s);
    j["text"] = words.text;
    j["remedies"] = words.remedies;
    stages.push_back(std::move(j));
  }
  Json claims = Json::array();
  for (const auto& c : r.claims)
    claims.push_back(
        {{"display_name", name(c.peer)}, {"node_addr", c.peer.hex()}, {"tree_peer", c.tree_peer}});
  constexpr std::array<const char*, 3> kKinds{"coords_required", "path_broken", "mtu_exceeded"};
  Json signals = Json::array();
  for (const auto& s : r.signals)
    signals.push_back({{"kind", kKinds[static_cast<std::size_t>(s.kind)]},
                       {"mtu", s.mtu},
                       {"reporter", s.reporter.hex()},
                       {"reporter_name", name(s.reporter)}});
  return {{"claims", std::move(claims)},
          {"conclusion", probe::conclusion_of(r)},
          {"coords_proven_ago_ms", r.coords ? ms_or_null(r.coords->proven_ago) : Json(nullptr)},
          {"echoes_sent", r.echoes_sent},
          {"full_size", r.full_size},
          {"largest_passed", r.largest_passed},
          {"rtt_by_echo", r.rtt_by_echo},
          {"rtt_us", r.rtt ? Json(to_us(*r.rtt)) : Json(nullptr)},
          {"signals", std::move(signals)},
          {"stages", std::move(stages)},
          {"walk", walk_part(r, name)}};
}

Result<std::uint64_t, std::string> id_of(const Node& node, const Params& p) {
  const auto id = p.number("probe_id");
  if (!id) return missing("probe_id");
  if (node.probes().jobs().find(*id) == nullptr) return bad("unknown probe id: " + std::to_string(*id));
  return *id;
}

}  // namespace

Json probe_json(const Node& node, Now now, std::uint64_t id, const probe::Probes::Job& job) {
  const Report& r = job.probe.report();
  const probe::NameOf name = [&](const NodeAddr& a) { return node.display_name(a); };
  Json bloom = stage_json(r, Stage::filter);
  bloom["fanout"] = r.lookup_issued ? Json(r.fanout) : Json(nullptr);
  return {{"bloom", std::move(bloom)},
          {"cleanup", cleanup_part(r)},
          {"discovery", discovery_part(r, node.probes().lookup_attempts())},
          {"elapsed_ms", to_ms(r.ended.value_or(now.mono) - r.started)},
          {"overall", probe::name_of(r.overall)},
          {"path", path_part(r, name)},
          {"probe_id", id},
          {"rtt", rtt_part(r)},
          {"session", session_part(r)},
          {"target",
           {{"display_name", name(r.target)},
            {"ipv6_addr", text_of(mesh_addr_of(r.target))},
            {"node_addr", r.target.hex()},
            {"npub", crypto::npub_of(job.key)}}},
          {"tick_ms", to_ms(probe::Probe::kLook)},
          {"weft", weft_part(r, name)}};
}

Json progress_json(const Node& node, Now now, std::uint64_t id, const probe::Probes::Job& job) {
  return {{"report", probe_json(node, now, id, job)}, {"state", job.probe.finished() ? "done" : "running"}};
}

Answer probe_start(Node& node, Now now, Outbox& out, const Params& p) {
  if (!p.present()) return missing_params("probe_start");
  const auto npub = p.text("npub");
  if (!npub) return missing("npub");
  const auto key = node.find_key(*npub);
  if (!key) return bad("invalid peer npub: " + key.error());
  const auto id = node.start_probe(now, *key, false, out);
  if (!id) return bad(id.error());
  const NodeAddr addr = crypto::node_addr_of(*key);
  return Json{{"budget_ms", to_ms(node.probes().jobs().budgets().total(false))},
              {"display_name", node.display_name(addr)},
              {"node_addr", addr.hex()},
              {"npub", crypto::npub_of(*key)},
              {"probe_id", *id}};
}

Answer probe_poll(Node& node, Now now, Outbox&, const Params& p) {
  const auto id = id_of(node, p);
  if (!id) return bad(id.error());
  const auto* job = node.probes().jobs().find(*id);
  Json reply = progress_json(node, now, *id, *job);
  if (job->probe.finished()) node.probes().jobs().forget(*id);
  return reply;
}

Answer probe_cancel(Node& node, Now now, Outbox&, const Params& p) {
  const auto id = id_of(node, p);
  if (!id) return bad(id.error());
  node.probes().jobs().cancel(*id, now.mono);
  return Json{{"cancelled", true}, {"probe_id", *id}};
}

Result<std::uint64_t, std::string> start_followed(Node& node, Now now, Outbox& out, const Params& p) {
  if (!p.present()) return missing_params("probe");
  const auto target = p.text("target");
  if (!target) return missing("target");
  const auto key = target_of(node, *target);
  if (!key) return bad(key.error());
  return node.start_probe(now, *key, true, out);
}

}  // namespace weft::control
