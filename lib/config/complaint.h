/// What is wrong with a configuration, where, and what would be right. Never shows a secret.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::config {

enum class Severity : std::uint8_t { warning, error };

/// A spot in a file; line 0 and an empty file mean unknown.
struct Place {
  std::string file;
  unsigned line = 0;
};

struct Complaint {
  Severity severity = Severity::error;
  Place place;
  std::string key;      // "node.limits.max_peers", "peers[2].addresses[0].addr"; empty for the whole file
  std::string problem;  // one clause
  std::string found;    // as written, shortened; empty for a secret
  std::string allowed;  // what would do
  std::string nearest;  // the known key or word that was probably meant

  /// "weft.yaml:12: error: node.tun_mtu: unknown key; did you mean mtu?"
  std::string text() const;
};
using Complaints = std::vector<Complaint>;

bool has_errors(const Complaints& c);
/// One per line.
std::string text_of(const Complaints& c);

/// Where each key was written, by key path. Says also whether it was written at all.
class Places {
 public:
  void set(const std::string& key, Place place) { at_[key] = std::move(place); }
  bool written(const std::string& key) const { return at_.count(key) != 0; }
  /// The key's own place, or that of the nearest enclosing key that was written.
  Place find(std::string_view key) const;

 private:
  std::map<std::string, Place, std::less<>> at_;
};

/// Edit distance (insert, delete, replace, swap of neighbours), for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate nearest to `word`, if it is near enough to be meant; the first of equals.
std::string nearest_of(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace weft::config
