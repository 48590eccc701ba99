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
/// The sentence for a failed connect(2).
std::string connect_failure(int error, const std::string& socket_path);

}  // namespace weft::cli
