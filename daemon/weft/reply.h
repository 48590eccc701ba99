/// Reading the daemon's replies, which may be of any shape. Pure; what is missing or odd has a value of its own for each
/// reader, and nothing throws. References live as long as the reply.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "weft/plot.h"

namespace weft::cli::reply {

using Json = nlohmann::json;

/// A member, and a member of that, and so on; null when there is none.
const Json& at(const Json& j, std::string_view key);
template <class... K>
const Json& at(const Json& j, std::string_view key, std::string_view next, K... rest) {
  return at(at(j, key), next, rest...);
}
/// A member that is a list, else an empty one.
const Json& list(const Json& j, std::string_view key);

/// For people: what a string says, cleaned; a number; yes or no; "-" for anything else.
std::string text(const Json& j);
/// A member that is a string, as it came; else "".
std::string word(const Json& j, std::string_view key);
double num(const Json& j, double otherwise = 0);
std::int64_t integer(const Json& j);  // 0: no whole number
bool truth(const Json& j);
/// Of a list, nothing for what is no number; none of anything else.
Values values(const Json& j);

}  // namespace weft::cli::reply
