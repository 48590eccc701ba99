/// What a scraper reads: counters and gauges in Prometheus' text format 0.0.4, with its names and base units.
///
/// Labels   causes of refusals, transports, threads: lists that the program knows. Peers: at most `most_peers` of them,
///          always the same ones while they stay linked; how many are left out is a number of its own.
/// Thread   the node's. Cost: O(lines); 500 peers in well under 10 ms.
#pragma once

#include <string>

#include "base/time.h"
#include "control/shell_view.h"

namespace weft {
class Node;
}

namespace weft::control {

std::string metrics_page(Node& node, Now now, const ShellView& shell, std::size_t most_peers);

}  // namespace weft::control
