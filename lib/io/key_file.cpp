#include "io/key_file.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "io/fd.h"
#include "io/file.h"

namespace weft::io {
namespace {

constexpr std::size_t kMaxKeyFile = 4096;

KeyFileFailure failed(KeyFileError kind, const std::string& path, const std::string& why) {
  return {kind, "key file " + path + ": " + why};
}

KeyFileFailure from_file(const FileFailure& f) {
  const auto kind = f.kind == FileError::symlink      ? KeyFileError::symlink
                    : f.kind == FileError::exists     ? KeyFileError::exists
                    : f.kind == FileError::not_a_file ? KeyFileError::not_a_file
                                                      : KeyFileError::write_failed;
  return {kind, "key file " + f.text};
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}

/// For a file that exists and may not be read: an operator put it there with another user's rights.
std::string whose(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return {};
  return "; it belongs to user " + std::to_string(st.st_uid) + ": `chown " + std::to_string(geteuid()) + " " +
         path + "` makes it this daemon's";
}

// The file's bytes in memory that is erased again; no copy of the secret stays behind.
struct Block {
  std::array<char, kMaxKeyFile + 1> bytes;
  std::size_t size = 0;
  ~Block() { sodium_memzero(bytes.data(), bytes.size()); }
  int read_from(int fd) {
    while (size < bytes.size()) {
      const auto n = ::read(fd, bytes.data() + size, bytes.size() - size);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) break;
      size += static_cast<std::size_t>(n);
    }
    return 0;
  }
};

void warn_about_access(const std::string& path, const struct stat& st, std::vector<std::string>& warnings) {
  struct stat link {};
  if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
    warnings.push_back("key file " + path + " is a symbolic link");
  if ((st.st_mode & 077) != 0)
    warnings.push_back("key file " + path + " is open to other users: run `chmod 600 " + path + "`");
}

}  // namespace

std::string_view name_of(KeyFileError e) {
  switch (e) {
    case KeyFileError::missing:
      return "missing";
    case KeyFileError::unreadable:
      return "unreadable";
    case KeyFileError::not_a_file:
      return "not_a_file";
    case KeyFileError::too_large:
      return "too_large";
    case KeyFileError::empty:
      return "empty";
    case KeyFileError::not_text:
      return "not_text";
    case KeyFileError::wrong_owner:
      return "wrong_owner";
    case KeyFileError::symlink:
      return "symlink";
    case KeyFileError::exists:
      return "exists";
    case KeyFileError::write_failed:
      break;
  }
  return "write_failed";
}

SecretText::SecretText(std::string_view text) : text_(text.begin(), text.end()) {}
SecretText::SecretText(SecretText&& other) noexcept : text_(std::move(other.text_)) {}
SecretText& SecretText::operator=(SecretText&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  text_ = std::move(other.text_);
  return *this;
}
void SecretText::wipe() {
  if (!text_.empty()) sodium_memzero(text_.data(), text_.size());
  text_.clear();
}

Result<KeyFile, KeyFileFailure> read_key_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    const int error = errno;
    const bool missing = error == ENOENT || error == ENOTDIR;
    const auto why = std::generic_category().message(error) + (error == EACCES ? whose(path) : "");
    return bad(failed(missing ? KeyFileError::missing : KeyFileError::unreadable, path, why));
  }
  struct stat st {};
  if (fstat(fd.get(), &st) != 0)
    return bad(failed(KeyFileError::unreadable, path, std::generic_category().message(errno)));
  if (!S_ISREG(st.st_mode)) return bad(failed(KeyFileError::not_a_file, path, "not a regular file"));
  if (st.st_uid != geteuid() && st.st_uid != 0)
    return bad(failed(KeyFileError::wrong_owner, path,
                      "belongs to user " + std::to_string(st.st_uid) +
                          ", who then knows this node's key; `chown " + std::to_string(geteuid()) +
                          "` it if that is you"));
  Block block;
  if (const int e = block.read_from(fd.get()); e != 0)
    return bad(failed(KeyFileError::unreadable, path, std::generic_category().message(e)));
  if (block.size > kMaxKeyFile) return bad(failed(KeyFileError::too_large, path, "larger than any key"));
  const auto text = trim({block.bytes.data(), block.size});
  if (text.empty())
    return bad(failed(KeyFileError::empty, path,
                      "empty; put the key back, or delete the file to get a new identity"));
  for (const char c : text)
    if (c <= ' ' || c > '~')
      return bad(failed(KeyFileError::not_text, path, "not a key in one line of text"));
  KeyFile out{SecretText(text), {}};
  warn_about_access(path, st, out.warnings);
  return out;
}

Result<void, KeyFileFailure> write_key_file(const std::string& path, std::string_view line, bool replace) {
  std::vector<char> text;
  text.reserve(line.size() + 1);
  text.assign(line.begin(), line.end());
  text.push_back('\n');
  const auto r =
      write_text_file(path, {text.data(), text.size()}, 0600, replace ? Replace::allowed : Replace::never);
  sodium_memzero(text.data(), text.size());
  if (!r) return bad(from_file(r.error()));
  return {};
}

Result<void, KeyFileFailure> write_public_key_file(const std::string& path, std::string_view line) {
  const auto r = write_text_file(path, std::string(line) + "\n", 0644);
  if (!r) return bad(from_file(r.error()));
  return {};
}

}  // namespace weft::io
