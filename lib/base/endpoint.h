/// An address below the mesh: IPv4 or IPv6, port, and the scope of a link-local one. A value; no system headers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace weft {

struct Endpoint {
  enum class Family : std::uint8_t { none, v4, v6 };

  Family family = Family::none;
  std::array<std::uint8_t, 16> ip{};  // IPv4 in the first four bytes
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  // interface index of a link-local IPv6 address, else 0

  auto operator<=>(const Endpoint&) const = default;
  bool is_set() const { return family != Family::none; }
  bool is_loopback() const;
  bool is_any() const;
  bool is_link_local() const;
  /// fd00::/8, where this mesh itself lives.
  bool is_mesh() const { return family == Family::v6 && ip[0] == 0xfd; }
  std::size_t ip_size() const { return family == Family::v4 ? 4U : 16U; }

  /// "192.0.2.1:2121", "[2001:db8::1]:2121", "[fe80::1%3]:2121".
  std::string text() const;
  std::string ip_text() const;
  /// The same forms back; nullopt for host names and anything else. The scope must be numeric.
  static std::optional<Endpoint> parse(std::string_view text);
  static Endpoint v4(std::array<std::uint8_t, 4> ip, std::uint16_t port);
};

/// "HOST:PORT" or "[HOST]:PORT" taken apart without looking HOST up; nullopt when the port is missing or no port.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  static std::optional<HostPort> parse(std::string_view text);
};

/// Text of an IPv6 address in RFC 5952 form.
std::string ip6_text(const std::array<std::uint8_t, 16>& ip);
inline std::string text_of(const MeshAddr& a) { return ip6_text(a.bytes); }
/// An IPv6 address without port, scope or brackets.
std::optional<std::array<std::uint8_t, 16>> parse_ip6(std::string_view text);
std::optional<std::array<std::uint8_t, 4>> parse_ip4(std::string_view text);

}  // namespace weft

template <>
struct std::hash<weft::Endpoint> {
  std::size_t operator()(const weft::Endpoint& e) const noexcept {
    const auto lo = weft::load_le<std::uint64_t>(e.ip.data());
    const auto hi = weft::load_le<std::uint64_t>(e.ip.data() + 8);
    return weft::detail::mix(lo ^ weft::detail::mix(hi + e.port) ^ (std::uint64_t{e.scope} << 32));
  }
};
