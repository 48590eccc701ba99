/// Every question that changes nothing. Each answers the `data` of its reply; the table in request.cpp names them.
#pragma once

#include "control/advice.h"
#include "control/json.h"

namespace weft::control {

/// Errors: the text of the reply.
using Answer = Result<Json, std::string>;
inline auto missing_params(std::string_view command) {
  return bad("missing params for " + std::string(command));
}
inline auto missing(std::string_view field) { return bad("missing '" + std::string(field) + "' parameter"); }

// query_status.cpp
Answer show_status(const View& v, const Params& p);
Answer show_transports(const View& v, const Params& p);
Answer show_acl(const View& v, const Params& p);
Answer show_listening_sockets(const View& v, const Params& p);

// query_firewall.cpp
/// Ours: what mesh peers may reach, line by line, and how much was refused.
Answer show_firewall(const View& v, const Params& p);
/// The lines that open something now.
Json reachable_json(const View& v);

// query_names.cpp
/// Ours: {key: npub or name}: would it be admitted, by which line of which list, and what else stands in its way.
Answer acl_check(const View& v, const Params& p);
/// Ours: every name and where it comes from.
Answer show_names(const View& v, const Params& p);

// query_peers.cpp
Answer show_peers(const View& v, const Params& p);
Answer show_mmp(const View& v, const Params& p);
/// Ours: the neighbours that are wanted, up or not, and what stands in their way.
Answer show_wanted_peers(const View& v, const Params& p);

// query_links.cpp
Answer show_links(const View& v, const Params& p);
Answer show_connections(const View& v, const Params& p);
/// Ours: handshakes that were turned away here, and by which rule.
Answer show_refusals(const View& v, const Params& p);

// query_tree.cpp
Answer show_tree(const View& v, const Params& p);
Answer show_bloom(const View& v, const Params& p);

// query_routes.cpp. `limit`: at most that many rows, the most recently used ones.
Answer show_routing(const View& v, const Params& p);
Answer show_cache(const View& v, const Params& p);
Answer show_identity_cache(const View& v, const Params& p);
/// Ours: the next hop that would be taken now, for every destination in use.
Answer show_routes(const View& v, const Params& p);

// query_sessions.cpp
Answer show_sessions(const View& v, const Params& p);
Answer show_native_flows(const View& v, const Params& p);

// query_stats.cpp
Answer show_metrics(const View& v, const Params& p);
Answer show_stats_list(const View& v, const Params& p);
Answer show_stats_history(const View& v, const Params& p);
Answer show_stats_all_history(const View& v, const Params& p);
Answer show_stats_peers(const View& v, const Params& p);
Answer show_stats_history_all_peers(const View& v, const Params& p);
/// Ours: every series summed up, and thinned to `points` for a curve.
Answer show_stats_summary(const View& v, const Params& p);
/// Ours: every refusal by name, with its meaning.
Answer show_drops(const View& v, const Params& p);
/// Ours: workers, bursts, stages.
Answer show_dataplane(const View& v, const Params& p);

// query_top.cpp
/// Ours, for a live view: `page`, `sort`, `reverse`, `filter`, `offset`, `limit`, `points`, `window` (seconds).
Answer show_top(const View& v, const Params& p);

/// What is to be said about this node; query_status.cpp.
Advice advice_of(const View& v);
/// show_peers' and show_sessions' `mmp`, less what differs between them.
Json quality_json(const LinkQuality& q, std::string_view mode, const char* index_key);

}  // namespace weft::control
