#include "control/queries.h"

namespace weft::control {

Answer show_tree(const View& v, const Params&) {
  const Tree& t = v.node.tree();
  const TreeState& s = t.state();
  Json peers = Json::array();
  for (const auto& [addr, claim] : s.claims()) {
    Json j = {{"display_name", v.name(addr)}, {"node_addr", addr.hex()}};
    if (!claim.path.empty()) {
      const auto d = tree_distance(s.path(), claim.path);
      j["coords"] = path_json(claim.path);
      j["depth"] = claim.path.size() - 1;
      // The reference saturates at its word's end for another root.
      j["distance_to_us"] = d == kInfiniteDistance ? Json(UINT64_MAX) : Json(d);
      j["root"] = claim.root().hex();
      j["weft"] = {{"announces", claim.heard}, {"clock_lead_secs", claim.clock_lead_secs}};
    }
    peers.push_back(std::move(j));
  }
  Json root_npub = nullptr;
  if (s.is_root()) root_npub = v.node.identity().npub();
  else if (const auto* id = v.node.identities().peek(s.root())) root_npub = crypto::npub_of(id->key);
  const std::size_t known = peers.size();
  return Json{{"declaration_sequence", s.sequence()},
              {"declaration_signed", t.is_signed()},
              {"depth", s.depth()},
              {"is_root", s.is_root()},
              {"my_coords", path_json(s.path())},
              {"my_node_addr", s.own().hex()},
              {"parent", s.parent().hex()},
              {"parent_display_name", v.name(s.parent())},
              {"peer_tree_count", known},
              {"peers", std::move(peers)},
              {"root", s.root().hex()},
              {"root_npub", std::move(root_npub)},
              {"stats", tree_json(t.counters())}};
}

Answer show_bloom(const View& v, const Params&) {
  const BloomExchange& b = v.node.bloom();
  const double max_fpr = v.node.config().node.bloom.max_inbound_fpr;
  Json filters = Json::array();
  for (const auto& [addr, p] : v.node.links().peers()) {
    const auto* in = b.inbound(addr);
    Json j = {{"display_name", v.name(addr)},
              {"filter_sequence", in ? in->sequence : 0U},
              {"has_filter", in != nullptr},
              {"peer", addr.hex()}};
    if (in != nullptr) {
      j["estimated_count"] = number(in->filter.estimate(max_fpr));
      j["fill_ratio"] = in->filter.fill();
      j["set_bits"] = in->filter.ones();
    }
    filters.push_back(std::move(j));
  }
  Json j = {{"is_leaf_only", v.node.config().node.leaf_only},
            {"leaf_dependent_count", 0U},
            {"leaf_dependents", Json::array()},
            {"own_node_addr", v.node.identity().addr().hex()},
            {"peer_filters", std::move(filters)},
            {"sequence", b.sequence()},
            {"stats", bloom_json(b.counters())},
            {"uptree_estimated_count", nullptr},
            {"uptree_fill_ratio", nullptr}};
  const TreeState& s = v.node.tree().state();
  if (!s.is_root() && v.node.links().find(s.parent()) != nullptr) {
    const Filter up = b.outgoing(s.parent());
    j["uptree_estimated_count"] = number(up.estimate(max_fpr));
    j["uptree_fill_ratio"] = up.fill();
  }
  return j;
}

}  // namespace weft::control
