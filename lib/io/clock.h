/// The only place where an Instant is made.
#pragma once

#include "base/time.h"

namespace weft::io {

/// CLOCK_BOOTTIME: monotonic, counts through suspend.
Instant mono_now();
/// Both clocks, read one after the other.
Now clock_now();

}  // namespace weft::io
