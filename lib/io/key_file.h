/// weft.key and weft.pub: the rules about who may have touched them. What the text means is not known here.
///
/// Read     a link, or bits for group and others, is a warning; an owner other than this user or root is
///          an error, as is anything that is no non-empty small text file.
/// Write    0600 before the secret is in the file, never through a link, whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::io {

enum class KeyFileError : std::uint8_t {
  missing,
  unreadable,
  not_a_file,
  too_large,
  empty,
  not_text,
  wrong_owner,
  symlink,
  exists,
  write_failed,
};
std::string_view name_of(KeyFileError e);

struct KeyFileFailure {
  KeyFileError kind = KeyFileError::unreadable;
  std::string text;  // one sentence, with the path and what to do
};

/// Text that is erased from memory when it goes.
class SecretText {
 public:
  SecretText() = default;
  explicit SecretText(std::string_view text);
  SecretText(SecretText&& other) noexcept;
  SecretText& operator=(SecretText&& other) noexcept;
  ~SecretText() { wipe(); }
  std::string_view view() const { return {text_.data(), text_.size()}; }

 private:
  void wipe();
  std::vector<char> text_;
};

struct KeyFile {
  SecretText text;  // without surrounding white space
  std::vector<std::string> warnings;
};

Result<KeyFile, KeyFileFailure> read_key_file(const std::string& path);
/// `line` without newline. Replaces an existing file only when told to.
Result<void, KeyFileFailure> write_key_file(const std::string& path, std::string_view line,
                                            bool replace = false);
/// 0644, always replaced.
Result<void, KeyFileFailure> write_public_key_file(const std::string& path, std::string_view line);

}  // namespace weft::io
