/// One question to the daemon.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace weft::cli {

using Json = nlohmann::json;

constexpr int kPatienceSecs = 5;

/// The `data` of the reply. Errors: a sentence, with the remedy where there is one.
Result<Json, std::string> ask(const std::string& socket_path, const std::string& command,
                              const Json& params = nullptr);
/// What this user has to do with the group that may use the socket.
enum class Membership : std::uint8_t { no_group, none, since_login, in_force };
Membership membership();
/// The sentence for a failed connect(2).
std::string connect_failure(int error, const std::string& socket_path, Membership m = Membership::none);

}  // namespace weft::cli
