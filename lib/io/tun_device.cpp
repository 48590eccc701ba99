#include "io/tun_device.h"

namespace weft::io {

std::string_view name_of(TunStatus s) {
  switch (s) {
    case TunStatus::ok:
      return "ok";
    case TunStatus::would_block:
      return "would_block";
    case TunStatus::refused:
      return "refused";
    case TunStatus::down:
      return "down";
    case TunStatus::gone:
      return "gone";
    case TunStatus::other:
      break;
  }
  return "other";
}

}  // namespace weft::io
