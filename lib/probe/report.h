/// What one probe found out, as plain values.
///
/// Unit     Duration; MTU and sizes bytes.
/// Names    stages, verdicts and reasons have the texts of the control protocol; scripts compare them.
/// Source   the operator sheet, 2.4 (probe_*).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "seam/halves.h"
#include "wire/coord.h"

namespace weft::probe {

enum class Stage : std::uint8_t { filter, lookup, path, session, round_trip, ping, full_size, recheck };
constexpr std::size_t kStages = 8;
enum class Verdict : std::uint8_t { pending, running, ok, skipped, failed };
enum class Reason : std::uint8_t {
  none,
  // skipped
  cached,
  direct_peer,
  preexisting,
  not_reached,
  not_asked,
  // filter, lookup
  no_links,
  bloom_miss,
  backoff_suppressed,
  too_many_lookups,
  bloom_unconfirmed,
  // path
  no_coords,
  disjoint_trees,
  no_next_hop,
  // session
  send_error,
  handshake_timeout,
  // round trip, ping, full size
  no_report,
  no_echo,
  bad_timestamp_echo,
  ip_silent,
  too_big_lost,
};
enum class Overall : std::uint8_t { running, ok, partial, failed, cancelled };

std::string_view name_of(Stage s);
std::string_view name_of(Verdict v);
std::string_view name_of(Reason r);
std::string_view name_of(Overall o);

struct Record {
  Verdict verdict = Verdict::pending;
  Reason reason = Reason::none;
  std::string detail;  // of send_error
  std::optional<Duration> elapsed;
};

/// A neighbour whose filter claims the target.
struct Claim {
  NodeAddr peer;
  bool tree_peer = false;
  bool operator==(const Claim&) const = default;
};
struct Coords {
  Path path;                           // the target first, its root last
  std::optional<Duration> proven_ago;  // by the target's own signature; nothing: read in passing
};
struct Hop {
  NodeAddr peer;
  HopClass how = HopClass::direct_peer;
  std::uint16_t mtu = 0;  // of that link
  std::optional<double> link_rtt_ms;
  Path path;  // as that peer announced it; empty: not yet
  bool operator==(const Hop&) const = default;
};
/// A node on the way said that it cannot pass our datagrams on.
struct Signal {
  enum class Kind : std::uint8_t { coords_required, path_broken, mtu_exceeded };
  NodeAddr reporter;
  Kind kind = Kind::path_broken;
  std::uint16_t mtu = 0;
  Instant at;
};
struct RoundTrips {
  std::uint64_t reports = 0;  // receiver reports of the target
  std::uint64_t samples = 0, zero = 0, impossible = 0;
  Duration last{};
};
/// What a count rose by; 0 when it fell.
constexpr std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}
struct Session {
  bool established = false;
  unsigned resends = 0;
  std::optional<std::uint16_t> path_mtu;  // as learnt
  std::optional<std::uint8_t> ttl;        // hops left in the newest message that came
  RoundTrips trips;
  std::optional<double> srtt_ms;
};

struct Report {
  NodeAddr target;
  bool thorough = false;
  Overall overall = Overall::running;
  Instant started;
  std::optional<Instant> ended;
  std::array<Record, kStages> stages;

  std::size_t links = 0;
  std::vector<Claim> claims;
  bool lookup_issued = false;
  std::size_t fanout = 0;
  std::uint32_t attempts = 0;
  std::optional<Duration> lookup_took;

  Path own_path;
  bool coords_were_cached = false;
  std::optional<Coords> coords;
  std::optional<Hop> next_hop;
  bool is_neighbour = false;

  bool session_preexisting = false;
  Session session;
  RoundTrips before;  // of the session when the round trip stage began
  unsigned warmups = 0;
  std::optional<Duration> rtt;
  bool rtt_by_echo = false;
  unsigned echoes_sent = 0;
  std::size_t full_size = 0;       // largest packet that should pass
  std::size_t largest_passed = 0;  // largest that came back
  std::vector<Signal> signals;     // during this probe, newest last

  Record& at(Stage s) { return stages[static_cast<std::size_t>(s)]; }
  const Record& at(Stage s) const { return stages[static_cast<std::size_t>(s)]; }
};

}  // namespace weft::probe
