#include "config/schema.h"

#include <algorithm>
#include <charconv>

namespace weft::config {
namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}
std::optional<std::uint16_t> port_of(std::string_view s) {
  std::uint16_t v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  if (r.ec != std::errc{} || r.ptr != s.data() + s.size() || v == 0) return std::nullopt;
  return v;
}

}  // namespace

TransportsSection default_transports() {
  TransportsSection out;
  Udp v4, v6;
  v6.bind_addr = "[::]:2121";
  out.udp = {{"v4", v4}, {"v6", v6}};
  return out;
}

std::string_view PeerAddress::kind() const {
  return instance() ? std::string_view(transport).substr(0, transport.find('/'))
                    : std::string_view(transport);
}
std::optional<std::string_view> PeerAddress::instance() const {
  const auto slash = transport.find('/');
  // An empty half is no qualification: the whole text is then the kind.
  if (slash == std::string::npos || slash == 0 || slash + 1 == transport.size()) return std::nullopt;
  return std::string_view(transport).substr(slash + 1);
}

bool firewall_on(const Config& c) {
  return c.weft.firewall.enabled.value_or(c.has_weft_section || !c.has_file);
}

bool metrics_on(const MetricsSection& m) { return m.enabled.value_or(m.listen.has_value()); }

std::optional<MetricsListen> parse_metrics_listen(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  MetricsListen out;
  if (text.starts_with(kUnix)) text.remove_prefix(kUnix.size());
  if (text.starts_with("/")) {
    out.path = text;
    return out;
  }
  out.endpoint = Endpoint::parse(text);
  if (!out.endpoint || out.endpoint->port == 0) return std::nullopt;
  return out;
}

std::optional<Level> level_of(std::string_view text) {
  const std::string s = lower(text);
  if (s == "trace") return Level::trace;
  if (s == "debug") return Level::debug;
  if (s == "info") return Level::info;
  if (s == "warn" || s == "warning") return Level::warn;
  if (s == "error") return Level::error;
  return std::nullopt;
}

std::uint32_t established_burst(const Config& c) {
  return c.node.rate_limit.established_handshake_burst.value_or(std::max(c.node.limits.max_peers, 1U));
}
double established_rate(const Config& c) {
  if (c.node.rate_limit.established_handshake_rate) return *c.node.rate_limit.established_handshake_rate;
  // Every peer may rekey once per interval and resend each first message as often as the limit says.
  const double per_interval = c.node.limits.max_peers * (1.0 + c.node.rate_limit.handshake_max_resends);
  const auto interval = static_cast<double>(std::max<std::uint64_t>(c.node.rekey.after_secs, 1));
  return std::max(1.0, per_interval / interval);
}

std::optional<PortRule> parse_port_rule(std::string_view text) {
  PortRule rule;
  const std::string s = lower(text);
  if (s.rfind("tcp/", 0) == 0) rule.proto = ForwardProto::tcp;
  else if (s.rfind("udp/", 0) == 0) rule.proto = ForwardProto::udp;
  else return std::nullopt;
  const std::string_view ports = std::string_view(s).substr(4);
  const auto dash = ports.find('-');
  const auto first = port_of(ports.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : port_of(ports.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  rule.first = *first;
  rule.last = *last;
  return rule;
}

std::string text_of(const PortRule& rule) {
  std::string out = rule.proto == ForwardProto::tcp ? "tcp/" : "udp/";
  out += std::to_string(rule.first);
  if (rule.last != rule.first) out += "-" + std::to_string(rule.last);
  return out;
}

bool looks_like_npub(std::string_view text) {
  constexpr std::string_view kCharset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  constexpr std::size_t kLength = 63;
  if (text.size() != kLength) return false;
  const std::string s = lower(text);
  const bool one_case = s == text || std::ranges::none_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
  return one_case && s.rfind("npub1", 0) == 0 && s.find_first_not_of(kCharset, 5) == std::string::npos;
}

}  // namespace weft::config
