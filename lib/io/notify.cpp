#include "io/notify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "io/fd.h"

namespace weft::io {
namespace {

std::string_view environment(const char* name) {
  const char* const v = std::getenv(name);  // read while starting, before there are threads
  return v == nullptr ? std::string_view{} : std::string_view{v};
}

template <class T>
std::optional<T> number(std::string_view text) {
  T v{};
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size()) return std::nullopt;
  return v;
}

// A newline would begin another assignment.
std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c == '\n') c = ' ';
  return out;
}

}  // namespace

Notifier Notifier::from_environment() {
  Notifier n{std::string(environment("NOTIFY_SOCKET"))};
  const auto pid = number<long>(environment("WATCHDOG_PID"));
  const auto usec = number<long long>(environment("WATCHDOG_USEC"));
  if (usec && *usec > 0 && (!pid || *pid == static_cast<long>(getpid())))
    n.watchdog_ = std::chrono::microseconds(*usec / 2);
  return n;
}

bool Notifier::ready(std::string_view status) {
  return send(status.empty() ? "READY=1" : "READY=1\nSTATUS=" + one_line(status));
}
bool Notifier::stopping() { return send("STOPPING=1"); }
bool Notifier::status(std::string_view text) { return send("STATUS=" + one_line(text)); }
bool Notifier::watchdog() { return send("WATCHDOG=1"); }

bool Notifier::send(const std::string& message) const {
  sockaddr_un a{};
  if (path_.empty() || path_.size() >= sizeof a.sun_path || (path_[0] != '/' && path_[0] != '@'))
    return false;
  a.sun_family = AF_UNIX;
  std::memcpy(a.sun_path, path_.data(), path_.size());
  if (path_[0] == '@') a.sun_path[0] = '\0';
  const Fd fd(socket(AF_UNIX, SOCK_DGRAM, 0));
  if (!fd) return false;
  fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  return sendto(fd.get(), message.data(), message.size(), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&a),
                length) == static_cast<ssize_t>(message.size());
}

}  // namespace weft::io
