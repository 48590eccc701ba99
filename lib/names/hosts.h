/// Names that people give to nodes: the hosts file and the aliases of configured peers, one map.
///
/// File    `name npub` a line; `#` comments only as whole lines. Bad lines are skipped with a warning, the
/// last
///         duplicate wins, text that is not UTF-8 counts for nothing.
/// Case    names are kept and found in lower case.
/// Source  the session sheet, 3.3.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace weft::names {

/// 1 to 63 of [A-Za-z0-9-], no dash at either end, not beginning with npub1.
bool valid_host_name(std::string_view name);
std::string lower_case(std::string_view text);

class HostMap {
 public:
  /// False, and nothing done, when the name is not valid.
  bool put(std::string_view name, const PublicKey& key);
  /// Everything of `over`, which wins where both have a name.
  void put_all(const HostMap& over);
  const PublicKey* find(std::string_view name) const;
  /// The name given last to this node; nullptr when it has none.
  const std::string* name_of(const NodeAddr& addr) const;
  std::size_t size() const { return by_name_.size(); }
  /// Ordered by name.
  const std::map<std::string, PublicKey, std::less<>>& entries() const { return by_name_; }

 private:
  std::map<std::string, PublicKey, std::less<>> by_name_;
  std::map<NodeAddr, std::vector<std::string>> by_addr_;  // in the order they were given; never empty
};

struct HostsFile {
  struct Warning {
    std::size_t line = 0;  // 0: the whole file
    std::string text;
  };
  HostMap map;
  std::vector<Warning> warnings;  // at most kMaxWarnings, the last then counts the rest
  static constexpr std::size_t kMaxWarnings = 50;
};
HostsFile parse_hosts(std::string_view text);

/// The key that a text means: a name in the map, else an npub in any case.
std::optional<PublicKey> resolve_name(const HostMap& hosts, std::string_view name);

/// What to call a node before people: hosts name, else alias, else short npub, else eight hex digits and
/// "...".
std::string display_name(const HostMap& hosts, std::string_view alias, const NodeAddr& addr,
                         const PublicKey* key);

}  // namespace weft::names
