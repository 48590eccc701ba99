/// Helpers for the replies of this room; nothing here knows a command.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "control/shell_view.h"
#include "node/node.h"

namespace weft::control {

using Json = nlohmann::json;

/// What queries look at. Nothing in it can be changed through it, but for RouteFlow::explain, which changes nothing.
struct View {
  Node& node;
  Now now;
  const ShellView& shell;

  std::string name(const NodeAddr& a) const { return node.display_name(a); }
  std::int64_t unix_ms(Instant t) const { return now.unix_ms_of(t); }
  std::int64_t age_ms(Instant t) const { return std::max<std::int64_t>(0, to_ms(now.mono - t)); }
};

/// A request's `params`: what is absent and what has the wrong type are the same.
class Params {
 public:
  explicit Params(const Json* params) : params_(params) {}
  bool present() const { return params_ != nullptr && !params_->is_null(); }
  std::optional<std::string> text(const char* key) const;
  std::optional<std::uint64_t> number(const char* key) const;
  const Json* find(const char* key) const;

 private:
  const Json* params_;
};

/// A float, or null for NaN and infinities.
inline Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }
inline Json number(const std::optional<double>& v) { return v ? number(*v) : Json(nullptr); }
/// The text, or null when there is none.
inline Json text_or_null(std::string_view s) { return s.empty() ? Json(nullptr) : Json(s); }
template <class T>
Json or_null(const std::optional<T>& v) {
  return v ? Json(*v) : Json(nullptr);
}
/// Sets `key` when there is a value; leaves it out otherwise.
inline void put_if(Json& to, const char* key, const std::optional<double>& v) {
  if (v) to[key] = number(*v);
}
template <class T>
void put_if(Json& to, const char* key, const std::optional<T>& v) {
  if (v) to[key] = *v;
}

Json path_json(const Path& path);
/// Eight hexadecimal digits.
std::string index_text(SessionIndex i);
std::string_view mode_text(config::MmpMode m);
/// "udp", "udp/NAME", or "transport N" when it is gone.
std::string transport_text(const Node& node, TransportId id);

// ---- counter families of the sheet, 2.5 -----------------------------------------------------------------------------

/// Shards and the core's own datagrams together.
ShardTotals totals(const View& v);
Json forwarding_json(const ShardTotals& t);
Json congestion_json(const View& v, const ShardTotals& t);
Json lookup_json(const LookupCounters& c);
Json tree_json(const TreeCounters& c);
Json bloom_json(const BloomCounters& c);
Json errors_json(const View& v);
/// All zero: there is no native API.
Json native_json();
/// Refusals by name, those that happened only.
Json drops_json(const View& v);
std::array<std::uint64_t, kDropCount> drop_totals(const View& v);

}  // namespace weft::control
