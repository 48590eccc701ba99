/// The keys of weft.yaml as a person reads them in a terminal. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/validate.h"
#include "weft/table.h"

namespace weft::cli {

/// Keys that begin with `below` or have it as one of their parts ("node.limits", "mtu"); all when it is empty. Empty when
/// there is none.
std::vector<config::KeyRow> matching_keys(const std::vector<config::KeyRow>& all, std::string_view below);
std::string config_reference(const std::vector<config::KeyRow>& keys, const Style& style);

}  // namespace weft::cli
