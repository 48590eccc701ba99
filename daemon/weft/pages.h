/// Replies of the daemon as a person reads them. Pure: JSON in, text out; what is missing or odd shows as "-".
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "weft/table.h"

namespace weft::cli {

using Json = nlohmann::json;
/// `now_ms` Unix milliseconds, for ages.
struct Page {
  Style style;
  std::int64_t now_ms = 0;

  std::string status(const Json& d) const;
  std::string peers(const Json& d) const;
  std::string wanted(const Json& d) const;
  std::string links(const Json& links, const Json& connections) const;
  std::string tree(const Json& d) const;
  std::string sessions(const Json& d) const;
  std::string routes(const Json& d) const;
  std::string cache(const Json& d) const;
  std::string bloom(const Json& d) const;
  std::string transports(const Json& d) const;
  std::string drops(const Json& d, bool all) const;
  std::string acl(const Json& d) const;
  std::string refusals(const Json& d) const;
  std::string metrics(const Json& counters, const Json& mmp, const Json& dataplane, bool all) const;
  std::string stats_list(const Json& d) const;
  std::string stats_peers(const Json& d) const;
  std::string history(const Json& d, bool plot, std::size_t columns) const;
};

/// `data` is what show_status gave.
bool is_linked(const Json& data);

}  // namespace weft::cli
