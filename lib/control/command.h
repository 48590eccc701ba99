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
/// {name}: who is meant; the packet path knows the key from then on, as after a DNS query.
Answer resolve(Node& node, Now now, Outbox& out, const Params& p);

}  // namespace weft::control
