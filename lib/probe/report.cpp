#include "probe/report.h"

namespace weft::probe {

std::string_view name_of(Stage s) {
  constexpr std::array<std::string_view, kStages> kNames{"filter",     "lookup", "path",      "session",
                                                         "round_trip", "ping",   "full_size", "recheck"};
  return kNames[static_cast<std::size_t>(s)];
}

std::string_view name_of(Verdict v) {
  constexpr std::array<std::string_view, 5> kNames{"pending", "running", "ok", "skipped", "failed"};
  return kNames[static_cast<std::size_t>(v)];
}

std::string_view name_of(Reason r) {
  switch (r) {
    case Reason::none:
      return "";
    case Reason::cached:
      return "cached";
    case Reason::direct_peer:
      return "direct_peer";
    case Reason::preexisting:
      return "preexisting";
    case Reason::not_reached:
      return "not_reached";
    case Reason::not_asked:
      return "not_asked";
    case Reason::no_links:
      return "no_links";
    case Reason::bloom_miss:
      return "bloom_miss";
    case Reason::backoff_suppressed:
      return "backoff_suppressed";
    case Reason::too_many_lookups:
      return "too_many_lookups";
    case Reason::bloom_unconfirmed:
      return "bloom_unconfirmed";
    case Reason::no_coords:
      return "no_coords";
    case Reason::disjoint_trees:
      return "disjoint_trees";
    case Reason::no_next_hop:
      return "no_next_hop";
    case Reason::send_error:
      return "send_error";
    case Reason::handshake_timeout:
      return "handshake_timeout";
    case Reason::no_report:
      return "no_report";
    case Reason::no_echo:
      return "no_echo";
    case Reason::bad_timestamp_echo:
      return "bad_timestamp_echo";
    case Reason::ip_silent:
      return "ip_silent";
    case Reason::too_big_lost:
      return "too_big_lost";
  }
  return "";
}

std::string_view name_of(Overall o) {
  constexpr std::array<std::string_view, 5> kNames{"running", "ok", "partial", "failed", "cancelled"};
  return kNames[static_cast<std::size_t>(o)];
}

}  // namespace weft::probe
