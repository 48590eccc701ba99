#include "resolver/real_system.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "io/fd.h"
#include "io/file.h"

extern char** environ;

namespace weft::resolver {
namespace {

constexpr std::size_t kMostFile = 1 << 20;
constexpr std::size_t kMostOutput = 1 << 20;
constexpr unsigned kMode = 0644;

/// Until end of file or `until`; false when time was up.
bool drain(int fd, std::chrono::steady_clock::time_point until, std::string& out) {
  std::array<char, 4096> part{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now())
            .count();
    pollfd p{fd, POLLIN, 0};
    if (left <= 0 || poll(&p, 1, static_cast<int>(left)) == 0) return false;
    const auto n = ::read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (out.size() < kMostOutput) out.append(part.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

std::optional<System::Ran> RealSystem::run(const std::vector<std::string>& argv) {
  if (std::chrono::steady_clock::now() >= until_) return std::nullopt;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  io::Fd ours(ends[0]), theirs(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDERR_FILENO);
  std::vector<char*> words;
  for (const auto& a : argv) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  theirs.reset();
  if (failed != 0) return std::nullopt;
  Ran out;
  const bool ended = drain(ours.get(), until_, out.output);
  if (!ended) kill(pid, SIGKILL);
  int state = 0;
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return std::nullopt;
  out.code = WIFEXITED(state) ? WEXITSTATUS(state) : 128;
  return out;
}

std::optional<std::string> RealSystem::read(const std::string& path) {
  auto text = io::read_text_file(path, kMostFile);
  if (!text) return std::nullopt;
  return std::move(*text);
}

Result<void, std::string> RealSystem::write(const std::string& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const auto done = io::write_text_file(path, text, kMode);
  if (done) return {};
  // Where a file is mounted by itself, as containers do with resolv.conf, nothing can take its place.
  struct stat st {};
  const io::Fd fd(lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode)
                      ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
                      : -1);
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0)
    return bad(done.error().text);
  return {};
}

Result<void, std::string> RealSystem::remove(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return bad(path + ": " + std::strerror(errno));
  return {};
}

bool RealSystem::is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}
bool RealSystem::is_link(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_symlink(path, ignored);
}
bool RealSystem::has_interface(const std::string& name) { return if_nametoindex(name.c_str()) != 0; }

}  // namespace weft::resolver
