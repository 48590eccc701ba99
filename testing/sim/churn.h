/// Everything goes wrong, at random and all the time; in the end everything is put right again.
#pragma once

#include "sim/scenario.h"

namespace weft::sim {

/// About every `every` for as long as `lasts`: a node is killed, says goodbye, comes back or changes its address; a link
/// is cut, healed, or becomes bad and good again. A third of the nodes at most are down at once.
void churn(World& w, std::uint64_t seed, Duration lasts, Duration every);

}  // namespace weft::sim
