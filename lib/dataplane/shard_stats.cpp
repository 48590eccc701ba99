#include "dataplane/shard_stats.h"

namespace weft {

std::string_view name_of(Stage s) {
  switch (s) {
    case Stage::inner:
      return "inner";
    case Stage::session_seal:
      return "session_seal";
    case Stage::hop_seal:
      return "hop_seal";
    case Stage::wire_send:
      return "wire_send";
    case Stage::hop_open:
      return "hop_open";
    case Stage::dispatch:
      return "dispatch";
    case Stage::session_open:
      return "session_open";
    case Stage::tun_write:
      return "tun_write";
    case Stage::count_:
      break;
  }
  return "?";
}

}  // namespace weft
