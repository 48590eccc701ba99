/// The one table of keys. A row gives key, range, meaning and the member it fills; decoding, range checks,
/// defaults that differ and the reference page are all read from it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "config/complaint.h"
#include "config/schema.h"

namespace weft::config {

/// A member that holds one of a few words: an enum over uint8_t whose values count the words.
struct Choice {
  std::uint8_t* value = nullptr;
  std::span<const std::string_view> words;
};

using Slot = std::variant<bool*, std::uint8_t*, std::uint16_t*, std::uint32_t*, std::uint64_t*, double*,
                          std::string*, std::optional<bool>*, std::optional<std::uint16_t>*,
                          std::optional<std::uint32_t>*, std::optional<double>*, std::optional<std::string>*,
                          std::vector<std::string>*, std::vector<std::uint64_t>*, Choice>;

struct Field {
  std::string key;  // whole path
  Slot slot;
  std::string_view meaning;
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool open = false;  // lo and hi themselves are refused
  bool required = false;
  bool secret = false;           // never shown
  std::string_view absent{};     // what leaving out an optional key means
  std::string_view reference{};  // the reference's default where it differs

  Field& in(std::uint64_t a, std::uint64_t b) { return min = a, max = b, *this; }
  Field& at_least(std::uint64_t a) { return min = a, *this; }
  Field& ratio(double a, double b) { return lo = a, hi = b, *this; }
  Field& inside(double a, double b) { return lo = a, hi = b, open = true, *this; }
  Field& positive() { return inside(0.0, std::numeric_limits<double>::infinity()); }
  Field& must() { return required = true, *this; }
  Field& hidden() { return secret = true, *this; }
  Field& otherwise(std::string_view text) { return absent = text, *this; }
  Field& reference_has(std::string_view text) { return reference = text, *this; }
};
using Fields = std::vector<Field>;

/// Everything that is in a file once: node, tun, dns, weft.
Fields fields_of(Config& c);
/// One instance, peer, address, gateway or port forward; `at` is the key path of its mapping.
Fields fields_of(Udp& t, const std::string& at);
Fields fields_of(Tcp& t, const std::string& at);
Fields fields_of(Tor& t, const std::string& at);
Fields fields_of(Ethernet& t, const std::string& at);
Fields fields_of(Ble& t, const std::string& at);
Fields fields_of(Nym& t, const std::string& at);
Fields fields_of(Peer& p, const std::string& at);
Fields fields_of(PeerAddress& a, const std::string& at);
Fields fields_of(FirewallAllow& a, const std::string& at);
Fields fields_of(GatewaySection& g, const std::string& at);
Fields fields_of(PortForward& f, const std::string& at);

std::string type_of(const Field& f);
std::string allowed_of(const Field& f);
/// The present value as it would be written in a file; "none" when absent, "(secret)" when secret and set.
std::string value_of(const Field& f);
/// Complaints about values outside their range.
void check_ranges(const Fields& fields, const Places& places, Complaints& out);

/// Calls f(type name, instance list) for the six kinds of transport.
template <class Transports, class F>
void for_each_transport(Transports& t, F&& f) {
  f("udp", t.udp);
  f("tcp", t.tcp);
  f("tor", t.tor);
  f("ethernet", t.ethernet);
  f("ble", t.ble);
  f("nym", t.nym);
}
/// "transports.udp" or "transports.udp.lan0".
std::string instance_key(std::string_view type, const std::optional<std::string>& name);

}  // namespace weft::config
