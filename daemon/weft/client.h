/// One question to the daemon.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "io/fd.h"

namespace weft::cli {

using Json = nlohmann::json;

constexpr int kPatienceSecs = 5;

/// The `data` of the reply. Errors: a sentence, with the remedy where there is one.
Result<Json, std::string> ask(const std::string& socket_path, const std::string& command,
                              const Json& params = nullptr);
/// The `data` of each line of a reply that has several, handed to `line` as it comes, until it says false or the daemon
/// has no more. `silence`: seconds between two lines before that is an error. Errors: as ask().
Result<void, std::string> ask_following(const std::string& socket_path, const std::string& command,
                                        const Json& params, int silence_secs,
                                        const std::function<bool(const Json& data)>& line);
/// A probe's last report; `on_report` sees each as its stages end. Errors: as ask(), and when the daemon ends it early.
Result<Json, std::string> follow_probe(const std::string& socket_path, const std::string& target,
                                       const std::function<void(const Json& report)>& on_report);

/// A socket with that patience. Error: errno of connect(2); ENOENT for an empty path, ENAMETOOLONG for one that is no
/// address.
Result<io::Fd, int> connected(const std::string& socket_path);
/// What this user has to do with the group that may use the socket.
enum class Membership : std::uint8_t { no_group, none, since_login, in_force };
Membership membership();
/// The sentence for a failed connect(2).
std::string connect_failure(int error, const std::string& socket_path, Membership m = Membership::none);

}  // namespace weft::cli
