#include "control/queries.h"

namespace weft::control {
namespace {

std::string_view state_text(session::State s) {
  switch (s) {
    case session::State::initiating:
      return "initiating";
    case session::State::awaiting_msg3:
      return "awaiting_msg3";
    case session::State::established:
      return "established";
  }
  return "initiating";
}

Json session_json(const View& v, const session::View& s) {
  // While the third message is awaited nobody has shown a key yet: ours stands in, as in the reference.
  const PublicKey key = s.key.value_or(v.node.identity().key());
  Json j = {{"display_name", v.name(s.remote)},
            {"is_initiator", s.is_initiator},
            {"last_activity_ms", v.unix_ms(s.last_activity)},
            {"npub", crypto::npub_of(key)},
            {"remote_addr", s.remote.hex()},
            {"state", state_text(s.state)},
            {"stats",
             {{"bytes_recv", s.stats ? s.stats->bytes_recv.get() : 0U},
              {"bytes_sent", s.stats ? s.stats->bytes_sent.get() : 0U},
              {"packets_recv", s.stats ? s.stats->packets_recv.get() : 0U},
              {"packets_sent", s.stats ? s.stats->packets_sent.get() : 0U}}}};
  if (s.state != session::State::established) {
    j["resend_count"] = s.resend_count;
    return j;
  }
  j["coords_warmup_remaining"] = s.warmup_remaining;
  j["current_k_bit"] = s.current_k_bit;
  j["is_draining"] = s.is_draining;
  j["session_start_ms"] = v.unix_ms(s.created);
  if (const auto* q = v.node.reports().session(s.remote)) {
    j["mmp"] = quality_json(q->quality, mode_text(v.node.config().node.session_mmp.mode), "sqi");
    j["mmp"]["path_mtu"] = q->limit.current();
  }
  return j;
}

}  // namespace

Answer show_sessions(const View& v, const Params&) {
  Json rows = Json::array();
  v.node.sessions().for_each([&](const session::View& s) { rows.push_back(session_json(v, s)); });
  return Json{{"sessions", std::move(rows)}};
}

Answer show_native_flows(const View&, const Params&) {
  return Json{{"flows", Json::array()}, {"listeners", Json::array()}, {"stats", native_json()}};
}

}  // namespace weft::control
