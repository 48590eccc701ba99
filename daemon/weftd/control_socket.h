/// The control socket's connections: one line in, one line out, close.
///
/// Bounds   kMostClients at once, control::kMaxRequest bytes a line, kPatience for each of reading and writing.
/// Thread   control thread; a client that dawdles costs its own connection only.
/// Source   the operator sheet, 2.2.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/drop.h"
#include "base/time.h"
#include "control/request.h"
#include "weftd/run_dir.h"

namespace boost::asio {
class io_context;
}

namespace weft::daemon {

class ControlSocket {
 public:
  static constexpr std::size_t kMostClients = 64;
  static constexpr Duration kPatience = 5s;
  /// One line, without its newline; or the first of several, when `more` is set. Then `more` is asked every kLook for the
  /// next one until it says that it is done, and `abandon` is called when the client hangs up before.
  struct Reply {
    std::string line;
    std::function<control::Followed()> more;
    std::function<void()> abandon;
  };
  static constexpr Duration kLook = 50ms;
  /// A request line without newline to a reply.
  using Handle = std::function<Reply(std::string_view line)>;

  ControlSocket(boost::asio::io_context& io, SocketFile file, DropCounters& drops, Handle handle);
  /// Connections that are open end here, and the file goes.
  ~ControlSocket();
  const std::string& path() const { return file_.path(); }

 private:
  struct Impl;
  SocketFile file_;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::daemon
