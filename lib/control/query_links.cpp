#include "control/queries.h"

namespace weft::control {
namespace {

Json link_json(const View& v, LinkId link, TransportId transport, const Endpoint& to, bool outbound,
               std::string_view state, std::int64_t created_ms, const LinkStats* s) {
  Json j = {{"created_at_ms", created_ms},
            {"direction", outbound ? "outbound" : "inbound"},
            {"link_id", link.value},
            {"remote_addr", to.text()},
            {"state", state},
            {"stats",
             {{"bytes_recv", s ? s->bytes_recv.get() : 0U},
              {"bytes_sent", s ? s->bytes_sent.get() : 0U},
              {"last_recv_ms", s && s->frames_recv.get() != 0 ? v.unix_ms(s->last_recv.get()) : 0},
              {"packets_recv", s ? s->frames_recv.get() : 0U},
              {"packets_sent", s ? s->frames_sent.get() : 0U}}},
            {"transport_id", transport.value}};
  if (s == nullptr || !v.shell.link_socket) return j;
  const auto socket = v.shell.link_socket(link);
  j["socket"] = socket.connected ? "connected" : "listening";
  j["socket_why"] = text_or_null(socket.why);
  j["local_addr"] = text_or_null(socket.local_addr);
  return j;
}

/// `mtu_from`: "configured" (the far side cannot be asked, or it is switched off), "searching", "found", or "suspicious"
/// while full frames seem to get lost.
Json mtu_json(const View& v, const link::Peer& p) {
  const pmtu::Search* search = v.node.mtus().search(p.link);
  std::string_view from = "configured";
  if (search != nullptr) from = search->state() == pmtu::State::settled ? "found" : name_of(search->state());
  return {{"is_weft", p.features.has_value()},
          {"mtu", p.mtu},
          {"mtu_from", from},
          {"mtu_probes", search ? search->rounds() : 0U},
          {"black_holes", search ? search->black_holes() : 0U}};
}

}  // namespace

Answer show_links(const View& v, const Params&) {
  Json rows = Json::array();
  const auto& links = v.node.links();
  for (const auto& [addr, p] : links.peers()) {
    rows.push_back(
        link_json(v, p.link, p.transport, p.to, p.initiator, "connected", p.up_since_unix_ms, p.stats.get()));
    rows.back()["weft"] = mtu_json(v, p);
  }
  for (const auto& [index, d] : links.dials())
    if (!d.is_rekey && !d.peer_was_up)
      rows.push_back(
          link_json(v, d.link, d.transport, d.to, true, "connecting", v.unix_ms(d.started), nullptr));
  return Json{{"links", std::move(rows)}};
}

Answer show_connections(const View& v, const Params&) {
  Json rows = Json::array();
  const auto row = [&](LinkId link, bool outbound, std::string_view state, Instant started,
                       std::uint32_t resends) {
    return Json{{"direction", outbound ? "outbound" : "inbound"},
                {"handshake_state", state},
                {"idle_ms", v.age_ms(started)},
                {"link_id", link.value},
                {"resend_count", resends},
                {"started_at_ms", v.unix_ms(started)}};
  };
  for (const auto& [index, d] : v.node.links().dials()) {
    if (d.is_rekey || d.peer_was_up) continue;
    Json j = row(d.link, true, "sent_msg1", d.started, d.resends);
    j["expected_peer"] = crypto::npub_of(d.key);
    rows.push_back(std::move(j));
  }
  for (const auto& [index, c] : v.node.links().pending_inbound())
    if (v.node.links().find(c.addr) == nullptr)
      rows.push_back(row(c.link, false, "received_msg1", c.created, 0));
  return Json{{"connections", std::move(rows)}};
}

Answer show_refusals(const View& v, const Params&) {
  Json rows = Json::array();
  for (const auto& r : v.node.links().refusals()) {
    Json j = {{"at_ms", r.unix_ms},
              {"from", r.from.text()},
              {"npub", r.who ? Json(crypto::npub_of(*r.who)) : Json(nullptr)},
              {"reason", name_of(r.why)},
              {"rule", text_or_null(r.rule)},
              {"text", text_of(r.why)}};
    j["display_name"] = r.who ? Json(v.name(crypto::node_addr_of(*r.who))) : Json(nullptr);
    rows.push_back(std::move(j));
  }
  // Some causes come before anybody is known: those are only counted.
  constexpr Drop kHandshakes[] = {Drop::bad_handshake,   Drop::bad_point,           Drop::wrong_version,
                                  Drop::handshake_rate,  Drop::handshake_lane_full, Drop::inbound_refused,
                                  Drop::own_identity,    Drop::acl_denied,          Drop::max_peers,
                                  Drop::max_connections, Drop::max_pending_inbound, Drop::foreign_source,
                                  Drop::draining};
  const auto totals_by_cause = drop_totals(v);
  Json counted = Json::array();
  for (const Drop d : kHandshakes)
    if (const auto n = totals_by_cause[static_cast<std::size_t>(d)]; n > 0)
      counted.push_back({{"count", n}, {"reason", name_of(d)}, {"text", text_of(d)}});
  return Json{{"counted", std::move(counted)}, {"refusals", std::move(rows)}};
}

}  // namespace weft::control
