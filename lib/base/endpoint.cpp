#include "base/endpoint.h"

#include <arpa/inet.h>

#include <charconv>

namespace weft {
namespace {

template <class T>
std::optional<T> number(std::string_view s) {
  T v{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (s.empty() || error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return v;
}

}  // namespace

std::string ip6_text(const std::array<std::uint8_t, 16>& ip) {
  char out[INET6_ADDRSTRLEN] = {};
  return inet_ntop(AF_INET6, ip.data(), out, sizeof out) != nullptr ? out : "";
}

std::optional<std::array<std::uint8_t, 16>> parse_ip6(std::string_view text) {
  std::array<std::uint8_t, 16> ip{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), ip.data()) != 1) return std::nullopt;
  return ip;
}

std::optional<std::array<std::uint8_t, 4>> parse_ip4(std::string_view text) {
  std::array<std::uint8_t, 4> ip{};
  if (inet_pton(AF_INET, std::string(text).c_str(), ip.data()) != 1) return std::nullopt;
  return ip;
}

Endpoint Endpoint::v4(std::array<std::uint8_t, 4> ip, std::uint16_t port) {
  Endpoint e;
  e.family = Family::v4;
  std::ranges::copy(ip, e.ip.begin());
  e.port = port;
  return e;
}

bool Endpoint::is_loopback() const {
  if (family == Family::v4) return ip[0] == 127;
  std::array<std::uint8_t, 16> one{};
  one[15] = 1;
  return family == Family::v6 && ip == one;
}

bool Endpoint::is_any() const { return ip == std::array<std::uint8_t, 16>{}; }

bool Endpoint::is_link_local() const {
  if (family == Family::v4) return ip[0] == 169 && ip[1] == 254;
  return family == Family::v6 && ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

std::string Endpoint::ip_text() const {
  if (family == Family::v6) return scope == 0 ? ip6_text(ip) : ip6_text(ip) + "%" + std::to_string(scope);
  char out[INET_ADDRSTRLEN] = {};
  if (family == Family::v4 && inet_ntop(AF_INET, ip.data(), out, sizeof out) != nullptr) return out;
  return "none";
}

std::string Endpoint::text() const {
  if (family == Family::v6) return "[" + ip_text() + "]:" + std::to_string(port);
  return ip_text() + ":" + std::to_string(port);
}

std::optional<HostPort> HostPort::parse(std::string_view text) {
  std::string_view host;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    host = text.substr(0, colon);
    rest = text.substr(colon);
    if (host.find(':') != std::string_view::npos) return std::nullopt;  // a bare IPv6 address needs brackets
  }
  if (host.empty() || !rest.starts_with(':')) return std::nullopt;
  const auto port = number<std::uint16_t>(rest.substr(1));
  if (!port) return std::nullopt;
  return HostPort{std::string(host), *port};
}

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const auto hp = HostPort::parse(text);
  if (!hp) return std::nullopt;
  if (const auto ip4 = parse_ip4(hp->host)) return Endpoint::v4(*ip4, hp->port);
  std::string_view host = hp->host;
  Endpoint e;
  e.family = Family::v6;
  e.port = hp->port;
  if (const auto percent = host.find('%'); percent != std::string_view::npos) {
    const auto scope = number<std::uint32_t>(host.substr(percent + 1));
    if (!scope) return std::nullopt;
    e.scope = *scope;
    host = host.substr(0, percent);
  }
  const auto ip6 = parse_ip6(host);
  if (!ip6) return std::nullopt;
  e.ip = *ip6;
  return e;
}

}  // namespace weft
