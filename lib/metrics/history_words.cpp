// Names, units and the words of a query.
#include <array>
#include <charconv>

#include "metrics/history.h"

namespace weft {
namespace {

constexpr std::array<MetricInfo, kNodeMetrics> kNode{{
    {"mesh_size", "nodes", Fold::last, false},
    {"tree_depth", "hops", Fold::last, false},
    {"peer_count", "peers", Fold::last, false},
    {"parent_switches", "events/s", Fold::sum, true},
    {"bytes_in", "bytes/s", Fold::mean, true},
    {"bytes_out", "bytes/s", Fold::mean, true},
    {"packets_in", "packets/s", Fold::mean, true},
    {"packets_out", "packets/s", Fold::mean, true},
    {"loss_rate", "fraction", Fold::mean, false},
    {"active_sessions", "sessions", Fold::last, false},
}};
constexpr std::array<MetricInfo, kPeerMetrics> kPeer{{
    {"srtt_ms", "ms", Fold::mean, false},
    {"loss_rate", "fraction", Fold::mean, false},
    {"bytes_in", "bytes/s", Fold::mean, true},
    {"bytes_out", "bytes/s", Fold::mean, true},
    {"packets_in", "packets/s", Fold::mean, true},
    {"packets_out", "packets/s", Fold::mean, true},
    {"ecn_ce", "events/s", Fold::sum, true},
}};

template <class M>
Result<M, std::string> find(std::span<const MetricInfo> in, std::string_view name,
                            std::string_view complaint) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].name == name) return static_cast<M>(i);
  return bad(std::string(complaint) + std::string(name));
}

// The last character as UTF-8 has it, so that an error shows it whole.
std::string_view last_character(std::string_view text) {
  auto at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return text.substr(at);
}

}  // namespace

std::span<const MetricInfo, kNodeMetrics> node_metrics() { return kNode; }
std::span<const MetricInfo, kPeerMetrics> peer_metrics() { return kPeer; }

Result<NodeMetric, std::string> parse_node_metric(std::string_view name) {
  return find<NodeMetric>(kNode, name, "unknown metric: ");
}
Result<PeerMetric, std::string> parse_peer_metric(std::string_view name) {
  return find<PeerMetric>(kPeer, name, "unknown peer metric: ");
}

Result<Granularity, std::string> parse_granularity(std::string_view text) {
  if (text == "1s") return Granularity::second;
  if (text == "1m") return Granularity::minute;
  return bad("unknown granularity: " + std::string(text) + " (expected 1s or 1m)");
}

Result<std::chrono::seconds, std::string> parse_window(std::string_view text) {
  if (text.empty()) return bad(std::string("empty duration"));
  const auto unit = last_character(text);
  const auto digits = text.substr(0, text.size() - unit.size());
  const auto invalid = [text] { return bad("invalid duration: " + std::string(text)); };
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return invalid();
  std::uint64_t factor = 0;
  if (unit == "s") factor = 1;
  if (unit == "m") factor = 60;
  if (unit == "h") factor = 3600;
  if (factor == 0) return bad("unknown duration unit: " + std::string(unit) + " (expected s, m, h)");
  constexpr auto kMost =
      static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(Duration::max()).count());
  if (n > kMost / factor) return invalid();
  return std::chrono::seconds(static_cast<std::int64_t>(n * factor));
}

}  // namespace weft
