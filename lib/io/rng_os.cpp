#include "io/rng_os.h"

#include <sodium.h>

#include <stdexcept>

namespace weft::io {

OsRng::OsRng() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium found no source of randomness");
}

void OsRng::fill(MutBytes out) { randombytes_buf(out.data(), out.size()); }

}  // namespace weft::io
