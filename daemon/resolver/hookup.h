/// Makes the programs of this machine find names under .fips: tells whoever resolves names here to ask weftd for them, and
/// takes it back.
///
/// State    none of its own: what is undone is what is found. So a crash of the daemon or of the machine is put right by
///          the next up() or down().
/// Errors   a sentence with what to do. Nothing is left half done.
/// Rights   root, where files under /etc or the system bus are touched; weftd itself needs none of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/schema.h"

namespace weft::resolver {

/// The machine, as far as this program touches it; a test has another one.
class System {
 public:
  virtual ~System() = default;
  /// Runs a program of the path. nullopt: there is none, or it did not end in time. `output`: both streams.
  struct Ran {
    int code = 0;
    std::string output;
  };
  virtual std::optional<Ran> run(const std::vector<std::string>& argv) = 0;
  virtual std::optional<std::string> read(const std::string& path) = 0;
  virtual Result<void, std::string> write(const std::string& path, const std::string& text) = 0;
  virtual Result<void, std::string> remove(const std::string& path) = 0;
  virtual bool is_folder(const std::string& path) = 0;
  virtual bool is_link(const std::string& path) = 0;
  virtual bool has_interface(const std::string& name) = 0;
};

struct Responder {
  std::string interface;  // of the mesh
  std::string address;    // where weftd answers, without brackets
  std::uint16_t port = 5354;
};
/// A wildcard address becomes the loopback one.
Responder responder_of(const config::Config& config);

/// What was done, or why there was nothing to do; one line or more.
Result<std::string, std::string> up(System& system, config::ResolverHook wish, const Responder& to);
Result<std::string, std::string> down(System& system, const Responder& to);
/// What there is on this machine, and what `auto` would take.
std::string status(System& system, const Responder& to);

/// resolv.conf with our server before the others, and without it.
std::string with_server(std::string_view resolv_conf, const std::string& address);
std::string without_server(std::string_view resolv_conf);

}  // namespace weft::resolver
