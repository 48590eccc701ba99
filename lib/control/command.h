/// What changes the node. What is to be done about it goes to the outbox of the request.
#pragma once

#include "control/queries.h"

namespace weft::control {

Answer connect(Node& node, Now now, Outbox& out, const Params& p);
Answer disconnect(Node& node, Now now, Outbox& out, const Params& p);
/// {npub, alias?, addresses?: ["HOST:PORT" or {transport, addr, priority?}], address?, transport?}; kept across restarts.
Answer peer_add(Node& node, Now now, Outbox& out, const Params& p);
/// {npub}
Answer peer_remove(Node& node, Now now, Outbox& out, const Params& p);
/// Whom a text means: npub, name, NAME.fips, or an address of the mesh whose key is known. Errors: a sentence.
Result<PublicKey, std::string> target_of(Node& node, std::string_view text);
/// {npub} → {probe_id, budget_ms, …}; as the reference's.
Answer probe_start(Node& node, Now now, Outbox& out, const Params& p);
/// {probe_id} → {state, report}; a finished probe is forgotten by the poll that reads it.
Answer probe_poll(Node& node, Now now, Outbox& out, const Params& p);
Answer probe_cancel(Node& node, Now now, Outbox& out, const Params& p);
/// {target}: a thorough probe that is followed. Errors: a sentence.
Result<std::uint64_t, std::string> start_followed(Node& node, Now now, Outbox& out, const Params& p);
/// What the probe found so far.
Json probe_json(const Node& node, Now now, std::uint64_t id, const probe::Probes::Job& job);
/// The same with its state: {report, state}.
Json progress_json(const Node& node, Now now, std::uint64_t id, const probe::Probes::Job& job);
/// {name}: who is meant; the packet path knows the key from then on, as after a DNS query.
Answer resolve(Node& node, Now now, Outbox& out, const Params& p);

// What the shell does. query_firewall.cpp, query_names.cpp.

/// {port: "tcp/22", from?: npub or name, for?: "1h"}; kept across restarts.
Answer firewall_allow(const View& v, ShellActions& shell, const Params& p);
/// {port, from?}: takes openings back; refuses what the configuration opens. Kept across restarts.
Answer firewall_deny(const View& v, ShellActions& shell, const Params& p);
/// Reads hosts and peer lists again, now.
Answer reload_lists(const View& v, ShellActions& shell, const Params& p);

}  // namespace weft::control
