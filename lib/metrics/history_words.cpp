// Names, units and the words of a query.
#include <array>
#include <charconv>

#include "metrics/history.h"

namespace weft {
namespace {

constexpr std::array<MetricInfo, kNodeMetrics> kNode{{
    {"mesh_size", "nodes", Fold::last, false, "Nodes in the mesh, estimated"},
    {"tree_depth", "hops", Fold::last, false, "Hops to the root of the tree"},
    {"peer_count", "peers", Fold::last, false, "Linked neighbours"},
    {"parent_switches", "events/s", Fold::sum, true, "Changes of the parent in the tree"},
    {"bytes_in", "bytes/s", Fold::mean, true, "Mesh datagrams received from neighbours"},
    {"bytes_out", "bytes/s", Fold::mean, true, "Mesh datagrams sent or passed on to neighbours"},
    {"packets_in", "packets/s", Fold::mean, true, "Mesh datagrams received from neighbours"},
    {"packets_out", "packets/s", Fold::mean, true, "Mesh datagrams sent or passed on to neighbours"},
    {"loss_rate", "fraction", Fold::mean, false, "Loss towards neighbours, their mean"},
    {"active_sessions", "sessions", Fold::last, false, "End-to-end sessions"},
    {"mean_srtt_ms", "ms", Fold::mean, false, "Round trip to neighbours, their mean"},
    {"mean_etx", "ratio", Fold::mean, false, "Expected transmissions to neighbours, their mean"},
    {"link_bytes_in", "bytes/s", Fold::mean, true, "Frames from all neighbours, control messages included"},
    {"link_bytes_out", "bytes/s", Fold::mean, true, "Frames to all neighbours, control messages included"},
    {"forwarded_bytes", "bytes/s", Fold::mean, true, "Passed on for others"},
    {"forwarded_packets", "packets/s", Fold::mean, true, "Passed on for others"},
    {"drops", "events/s", Fold::sum, true, "Refused or dropped, all causes"},
    {"kernel_drops", "events/s", Fold::sum, true, "Datagrams that the kernel dropped: socket buffer full"},
    {"cpu_control", "cores", Fold::mean, true, "Processor time of the control thread"},
    {"cpu_workers", "cores", Fold::mean, true, "Processor time of the threads that move packets"},
}};
constexpr std::array<MetricInfo, kPeerMetrics> kPeer{{
    {"srtt_ms", "ms", Fold::mean, false, "Round trip, smoothed"},
    {"loss_rate", "fraction", Fold::mean, false, "Loss towards it"},
    {"bytes_in", "bytes/s", Fold::mean, true, "Received from it, headers included"},
    {"bytes_out", "bytes/s", Fold::mean, true, "Sent to it, headers included"},
    {"packets_in", "packets/s", Fold::mean, true, "Frames received from it"},
    {"packets_out", "packets/s", Fold::mean, true, "Frames sent to it"},
    {"ecn_ce", "events/s", Fold::sum, true, "Frames with a congestion mark from it"},
    {"etx", "ratio", Fold::mean, false, "Expected transmissions until one arrives"},
    {"cost", "cost", Fold::mean, false, "What the tree reckons for this link"},
}};
constexpr std::string_view kDropPrefix = "drop_";

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

std::string NodeSeries::name() const {
  if (column_ < kNodeMetrics) return std::string(kNode[column_].name);
  return std::string(kDropPrefix) + std::string(name_of(static_cast<Drop>(column_ - kNodeMetrics)));
}
std::string_view NodeSeries::unit() const {
  return column_ < kNodeMetrics ? kNode[column_].unit : "events/s";
}
std::string_view NodeSeries::text() const {
  return column_ < kNodeMetrics ? kNode[column_].text : text_of(static_cast<Drop>(column_ - kNodeMetrics));
}

Result<NodeSeries, std::string> parse_node_series(std::string_view name) {
  if (name.starts_with(kDropPrefix))
    for (std::size_t i = 0; i < kDropCount; ++i)
      if (name.substr(kDropPrefix.size()) == name_of(static_cast<Drop>(i)))
        return NodeSeries(static_cast<Drop>(i));
  const auto m = find<NodeMetric>(kNode, name, "unknown metric: ");
  if (!m) return bad(m.error());
  return NodeSeries(*m);
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
