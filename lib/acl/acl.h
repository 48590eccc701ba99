/// The two peer lists as one value, and the verdict on a key with the line that made it.
///
/// Line    one token: ALL in any case, an npub, or a name; `#` begins a comment anywhere. Bad lines are
/// skipped with a
///         warning, so a mistake opens rather than closes: an absent list is an empty one.
/// Cost    check: O(log n).
/// Source  the operator sheet, section 4.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace weft::acl {

enum class Reason : std::uint8_t { allow_list, deny_list, by_default };

struct Verdict {
  bool allowed = true;
  Reason reason = Reason::by_default;
  std::size_t line = 0;  // in the list that decided; 0 when none did
  std::string token;     // as written there

  /// "denied by peers.deny line 3 (ALL)".
  std::string text() const;
};

struct Warning {
  std::string_view file;  // "peers.allow" or "peers.deny"
  std::size_t line = 0;
  std::string text;
};
/// The first malformed line of either list: such a file is half written, or a mistake.
std::optional<Warning> first_malformed(std::string_view allow_text, std::string_view deny_text);

/// Which key a name means, if any: hosts file and aliases.
using NameLookup = std::function<std::optional<PublicKey>(std::string_view)>;

class Acl {
 public:
  /// Empty: everybody may.
  Acl() = default;
  /// An absent or unreadable file is empty text.
  static Acl parse(std::string_view allow_text, std::string_view deny_text, const NameLookup& name);

  Verdict check(const PublicKey& key) const;

  // For show_acl, in its words.
  bool enforcement_active() const { return !allow_.empty() || !deny_.empty(); }
  /// default_open, allow_all, allow_then_deny_all, allow_then_deny, allowlist, deny_all or denylist.
  std::string_view effective_mode() const;
  /// What a peer in neither list gets: "allow" or "deny".
  std::string_view default_decision() const { return deny_.all && !allow_.all ? "deny" : "allow"; }
  bool allow_all() const { return allow_.all.has_value(); }
  bool deny_all() const { return deny_.all.has_value(); }
  /// Names and npubs as written, ordered, each once, without ALL.
  std::vector<std::string> allow_file_entries() const { return allow_.tokens(); }
  std::vector<std::string> deny_file_entries() const { return deny_.tokens(); }
  /// The npubs that they mean, ordered, each once.
  std::vector<std::string> allow_entries() const { return allow_.npubs(); }
  std::vector<std::string> deny_entries() const { return deny_.npubs(); }
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  struct Entry {
    std::size_t line = 0;
    std::string token;
  };
  struct List {
    std::optional<Entry> all;
    std::map<PublicKey, Entry> keys;        // the first line that names the key
    std::map<std::string, PublicKey> said;  // every token

    bool empty() const { return !all && keys.empty(); }
    std::vector<std::string> tokens() const;
    std::vector<std::string> npubs() const;
  };
  void read(std::string_view text, std::string_view file, List& into, const NameLookup& name);

  List allow_, deny_;
  std::vector<Warning> warnings_;
};

}  // namespace weft::acl
