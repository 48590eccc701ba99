/// Where the control socket lives, and whose it is.
///
/// Source   names and defaults, row "run time"; the operator sheet, 2.1.
#pragma once

#include <string>

#include "base/result.h"
#include "io/fd.h"

namespace weft::daemon {

constexpr std::string_view kGroup = "weft";

/// The path that daemon and clients agree on without configuration: the first of /run/weft, $XDG_RUNTIME_DIR/weft and
/// /tmp/weft-UID that exists. With `create`, the first that exists or can be made.
std::string control_socket_path(bool create);

/// A listening socket in the file system; its file, and the folder if we made it, go with the object.
class SocketFile {
 public:
  /// A socket file that nobody listens on is replaced; anything else at `path` is left alone. Errors: a sentence, in which
  /// `what` names the socket and `key` the key of the configuration that places it.
  static Result<SocketFile, std::string> listen(const std::string& path,
                                                const std::string& what = "control socket",
                                                const std::string& key = "node.control.socket_path");
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

  /// Gives the descriptor away; the file stays ours.
  io::Fd take_fd() { return std::move(fd_); }
  const std::string& path() const { return path_; }

 private:
  SocketFile() = default;
  io::Fd fd_;
  std::string path_;
  std::string made_dir_;
  unsigned long inode_ = 0;  // of the file, so that a successor's is never removed
};

}  // namespace weft::daemon
