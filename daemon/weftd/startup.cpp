#include "weftd/startup.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "config/validate.h"
#include "io/file.h"
#include "io/key_file.h"

namespace weft::daemon {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxConfig = 1 << 20;
constexpr std::size_t kMaxSideFile = 16 << 20;
constexpr std::string_view kSystemDir = "/etc/weft";
constexpr std::string_view kSystemState = "/var/lib/weft";

std::optional<std::string> env(const std::string& name) {
  const char* v = std::getenv(name.c_str());
  return v == nullptr ? std::nullopt : std::optional<std::string>(v);
}

bool npub_ok(std::string_view text) { return crypto::parse_npub(text).has_value(); }

std::string dir_of(const std::string& file) {
  const auto dir = fs::path(file).parent_path().string();
  return dir.empty() ? "." : dir;
}

std::string in(const std::string& dir, std::string_view name) { return dir + "/" + std::string(name); }

std::string user() {
  const passwd* const me = getpwuid(geteuid());
  return me != nullptr ? "user " + std::string(me->pw_name) : "user " + std::to_string(geteuid());
}

bool is_our_dir(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid();
}

bool others_may_read(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 && (s.st_mode & (S_IRGRP | S_IROTH)) != 0;
}

config::Surroundings surroundings() {
  config::Surroundings s;
  s.home = env("HOME");
  s.xdg_config_home = env("XDG_CONFIG_HOME");
  std::error_code ignored;
  s.cwd = fs::current_path(ignored).string();
  return s;
}

/// Where keys and peers of the run time go.
std::string find_state_dir(const Settings& s) {
  if (const auto given = env("STATE_DIRECTORY"); given && !given->empty())
    return given->substr(0, given->find(':'));  // the service manager lists several with colons
  if (is_our_dir(std::string(kSystemState))) return std::string(kSystemState);
  if (!s.files.empty()) return s.config_dir;
  if (geteuid() == 0) return std::string(kSystemState);
  const auto paths = config::search_path(surroundings());
  return dir_of(paths.size() > 1 ? paths[1] : paths[0]);
}

Result<std::vector<config::Source>, std::string> read_files(const std::optional<std::string>& file) {
  std::vector<config::Source> sources;
  const auto paths = file ? std::vector<std::string>{*file} : config::search_path(surroundings());
  for (const auto& path : paths) {
    auto text = io::read_text_file(path, kMaxConfig);
    if (text) sources.push_back({path, std::move(*text)});
    else if (file || text.error().kind != io::FileError::missing)
      return bad("configuration: " + text.error().text +
                 (text.error().kind == io::FileError::unreadable
                      ? "; weftd runs as " + user() + " and must be able to read it"
                      : ""));
  }
  return sources;
}

}  // namespace

Result<Settings, std::string> load_settings(const std::optional<std::string>& file) {
  auto sources = read_files(file);
  if (!sources) return bad(sources.error());
  auto loaded = config::load(*sources, npub_ok);
  if (!loaded.ok()) return bad(config::text_of(loaded.complaints));

  Settings s;
  s.config = std::move(loaded.config);
  s.places = std::move(loaded.places);
  for (const auto& c : loaded.complaints) s.warnings.push_back(c.text());
  for (const auto& c : config::apply_environment(s.config, env)) s.warnings.push_back(c.text());
  for (auto& source : *sources) {
    s.files.push_back(source.name);
    if (s.config.node.identity.nsec && others_may_read(source.name))
      s.warnings.push_back(source.name + " holds node.identity.nsec and others may read it: `chmod 600 " +
                           source.name + "`");
    crypto::wipe(source.text.data(), source.text.size());  // may hold the secret
  }
  s.config_dir = s.files.empty() ? std::string(kSystemDir) : dir_of(s.files.back());
  s.state_dir = find_state_dir(s);
  s.hosts_file = in(s.config_dir, "hosts");
  s.allow_file = in(s.config_dir, "peers.allow");
  s.deny_file = in(s.config_dir, "peers.deny");
  s.kept_peers_file = in(s.state_dir, "peers.yaml");
  s.kept_firewall_file = in(s.state_dir, "firewall");
  return s;
}

std::string read_side_file(const std::string& path, std::optional<std::string>* trouble) {
  auto text = io::read_text_file(path, kMaxSideFile);
  if (text) return std::move(*text);
  if (trouble != nullptr && text.error().kind != io::FileError::missing) *trouble = text.error().text;
  return {};
}

Result<ChosenIdentity, std::string> choose_identity(Settings& s, Rng& rng) {
  auto& section = s.config.node.identity;
  if (section.nsec) {
    auto id = crypto::Identity::parse_secret(*section.nsec);
    crypto::wipe(section.nsec->data(), section.nsec->size());
    section.nsec = std::string();  // still says that there was one
    if (!id) return bad(fmt::format("node.identity.nsec: {}", id.error()));
    return ChosenIdentity{std::move(*id), "", true, false};
  }
  if (!section.persistent) return ChosenIdentity{crypto::Identity::generate(rng), "", false, false};

  const std::string last = in(s.state_dir, "weft.key");
  std::vector<std::string> candidates{in(s.config_dir, "weft.key"), in(s.config_dir, "fips.key")};
  if (candidates[0] != last) candidates.push_back(last);
  for (const auto& path : candidates) {
    auto file = io::read_key_file(path);
    if (!file) {
      // A key that is there but cannot be used is never replaced: the node would silently become another one.
      const bool elsewhere = file.error().kind == io::KeyFileError::unreadable && path != last;
      if (elsewhere) s.warnings.push_back(path + " is not used: " + file.error().text);
      if (file.error().kind == io::KeyFileError::missing || elsewhere) continue;
      return bad("identity: " + file.error().text);
    }
    auto id = crypto::Identity::parse_secret(file->text.view());
    if (!id)
      return bad(fmt::format(
          "identity: {} holds no usable key ({}); put the right key there, or move the file away to "
          "start as a new node",
          path, id.error()));
    s.warnings.insert(s.warnings.end(), file->warnings.begin(), file->warnings.end());
    return ChosenIdentity{std::move(*id), path, true, false};
  }
  return ChosenIdentity{crypto::Identity::generate(rng), last, true, true};
}

void keep_identity(ChosenIdentity& chosen, std::vector<std::string>& warnings) {
  if (chosen.key_file.empty()) return;
  const auto fail = [&](const std::string& why) {
    warnings.push_back("the new key cannot be kept, so the next start will be another node: " + why);
    chosen.persistent = false;
    chosen.key_file.clear();
  };
  if (chosen.fresh) {
    const std::string dir = dir_of(chosen.key_file);
    std::error_code failed;
    if (fs::create_directories(dir, failed)) fs::permissions(dir, fs::perms::owner_all, failed);
    if (failed) return fail(dir + ": " + failed.message());
    auto secret = chosen.identity.nsec();
    const auto ok = io::write_key_file(chosen.key_file, secret);
    crypto::wipe(secret.data(), secret.size());
    if (!ok) return fail(ok.error().text);
  }
  auto pub = chosen.key_file;
  pub.replace(pub.size() - 3, 3, "pub");
  const std::string npub = chosen.identity.npub();
  if (const auto now = io::read_text_file(pub, 256); now && *now == npub + "\n") return;
  if (const auto ok = io::write_public_key_file(pub, npub); !ok && chosen.fresh)
    warnings.push_back(ok.error().text);
}

}  // namespace weft::daemon
