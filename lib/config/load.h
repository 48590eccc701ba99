/// Configuration text in, one Config and everything there is to complain about out.
///
/// Bounds   1 MiB per file, depth 32, 65,536 values after aliases are expanded; duplicate keys are refused.
/// Merging  key by key, later files win: mappings recursive, scalars and lists replaced, an empty value
/// changes nothing. Errors   all at once. With an error among the complaints the Config is a best effort and
/// must not be run. Thread   none of its own; no file is touched. Source: the operator sheet, section 1.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/complaint.h"
#include "config/schema.h"

namespace weft::config {

struct Source {
  std::string name;  // the file's path, as complaints show it
  std::string text;
};
/// Decides whether a text is somebody's npub; the room of keys knows the checksum, this one only the shape.
using NpubCheck = std::function<bool(std::string_view)>;

struct Loaded {
  Config config;
  Complaints complaints;  // of load and validate, in the order of the file
  Places places;
  bool ok() const { return !has_errors(complaints); }
};

/// Lowest priority first; none at all gives the defaults.
Loaded load(std::span<const Source> files, const NpubCheck& npub_ok = looks_like_npub);

/// The file of peers added at run time: a document with a `peers` list and nothing else.
struct LoadedPeers {
  std::vector<Peer> peers;
  Complaints complaints;
};
LoadedPeers load_peers(const Source& file, const NpubCheck& npub_ok = looks_like_npub);
/// Text that load_peers() gives back unchanged.
std::string peers_text(std::span<const Peer> peers);
/// Adds peers that are not there yet; of known ones only addresses that are new. What the configuration says
/// wins.
void add_peers(Config& config, std::span<const Peer> more);

/// Where configuration is looked for without -c, lowest priority first.
struct Surroundings {
  std::optional<std::string> home;             // $HOME
  std::optional<std::string> xdg_config_home;  // $XDG_CONFIG_HOME
  std::string cwd;
};
std::vector<std::string> search_path(const Surroundings& s);

/// Environment over file: WEFT_X, else FIPS_X. What does not parse is ignored with a warning.
using Getenv = std::function<std::optional<std::string>(const std::string& name)>;
Complaints apply_environment(Config& config, const Getenv& getenv);

}  // namespace weft::config
