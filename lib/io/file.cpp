#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/bytes.h"
#include "io/fd.h"
#include "io/rng_os.h"

namespace weft::io {
namespace {

std::string words(int error) { return std::generic_category().message(error); }

FileFailure failed(FileError kind, const std::string& path, const std::string& why) {
  return {kind, path + ": " + why};
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Removes the temporary file unless it was renamed away.
class TempFile {
 public:
  explicit TempFile(const std::string& target) {
    OsRng rng;
    std::array<std::uint8_t, 8> tag{};
    rng.fill(tag);
    path_ = target + "." + to_hex(tag) + ".tmp";
    fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() {
    if (fd_ && !kept_) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  Fd fd_;
  bool kept_ = false;
};

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

// 0, or errno. A hard link cannot replace anything; where the file system has none, a rename must do.
int move_into_place(TempFile& temp, const std::string& path, Replace replace) {
  if (replace == Replace::never) {
    if (::link(temp.path().c_str(), path.c_str()) == 0)
      return 0;  // the temporary name is removed by its owner
    if (errno != EPERM && errno != ENOTSUP && errno != EOPNOTSUPP) return errno;
    if (file_stamp(path).exists) return EEXIST;
  }
  if (::rename(temp.path().c_str(), path.c_str()) != 0) return errno;
  temp.keep();
  return 0;
}

}  // namespace

std::string_view name_of(FileError e) {
  switch (e) {
    case FileError::missing:
      return "missing";
    case FileError::unreadable:
      return "unreadable";
    case FileError::not_a_file:
      return "not_a_file";
    case FileError::too_large:
      return "too_large";
    case FileError::symlink:
      return "symlink";
    case FileError::exists:
      return "exists";
    case FileError::write_failed:
      break;
  }
  return "write_failed";
}

Result<std::string, FileFailure> read_text_file(const std::string& path, std::size_t max_bytes) {
  // Non-blocking, or a named pipe would hold us until somebody writes.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return bad(failed(missing ? FileError::missing : FileError::unreadable, path, words(errno)));
  }
  struct stat st {};
  if (fstat(fd.get(), &st) != 0) return bad(failed(FileError::unreadable, path, words(errno)));
  if (!S_ISREG(st.st_mode)) return bad(failed(FileError::not_a_file, path, "not a regular file"));
  // The size is only a first look: files of /proc say 0, and others may grow meanwhile.
  std::string out;
  std::array<char, 4096> block;
  for (;;) {
    const auto n = ::read(fd.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad(failed(FileError::unreadable, path, words(errno)));
    if (n == 0) return out;
    out.append(block.data(), static_cast<std::size_t>(n));
    if (out.size() > max_bytes)
      return bad(failed(FileError::too_large, path, "larger than " + std::to_string(max_bytes) + " bytes"));
  }
}

FileStamp file_stamp(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return {};
#ifdef __APPLE__
  const auto& t = st.st_mtimespec;
#else
  const auto& t = st.st_mtim;
#endif
  return {true, std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec, static_cast<std::uint64_t>(st.st_size),
          static_cast<std::uint64_t>(st.st_ino)};
}

Result<void, FileFailure> write_text_file(const std::string& path, std::string_view text, unsigned mode,
                                          Replace replace) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0) {
    if (S_ISLNK(st.st_mode))
      return bad(failed(FileError::symlink, path, "a symbolic link; not written through it"));
    if (!S_ISREG(st.st_mode)) return bad(failed(FileError::not_a_file, path, "not a regular file"));
    if (replace == Replace::never) return bad(failed(FileError::exists, path, "exists already and is kept"));
  }
  TempFile temp(path);
  if (temp.fd() < 0) return bad(failed(FileError::write_failed, path, words(errno)));
  if (fchmod(temp.fd(), static_cast<mode_t>(mode)) != 0)
    return bad(failed(FileError::write_failed, path, words(errno)));
  if (const int e = write_all(temp.fd(), text); e != 0)
    return bad(failed(FileError::write_failed, path, words(e)));
  if (const int e = move_into_place(temp, path, replace); e != 0)
    return bad(failed(e == EEXIST ? FileError::exists : FileError::write_failed, path, words(e)));
  const Fd folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) fsync(folder.get());
  return {};
}

}  // namespace weft::io
