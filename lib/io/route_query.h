/// How the kernel would send to an address. Nothing is sent.
#pragma once

#include <string>

#include "base/endpoint.h"
#include "base/result.h"

namespace weft::io {

struct RouteInfo {
  std::string interface;  // it would leave by
  int mtu = 0;            // bytes of an IP packet; 0: unknown
};
/// Errors: errno (ENETUNREACH: no route).
Result<RouteInfo, int> route_to(const Endpoint& to);

}  // namespace weft::io
