#include "weft/client.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "weft/reply.h"
#include "weftd/run_dir.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMostReply = std::size_t{256} << 20U;

std::string timed_out(int secs = kPatienceSecs) {
  return fmt::format("weftd did not answer within {} s", secs);
}

std::string io_failure(const char* what, int error, int secs = kPatienceSecs) {
  if (error == EAGAIN || error == EWOULDBLOCK) return timed_out(secs);
  return fmt::format("{}: {}", what, std::strerror(error));
}

Result<io::Fd, std::string> open_socket(const std::string& path) {
  auto fd = connected(path);
  if (!fd) return bad(connect_failure(fd.error(), path, membership()));
  return std::move(*fd);
}

std::string request_line(const std::string& command, const Json& params) {
  Json request = {{"command", command}};
  if (!params.is_null()) request["params"] = params;
  return request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void, std::string> send_all(int fd, std::string_view request) {
  while (!request.empty()) {
    const auto n = send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad(io_failure("asking weftd", errno));
    request.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::string, std::string> exchange(int fd, std::string_view request) {
  if (const auto sent = send_all(fd, request); !sent) return bad(sent.error());
  std::string reply;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSecs);
  for (char buffer[16384];;) {
    const auto n = recv(fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad(io_failure("reading weftd's answer", errno));
    if (n == 0) break;
    reply.append(buffer, static_cast<std::size_t>(n));
    if (reply.back() == '\n') break;
    if (reply.size() > kMostReply || std::chrono::steady_clock::now() > until) return bad(timed_out());
  }
  if (reply.empty())
    return bad(
        std::string("weftd closed the connection without an answer (shutting down, or too many clients)"));
  return reply;
}

/// The `data` of one reply line.
Result<Json, std::string> data_of(const std::string& reply) {
  Json j = Json::parse(reply, nullptr, false);
  if (j.is_discarded() || !j.is_object())
    return bad(std::string("weftd's answer is not understood; are both of the same version?"));
  if (j.value("status", Json("")) == Json("ok"))
    return j.contains("data") ? std::move(j["data"]) : Json::object();
  const auto message = j.find("message");
  return bad(message != j.end() && message->is_string() ? message->get<std::string>()
                                                        : std::string("weftd refused, without a reason"));
}

}  // namespace

Result<io::Fd, int> connected(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty()) return bad(ENOENT);  // would be an abstract address
  if (path.size() >= sizeof name.sun_path) return bad(ENAMETOOLONG);
  std::memcpy(name.sun_path, path.c_str(), path.size());
  io::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{kPatienceSecs, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return bad(errno);
  return fd;
}

Membership membership() {
  const group* const g = getgrnam(std::string(daemon::kGroup).c_str());
  if (g == nullptr) return Membership::no_group;
  const gid_t gid = g->gr_gid;
  std::vector<gid_t> mine(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  mine.resize(static_cast<std::size_t>(std::max(getgroups(static_cast<int>(mine.size()), mine.data()), 0)));
  if (getegid() == gid || std::ranges::find(mine, gid) != mine.end()) return Membership::in_force;
  const passwd* const me = getpwuid(geteuid());
  if (me == nullptr) return Membership::none;
  if (me->pw_gid == gid) return Membership::since_login;
  for (char** name = g->gr_mem; *name != nullptr; ++name)
    if (std::strcmp(*name, me->pw_name) == 0) return Membership::since_login;
  return Membership::none;
}

namespace {

std::string no_permission(const std::string& path, Membership m) {
  const std::string what = fmt::format("no permission for {}: ", path);
  switch (m) {
    case Membership::no_group:
      return what +
             "only root may use it, as there is no group weft\n"
             "make it and join it: sudo groupadd --system weft && sudo usermod -aG weft \"$USER\"; start "
             "weftd anew, "
             "log in anew";
    case Membership::since_login:
      return what +
             "you are in the group weft, but not yet in this session\nlog in anew, or run: newgrp weft";
    case Membership::in_force:
      return what + "you are in the group weft, but it may not use this socket; who may: ls -l " + path;
    case Membership::none:
      break;
  }
  return what +
         "only root and members of the group weft may use it\n"
         "join it: sudo usermod -aG weft \"$USER\", then log in anew";
}

}  // namespace

std::string connect_failure(int error, const std::string& path, Membership m) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return fmt::format(
          "weftd is not running (no control socket at {})\n"
          "start it: sudo systemctl start weft, or in a terminal: sudo weftd\n"
          "if it runs with another socket, name that: weft --socket PATH",
          path);
    case ECONNREFUSED:
      return fmt::format(
          "weftd is not running (nobody listens on {})\n"
          "start it: sudo systemctl start weft, or in a terminal: sudo weftd",
          path);
    case EACCES:
    case EPERM:
      return no_permission(path, m);
    case EAGAIN:
      return timed_out();
    case ENAMETOOLONG:
      return fmt::format("the socket path is longer than {} bytes: {}", sizeof(sockaddr_un::sun_path) - 1,
                         path);
    default:
      return fmt::format("cannot connect to {}: {}", path, std::strerror(error));
  }
}

Result<Json, std::string> ask(const std::string& path, const std::string& command, const Json& params) {
  auto fd = open_socket(path);
  if (!fd) return bad(fd.error());
  const auto reply = exchange(fd->get(), request_line(command, params));
  if (!reply) return bad(reply.error());
  return data_of(*reply);
}

Result<void, std::string> ask_following(const std::string& path, const std::string& command,
                                        const Json& params, int silence_secs,
                                        const std::function<bool(const Json&)>& line) {
  auto fd = open_socket(path);
  if (!fd) return bad(fd.error());
  const timeval patience{silence_secs, 0};
  setsockopt(fd->get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (auto sent = send_all(fd->get(), request_line(command, params)); !sent) return sent;
  std::string text;
  for (char buffer[16384];;) {
    const auto n = recv(fd->get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad(io_failure("reading weftd's answer", errno, silence_secs));
    if (n == 0) return {};
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kMostReply) return bad(std::string("weftd's answer is too long"));
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      const auto data = data_of(text.substr(0, end));
      text.erase(0, end + 1);
      if (!data) return bad(data.error());
      if (!line(*data)) return {};
    }
  }
}

Result<Json, std::string> follow_probe(const std::string& path, const std::string& target,
                                       const std::function<void(const Json&)>& on_report) {
  constexpr int kSilence = 60;  // no stage takes longer
  Json report = Json::object();
  const auto done = ask_following(path, "probe", {{"target", target}}, kSilence, [&](const Json& d) {
    report = reply::at(d, "report");
    on_report(report);
    return reply::word(d, "state") != "done";
  });
  if (!done) return bad(done.error());
  if (const Json& overall = reply::at(report, "overall"); overall.is_null() || overall == Json("running"))
    return bad(std::string("weftd ended the probe (shutting down?)"));
  return report;
}

}  // namespace weft::cli
