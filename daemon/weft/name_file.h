/// `weft name set` and `weft name remove`: the hosts file changed by whoever runs the command, so that the daemon needs no
/// right to write configuration; then the daemon is told.
///
/// Errors   a sentence with what to do; the file is as it was.
#pragma once

#include <string>

#include "base/result.h"

namespace weft::cli {

/// `file` empty: the running daemon's, else /etc/weft/hosts. What to tell the person.
Result<std::string, std::string> set_name(const std::string& socket, const std::string& file,
                                          const std::string& name, const std::string& npub);
Result<std::string, std::string> remove_name(const std::string& socket, const std::string& file,
                                             const std::string& name);

}  // namespace weft::cli
