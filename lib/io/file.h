/// Small text files: read with a bound, written whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::io {

enum class FileError : std::uint8_t {
  missing,     // nothing there
  unreadable,  // not allowed, or the disk says no
  not_a_file,  // folder, device, socket
  too_large,   // over the caller's bound
  symlink,     // would have to be written through a symbolic link
  exists,      // there already, and not to be replaced
  write_failed,
};
std::string_view name_of(FileError e);

struct FileFailure {
  FileError kind = FileError::unreadable;
  std::string text;  // one sentence, with the path
};

struct FileStamp {  // enough to notice that a file was replaced or edited; any difference counts, not only
                    // newer
  bool exists = false;
  std::int64_t mtime_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

Result<std::string, FileFailure> read_text_file(const std::string& path, std::size_t max_bytes);
FileStamp file_stamp(const std::string& path);

enum class Replace : std::uint8_t { never, allowed };
/// Through a temporary file in the same folder, synced, then renamed; readers see the old or the new content.
/// `mode` is set before the first byte is written. A symbolic link at `path` is refused.
Result<void, FileFailure> write_text_file(const std::string& path, std::string_view text, unsigned mode,
                                          Replace replace = Replace::allowed);

}  // namespace weft::io
