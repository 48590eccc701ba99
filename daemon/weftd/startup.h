/// From a command line and an environment to values: configuration, places of files, identity. Opens nothing that others
/// could notice, and writes nothing until keep_identity().
///
/// Errors   sentences for a person, all complaints about the files at once.
/// Source   the operator sheet, 1.1 and 1.2; names and defaults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "crypto/identity.h"

namespace weft::daemon {

struct Settings {
  config::Config config;
  config::Places places;
  std::vector<std::string> files;  // as loaded, lowest priority first
  std::string config_dir;          // of the last one; where its neighbours are looked for
  std::string state_dir;
  std::string hosts_file, allow_file, deny_file, kept_peers_file, kept_firewall_file;
  std::vector<std::string> warnings;
};

/// `file`: exactly this one; else the search path.
Result<Settings, std::string> load_settings(const std::optional<std::string>& file);
/// A side file's text; empty when it is missing. `trouble` is set when it is there and cannot be read.
std::string read_side_file(const std::string& path, std::optional<std::string>* trouble = nullptr);

struct ChosenIdentity {
  crypto::Identity identity;
  std::string key_file;  // empty: the key is in the configuration, or lives as long as this run
  bool persistent = false;
  bool fresh = false;  // drawn just now; keep_identity() writes it
};
/// Warnings go to `settings`. The configuration's secret text is wiped.
Result<ChosenIdentity, std::string> choose_identity(Settings& settings, Rng& rng);
/// Writes a fresh key, and the public one beside it. What fails becomes a warning: the run goes on with the key it has.
void keep_identity(ChosenIdentity& chosen, std::vector<std::string>& warnings);

}  // namespace weft::daemon
