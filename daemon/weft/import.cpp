#include "weft/import.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "config/inert.h"
#include "config/load.h"
#include "config/table.h"
#include "config/validate.h"
#include "crypto/identity.h"
#include "io/file.h"
#include "io/key_file.h"
#include "weft/shared.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

/// A file to be written, with whom it is to belong to.
struct Plan {
  std::string from, to, text;
  unsigned mode = 0644;
  bool service_owns = false;  // else root, readable by the service's group
};

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<Owner> owner_of(const std::string& user) {
  const passwd* p = getpwnam(user.c_str());
  if (p == nullptr) return std::nullopt;
  return Owner{p->pw_uid, p->pw_gid};
}

bool npub_ok(std::string_view text) { return crypto::parse_npub(text).has_value(); }

/// The configuration file that is meant, and the folder with its neighbours.
Result<std::pair<std::string, std::string>, std::string> find_source(const std::string& from) {
  std::error_code ignored;
  if (!fs::exists(from, ignored)) return bad(from + " does not exist");
  if (!fs::is_directory(from, ignored)) {
    const auto dir = fs::path(from).parent_path().string();
    return std::pair(from, dir.empty() ? std::string(".") : dir);
  }
  const std::string file = from + "/fips.yaml";
  return std::pair(fs::exists(file, ignored) ? file : std::string(), from);
}

void wipe(std::string& s) { sodium_memzero(s.data(), s.size()); }

class Import {
 public:
  explicit Import(const ImportOptions& o) : o_(o) {}
  ~Import() {
    for (auto& p : plans_) wipe(p.text);
  }
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;

  Result<ImportResult, std::string> run() {
    const auto source = find_source(o_.from);
    if (!source) return bad(source.error());
    const auto& [file, dir] = *source;
    if (const auto ok = configuration(file); !ok) return bad(ok.error());
    if (const auto ok = key(dir); !ok) return bad(ok.error());
    for (const char* name : {"hosts", "peers.allow", "peers.deny"})
      if (const auto ok = neighbour(dir, name); !ok) return bad(ok.error());
    if (plans_.empty())
      return bad(dir + " holds nothing to import: no fips.yaml, fips.key, hosts, peers.allow or peers.deny");
    owner_ = owner_of(o_.user);
    if (!owner_)
      r_.warnings.push_back(
          fmt::format("there is no user {}: the files stay with {}; when weftd runs as {}, give it the key: "
                      "chown {} {}/weft.key",
                      o_.user, geteuid() == 0 ? "root" : "you", o_.user, o_.user, o_.to));
    if (const auto ok = compare(); !ok) return bad(ok.error());
    if (r_.refused || o_.dry_run) return std::move(r_);
    if (const auto ok = write(); !ok) return bad(ok.error());
    return std::move(r_);
  }

 private:
  Result<void, std::string> configuration(const std::string& file) {
    if (file.empty()) {
      r_.warnings.push_back("no fips.yaml there: weft's defaults are used");
      return {};
    }
    auto text = io::read_text_file(file, 1 << 20);
    if (!text) return bad(text.error().text);
    const config::Source source{file, *text};
    const auto loaded = config::load(std::span(&source, 1), npub_ok);
    if (!loaded.ok())
      return bad("this configuration cannot be used as it is:\n" + config::text_of(loaded.complaints));
    const bool secret = loaded.config.node.identity.nsec.has_value();
    persistent_ = loaded.config.node.identity.persistent && !secret;
    differences(loaded);
    plans_.push_back({file, o_.to + "/weft.yaml", std::move(*text), secret ? 0600U : 0640U, secret});
    return {};
  }

  void differences(const config::Loaded& l) {
    const auto& c = l.config;
    for (const auto& line : config::differing_defaults(c, l.places))
      r_.differences.push_back("default " + line);
    config::for_each_transport(c.transports, [&](const std::string& kind, const auto& list) {
      if (kind == "udp") return;
      for (const auto& i : list)
        r_.differences.push_back(fmt::format("transport {}{}{}: not supported yet; it stays unused", kind,
                                             i.name ? "/" : "", i.name.value_or("")));
    });
    for (const auto& p : c.peers)
      if (!p.addresses.empty() &&
          std::ranges::none_of(p.addresses, [](const auto& a) { return a.kind() == "udp"; }))
        r_.differences.push_back(fmt::format("peer {}: has no UDP address, so this node cannot dial it",
                                             p.alias.value_or(p.npub)));
    if (c.transports.udp.empty())
      r_.differences.push_back(
          "no udp under transports: weftd will not start, since it has no other transport yet; add `udp: "
          "{}`");
    for (const auto& k : config::inert_keys(c, l.places))
      r_.differences.push_back(fmt::format("{}: no effect ({})", k.key, k.why));
    if (c.node.control.socket_path)
      r_.differences.push_back(fmt::format("the control socket stays at {}: weft needs --socket {}",
                                           *c.node.control.socket_path, *c.node.control.socket_path));
    if (!config::firewall_on(c))
      r_.differences.push_back(
          "no firewall on the mesh interface, as before; `weft: { firewall: { enabled: true } }` switches "
          "weft's on");
    for (const auto& w : l.complaints) r_.warnings.push_back(w.text());
  }

  Result<void, std::string> key(const std::string& dir) {
    const std::string from = dir + "/fips.key";
    auto file = io::read_key_file(from);
    if (!file) {
      if (file.error().kind == io::KeyFileError::missing) {
        if (persistent_)
          r_.warnings.push_back(
              "no fips.key there: weftd makes a new key at its first start, and a new address with it");
        return {};
      }
      // Somebody else's owner matters to a daemon, not to root who copies the file into the right hands.
      if (file.error().kind != io::KeyFileError::wrong_owner || geteuid() != 0) return bad(file.error().text);
    }
    std::string text;
    if (file) {
      text = std::string(file->text.view());
    } else if (auto raw = io::read_text_file(from, 4096)) {
      text = std::move(*raw);
      text.erase(text.find_last_not_of(" \t\r\n") + 1);
    }
    auto id = crypto::Identity::parse_secret(text);
    if (!id) {
      wipe(text);
      return bad(fmt::format("{} holds no usable key ({})", from, id.error()));
    }
    if (!persistent_)
      r_.differences.push_back("fips.key is copied, but this configuration does not use a key file");
    plans_.push_back({from, o_.to + "/weft.key", text + "\n", 0600, true});
    wipe(text);
    plans_.push_back({dir + "/fips.pub", o_.to + "/weft.pub", id->npub() + "\n", 0644, false});
    return {};
  }

  Result<void, std::string> neighbour(const std::string& dir, const char* name) {
    auto text = read_if_there(dir + "/" + name);
    if (!text) return bad(text.error());
    if (*text) plans_.push_back({dir + "/" + name, o_.to + "/" + name, std::move(**text), 0644, false});
    return {};
  }

  /// What is there already: the same, or something else that is not to be lost.
  Result<void, std::string> compare() {
    for (const auto& p : plans_) {
      auto there = read_if_there(p.to);
      if (!there) return bad(there.error());
      auto what = ImportFile::What::copied;
      if (*there) {
        // Nobody's comments or blank end of line make another key.
        const bool same = **there == p.text;
        wipe(**there);
        what = same       ? ImportFile::What::same
               : o_.force ? ImportFile::What::replaced
                          : ImportFile::What::differs;
      }
      r_.refused = r_.refused || what == ImportFile::What::differs;
      r_.files.push_back({p.from, p.to, what});
    }
    return {};
  }

  Result<void, std::string> write() {
    std::error_code failed;
    const bool made = fs::create_directories(o_.to, failed);
    if (failed) return bad(fmt::format("cannot make {}: {}", o_.to, failed.message()));
    if (made && owner_ && geteuid() == 0 &&
        (chown(o_.to.c_str(), 0, owner_->gid) != 0 || chmod(o_.to.c_str(), 0755) != 0))
      return bad(fmt::format("cannot set the owner of {}: {}", o_.to, std::strerror(errno)));
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const Plan& p = plans_[i];
      if (r_.files[i].what == ImportFile::What::replaced)
        if (const auto kept = set_aside(p.to); !kept) return kept;
      if (r_.files[i].what != ImportFile::What::same) {
        const auto ok =
            io::write_text_file(p.to, p.text, p.mode, o_.force ? io::Replace::allowed : io::Replace::never);
        if (!ok) return bad(ok.error().text);
      }
      if (!owner_) continue;
      const uid_t uid = p.service_owns ? owner_->uid : geteuid() == 0 ? 0 : owner_->uid;
      struct stat s {};
      if (stat(p.to.c_str(), &s) == 0 && s.st_uid == uid && s.st_gid == owner_->gid &&
          (s.st_mode & 0777U) == p.mode)
        continue;
      if (chown(p.to.c_str(), uid, owner_->gid) != 0 || chmod(p.to.c_str(), p.mode) != 0)
        return bad(
            fmt::format("cannot give {} to {}: {}; run it as root", p.to, o_.user, std::strerror(errno)));
    }
    return {};
  }

  /// A key that is replaced must not be lost: what was there gets another name.
  Result<void, std::string> set_aside(const std::string& path) {
    std::string to = path + ".old";
    for (int n = 2; access(to.c_str(), F_OK) == 0; ++n) to = fmt::format("{}.old{}", path, n);
    if (rename(path.c_str(), to.c_str()) != 0)
      return bad(fmt::format("cannot set {} aside: {}", path, std::strerror(errno)));
    r_.warnings.push_back(fmt::format("what was in {} is in {} now", path, to));
    return {};
  }

  const ImportOptions& o_;
  ImportResult r_;
  std::vector<Plan> plans_;
  std::optional<Owner> owner_;
  bool persistent_ = true;
};

}  // namespace

Result<ImportResult, std::string> import_node(const ImportOptions& o) { return Import(o).run(); }

std::string import_text(const ImportResult& r, const ImportOptions& o) {
  std::string out;
  for (const auto& f : r.files) {
    const char* word = f.what == ImportFile::What::same       ? "same     "
                       : f.what == ImportFile::What::differs  ? "DIFFERS  "
                       : f.what == ImportFile::What::replaced ? "replaced "
                                                              : "copied   ";
    out += fmt::format("{} {} -> {}\n", word, f.from, f.to);
  }
  if (r.refused) {
    out +=
        "nothing was written: a file that is there already says something else. Look at it, and use --force "
        "to replace it\n";
    return out;
  }
  if (o.dry_run) out += "nothing was written (--dry-run)\n";
  for (const auto& w : r.warnings) out += "note: " + w + "\n";
  if (!r.differences.empty()) out += "\nWhat will be different with weft:\n";
  for (const auto& d : r.differences) out += "  - " + d + "\n";
  if (!o.dry_run) {
    const bool usual = o.to == "/etc/weft";
    out += fmt::format("\nNext: sudo systemctl disable --now fips && {}\nthen: weft doctor\n",
                       usual ? std::string("sudo systemctl enable --now weft")
                             : fmt::format("sudo weftd -c {}/weft.yaml", o.to));
  }
  return out;
}

}  // namespace weft::cli
