#include "weft/keygen.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "crypto/identity.h"
#include "io/key_file.h"

namespace weft::cli {
namespace {

bool is_there(const std::string& path) {
  struct stat s {};
  return lstat(path.c_str(), &s) == 0;
}

/// A key that root makes is for the service, which could not read root's.
bool give_to_service(const std::string& path) {
  const passwd* const service = geteuid() == 0 ? getpwnam("weft") : nullptr;
  return service != nullptr && lchown(path.c_str(), service->pw_uid, service->pw_gid) == 0;
}

}  // namespace

Result<KeygenResult, std::string> keygen(const std::string& dir, bool force, Rng& rng) {
  const std::string key_path = dir + "/weft.key";
  if (!force && is_there(key_path))
    return bad(fmt::format(
        "{} exists; --force replaces it, and this node becomes another one for all its peers", key_path));
  if (mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST)
    return bad(fmt::format("cannot make the folder {}: {}", dir, std::strerror(errno)));
  const auto id = crypto::Identity::generate(rng);
  std::string secret = id.nsec();
  const auto written = io::write_key_file(key_path, secret, force);
  sodium_memzero(secret.data(), secret.size());
  if (!written) return bad(written.error().text);
  const bool given = give_to_service(key_path);
  KeygenResult r;
  r.err = id.npub() + "\n" + fmt::format("written: {} (secret) and {}/weft.pub\n", key_path, dir);
  if (const auto pub = io::write_public_key_file(dir + "/weft.pub", id.npub()); !pub)
    r.err += "warning: " + pub.error().text + "\n";
  if (given) r.err += "it belongs to user weft, as which the service runs\n";
  r.err += fmt::format(
      "weftd takes this key when its configuration file is in {} and has no node.identity.nsec\n", dir);
  return r;
}

KeygenResult keygen_to_stdout(Rng& rng) {
  const auto id = crypto::Identity::generate(rng);
  return {id.nsec() + "\n" + id.npub() + "\n", ""};
}

}  // namespace weft::cli
