/// A node of the reference becomes a node of weft: key, names, access lists and configuration are copied, and what will
/// be different is said.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace weft::cli {

struct ImportOptions {
  std::string from = "/etc/fips";  // folder, or the configuration file in it
  std::string to = "/etc/weft";
  std::string user = "weft";  // that weftd will run as: owner of the key
  bool dry_run = false;
  bool force = false;
};

struct ImportFile {
  enum class What : std::uint8_t { copied, same, differs, replaced };
  std::string from, to;
  What what = What::copied;
};
struct ImportResult {
  std::vector<ImportFile> files;
  std::vector<std::string> differences;  // in behaviour, afterwards
  std::vector<std::string> warnings;
  bool refused = false;  // something is there already and differs; nothing was written
};

/// Never replaces a file that differs without `force`, and then writes nothing at all; with it, the old file stays beside the
/// new one. A second run changes nothing.
/// Errors: a sentence; nothing was written, but for a write that fails midway.
Result<ImportResult, std::string> import_node(const ImportOptions& o);
std::string import_text(const ImportResult& r, const ImportOptions& o);

}  // namespace weft::cli
