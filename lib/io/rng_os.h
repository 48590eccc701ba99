/// The system's randomness, through libsodium. Any thread, one object each.
#pragma once

#include "base/rng.h"

namespace weft::io {

class OsRng final : public Rng {
 public:
  OsRng();
  void fill(MutBytes out) override;
};

}  // namespace weft::io
