#include "crypto/aead.h"

#include "crypto/aead_backends.h"

namespace weft::crypto {

#ifndef WEFT_HAVE_IPSEC_MB
std::unique_ptr<Aead> make_ipsec_mb_aead(std::string_view) { return nullptr; }
#endif

std::unique_ptr<Aead> make_aead(std::string_view which) {
  constexpr std::string_view kIpsecMb = "ipsec-mb";
  if (which == "sodium") return make_sodium_aead();
  if (which == kIpsecMb) return make_ipsec_mb_aead("best");
  if (which.starts_with(kIpsecMb) && which.substr(kIpsecMb.size()).starts_with(' '))
    return make_ipsec_mb_aead(which.substr(kIpsecMb.size() + 1));
  if (which != "auto") return nullptr;
  // Measured on amd64 with 64 to 1400 bytes: from AVX2 on, ipsec-mb takes a third to two thirds of
  // libsodium's time.
  for (const auto* arch : {"avx512", "avx2"})
    if (auto fast = make_ipsec_mb_aead(arch)) return fast;
  return make_sodium_aead();
}

}  // namespace weft::crypto
