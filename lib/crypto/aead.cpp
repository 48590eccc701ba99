#include "crypto/aead.h"

#include "crypto/aead_backends.h"

namespace weft::crypto {

#ifndef WEFT_HAVE_IPSEC_MB
std::unique_ptr<Aead> make_ipsec_mb_aead(bool) { return nullptr; }
#endif

std::unique_ptr<Aead> make_aead(std::string_view which) {
  if (which == "sodium") return make_sodium_aead();
  if (which == "ipsec-mb") return make_ipsec_mb_aead(true);
  if (which != "auto") return nullptr;
  // Measured on amd64 with 64 to 1400 bytes: from AVX2 on, ipsec-mb takes a third to two thirds of
  // libsodium's time.
  if (auto fast = make_ipsec_mb_aead(false)) return fast;
  return make_sodium_aead();
}

}  // namespace weft::crypto
