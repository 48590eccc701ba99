#include "weftd/run_dir.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "io/failure.h"

namespace weft::daemon {
namespace {

constexpr const char* kSystemDir = "/run/weft";
constexpr int kBacklog = 64;

bool is_dir(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

std::string tmp_dir() { return "/tmp/weft-" + std::to_string(geteuid()); }

/// Anybody may put something into /tmp; what is there counts only when it is our folder and nobody else's.
bool is_private_dir(const std::string& path) {
  struct stat s {};
  return lstat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
         (s.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

std::optional<gid_t> weft_group() {
  const group* g = getgrnam(std::string(kGroup).c_str());
  return g == nullptr ? std::nullopt : std::optional(g->gr_gid);
}

/// Whether the group is right now. Nothing is asked of the system when it is already: a service may not be allowed to.
bool give_to_group(const std::string& path) {
  const auto g = weft_group();
  struct stat s {};
  if (!g || (stat(path.c_str(), &s) == 0 && s.st_gid == *g)) return true;
  return chown(path.c_str(), static_cast<uid_t>(-1), *g) == 0;
}

/// Group and mode of a folder that is ours to decide over: made by us, or the system's own for weft.
void own_dir(const std::string& dir) {
  if (dir == tmp_dir()) return;
  if (!give_to_group(dir)) return;
  if (chmod(dir.c_str(), 0750) != 0) return;
}

/// Removes a socket file that nobody answers on. Errors: what else it is.
Result<void, std::string> clear_stale(const std::string& path, const sockaddr_un& name,
                                      const std::string& what, const std::string& key) {
  struct stat s {};
  if (lstat(path.c_str(), &s) != 0) return {};
  if (!S_ISSOCK(s.st_mode))
    return bad(what + " " + path + ": something that is no socket is there; move it away");
  const io::Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 || errno == EAGAIN)
    return bad(what + " " + path + " is in use by a running weftd; stop it, or set " + key);
  if (errno != ECONNREFUSED) return bad(io::os_failure(errno, what + " " + path).text);
  if (unlink(path.c_str()) != 0)
    return bad(io::os_failure(errno, "removing the stale " + what + " " + path).text);
  return {};
}

}  // namespace

std::string control_socket_path(bool create) {
  if (is_dir(kSystemDir)) return std::string(kSystemDir) + "/control.sock";
  if (create && geteuid() == 0 && is_dir("/run")) return std::string(kSystemDir) + "/control.sock";
  if (const char* xdg = std::getenv("XDG_RUNTIME_DIR"); xdg != nullptr && is_dir(xdg)) {
    const std::string dir = std::string(xdg) + "/weft";
    if (create || is_dir(dir)) return dir + "/control.sock";
  }
  return tmp_dir() + "/control.sock";
}

Result<SocketFile, std::string> SocketFile::listen(const std::string& path, const std::string& what,
                                                   const std::string& key) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path)
    return bad(what + " path is longer than " + std::to_string(sizeof name.sun_path - 1) + " bytes: " + path +
               "; set " + key + " to a shorter one");
  std::memcpy(name.sun_path, path.c_str(), path.size());

  SocketFile f;
  const std::string dir = path.find('/') == std::string::npos ? "." : path.substr(0, path.rfind('/'));
  const bool in_tmp = dir == tmp_dir();
  if (!dir.empty() && !is_dir(dir)) {
    if (mkdir(dir.c_str(), in_tmp ? 0700 : 0750) != 0)
      return bad(io::os_failure(errno, "making " + dir).text);
    f.made_dir_ = dir;
    own_dir(dir);
  } else if (dir == kSystemDir) {
    own_dir(dir);
  }
  if (in_tmp && !is_private_dir(dir)) return bad(what + ": " + dir + " is not ours alone; remove it");
  if (auto ok = clear_stale(path, name, what, key); !ok) return bad(ok.error());

  f.fd_ = io::Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = umask(0117);  // nobody may connect between bind and chmod
  const bool bound = f.fd_ && bind(f.fd_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
  const int error = errno;
  umask(before);
  if (!bound) return bad(io::os_failure(error, what + " " + path).text);
  f.path_ = path;
  if (!give_to_group(path)) return bad(io::os_failure(errno, "group of " + path).text);
  if (chmod(path.c_str(), in_tmp ? 0700 : 0770) != 0)
    return bad(io::os_failure(errno, "mode of " + path).text);
  struct stat s {};
  if (stat(path.c_str(), &s) == 0) f.inode_ = s.st_ino;
  if (::listen(f.fd_.get(), kBacklog) != 0) return bad(io::os_failure(errno, what + " " + path).text);
  return f;
}

SocketFile::SocketFile(SocketFile&& o) noexcept
    : fd_(std::move(o.fd_)),
      path_(std::exchange(o.path_, {})),
      made_dir_(std::exchange(o.made_dir_, {})),
      inode_(o.inode_) {}

SocketFile::~SocketFile() {
  struct stat s {};
  if (!path_.empty() && lstat(path_.c_str(), &s) == 0 && (inode_ == 0 || s.st_ino == inode_))
    unlink(path_.c_str());
  if (!made_dir_.empty()) rmdir(made_dir_.c_str());  // fails when somebody else put something there
}

}  // namespace weft::daemon
