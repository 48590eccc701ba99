/// What a configuration may not say, checked all at once: ranges from the table, and rules that join several
/// keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/complaint.h"
#include "config/load.h"
#include "config/schema.h"

namespace weft::config {

/// Every complaint about the values. Peers and addresses that cannot be used are taken out with a warning;
/// so is the second of two entries for one peer, after its addresses were moved to the first.
Complaints validate(Config& config, const Places& places, const NpubCheck& npub_ok = looks_like_npub);

/// The part of validate() that looks at peers one by one, for lists from elsewhere.
void drop_unusable_peers(Config& config, const Places& places, const NpubCheck& npub_ok, Complaints& out);

/// Takes out peers that are this node itself, with a warning each.
Complaints drop_self(Config& config, std::string_view own_npub, const Places& places = {});

/// One line per default in force that is not the reference's, for the start log: "tun.enabled: true (the
/// reference: false)". Keys that were written are not listed.
std::vector<std::string> differing_defaults(const Config& config, const Places& places);

/// One row of the configuration reference.
struct KeyRow {
  std::string key;       // "node.limits.max_peers", "transports.udp.mtu", "peers[].npub"
  std::string type;      // "number", "fraction", "yes or no", "text", "list of text", "one of …"
  std::string default_;  // as it would be written; "none" when absent means something of its own
  std::string allowed;
  std::string meaning;
};
/// Every key, in the order of the table.
std::vector<KeyRow> describe();

}  // namespace weft::config
