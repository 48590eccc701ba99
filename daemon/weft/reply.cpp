#include "weft/reply.h"

#include "weft/table.h"

namespace weft::cli::reply {

const Json& at(const Json& j, std::string_view key) {
  static const Json kNone;
  if (!j.is_object()) return kNone;
  const auto it = j.find(key);
  return it == j.end() ? kNone : *it;
}

const Json& list(const Json& j, std::string_view key) {
  static const Json kNone = Json::array();
  const Json& l = at(j, key);
  return l.is_array() ? l : kNone;
}

std::string text(const Json& j) {
  if (j.is_string()) return clean(j.get_ref<const std::string&>());
  if (j.is_boolean()) return j.get<bool>() ? "yes" : "no";
  return j.is_number() ? j.dump() : std::string("-");
}

std::string word(const Json& j, std::string_view key) {
  const Json& v = at(j, key);
  return v.is_string() ? v.get<std::string>() : std::string();
}

double num(const Json& j, double otherwise) { return j.is_number() ? j.get<double>() : otherwise; }
std::int64_t integer(const Json& j) { return j.is_number_integer() ? j.get<std::int64_t>() : 0; }
bool truth(const Json& j) { return j.is_boolean() && j.get<bool>(); }

Values values(const Json& j) {
  Values out;
  if (j.is_array())
    for (const auto& x : j) out.push_back(x.is_number() ? std::optional(x.get<double>()) : std::nullopt);
  return out;
}

}  // namespace weft::cli::reply
