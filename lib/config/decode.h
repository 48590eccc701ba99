/// From the tree to the structs: types, unknown keys, single or named transports, old names.
#pragma once

#include <vector>

#include "config/complaint.h"
#include "config/schema.h"
#include "config/tree.h"

namespace weft::config {

/// Moves what stands under an old name to the new one, with one warning in all; of both, the old one counts.
/// Also folds node.dataplane into weft.dataplane, which wins.
void modernize(Tree& document, Complaints& out);

/// Fills what the tree says over what is there already; never stops at the first fault.
void decode_config(const Tree& document, Config& into, Places& places, Complaints& out);

/// A list under `at`. An entry that cannot be read stays, empty, so that indices are those of the file; validation
/// takes it out.
void decode_peers(const Tree& list, const std::string& at, std::vector<Peer>& into, Places& places,
                  Complaints& out);

}  // namespace weft::config
