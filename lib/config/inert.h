/// Keys of the reference that are read, checked and without effect here, and why.
#pragma once

#include <string>
#include <vector>

#include "config/complaint.h"
#include "config/schema.h"

namespace weft::config {

struct InertKey {
  std::string key;  // as written; a section stands for all in it
  std::string why;  // one clause
};

/// Of the keys that were written, in the order of the reference page. Transports of a kind that is not there are not
/// among them: they are told apart.
std::vector<InertKey> inert_keys(const Config& config, const Places& places);

}  // namespace weft::config
