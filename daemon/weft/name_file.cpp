#include "weft/name_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/endpoint.h"
#include "crypto/identity.h"
#include "io/file.h"
#include "names/hosts.h"
#include "names/hosts_edit.h"
#include "weft/client.h"
#include "weft/reply.h"
#include "weft/shared.h"

namespace weft::cli {
namespace {

constexpr unsigned kMode = 0644;

Result<std::string, std::string> file_of(const std::string& socket, const std::string& given) {
  if (!given.empty()) return given;
  const auto d = ask(socket, "show_names");
  const std::string told = d ? reply::word(*d, "hosts_file") : "";
  if (!told.empty() && told.front() != '/')
    return bad("weftd reads its names from " + told +
               ", beside a configuration given by a relative path; name it: --file");
  return told.empty() ? "/etc/weft/hosts" : told;
}

/// "Bee.fips" is the name "bee".
std::string plain_name(const std::string& name) {
  std::string plain = names::lower_case(name);
  if (plain.ends_with(".fips")) plain.resize(plain.size() - 5);
  return plain;
}

/// With owner and mode of the file that was there.
Result<void, std::string> write(const std::string& file, const std::string& text) {
  struct stat old {};
  const bool there = stat(file.c_str(), &old) == 0;
  const auto done = io::write_text_file(file, text, there ? old.st_mode & 07777U : kMode);
  if (!done) {
    std::string why = done.error().text;
    if (geteuid() != 0 && access(file.c_str(), W_OK) != 0)
      why += "; the file belongs to somebody else: try again with sudo";
    return bad(why);
  }
  // Only root can give a file away; anybody else wrote one that was theirs, or their group's.
  if (there && old.st_uid != geteuid() && chown(file.c_str(), old.st_uid, old.st_gid) != 0)
    return bad(
        fmt::format("{} is written, but could not be given back to its owner (uid {})", file, old.st_uid));
  return {};
}

/// What the daemon made of it, as the end of what is told.
std::string tell_daemon(const std::string& socket) {
  const auto d = ask(socket, "reload_lists");
  if (d) return "\n";
  return d.error().find("not running") != std::string::npos
             ? "; weftd is not running and reads it at its start\n"
             : "\nbut weftd says: " + d.error() + "\n";
}

}  // namespace

Result<std::string, std::string> set_name(const std::string& socket, const std::string& given,
                                          const std::string& name, const std::string& npub) {
  const auto plain = plain_name(name);
  if (!names::valid_host_name(plain))
    return bad("\"" + name +
               "\" is not a name: 1 to 63 letters, digits and inner dashes, not beginning with npub1");
  const auto key = crypto::parse_npub(npub);
  if (!key) return bad("\"" + npub + "\" is not an npub: " + std::string(key.error()));
  const auto file = file_of(socket, given);
  if (!file) return bad(file.error());
  const auto text = read_if_there(*file);
  if (!text) return bad(text.error());
  if (const auto done = write(*file, names::with_host(text->value_or(""), plain, *key)); !done)
    return bad(done.error());
  return fmt::format("{}.fips is {} ({}), in {}{}", plain, text_of(mesh_addr_of(crypto::node_addr_of(*key))),
                     crypto::short_npub_of(*key), *file, tell_daemon(socket));
}

Result<std::string, std::string> remove_name(const std::string& socket, const std::string& given,
                                             const std::string& name) {
  const auto plain = plain_name(name);
  const auto file = file_of(socket, given);
  if (!file) return bad(file.error());
  const auto text = read_if_there(*file);
  if (!text) return bad(text.error());
  const auto out = names::without_host(text->value_or(""), plain);
  if (out.lines == 0)
    return bad("no line for \"" + plain + "\" in " + *file +
               "; a peer's alias is removed in the configuration, or with weft peer remove");
  if (const auto done = write(*file, out.text); !done) return bad(done.error());
  return plain + ".fips is gone from " + *file + tell_daemon(socket);
}

}  // namespace weft::cli
