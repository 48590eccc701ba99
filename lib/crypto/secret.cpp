#include "crypto/secret.h"

#include <sodium.h>

namespace weft::crypto {

void wipe(void* p, std::size_t n) noexcept { sodium_memzero(p, n); }

bool equal_secret(Bytes a, Bytes b) noexcept {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft::crypto
