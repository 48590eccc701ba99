/// One line of a hosts file changed, everything else kept as it is: comments, order, line ends.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"

namespace weft::names {

/// The last line for `name` gets the new key, earlier ones go; without one a line is added. `name` must be valid.
std::string with_host(std::string_view text, std::string_view name, const PublicKey& key);

struct WithoutHost {
  std::string text;
  std::size_t lines = 0;  // taken out
};
WithoutHost without_host(std::string_view text, std::string_view name);

}  // namespace weft::names
