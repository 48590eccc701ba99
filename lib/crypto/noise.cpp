#include "crypto/noise.h"

#include <tuple>

namespace weft::crypto {

SymmetricState::SymmetricState(std::string_view name, const PublicKey& responder)
    : hash_(sha256(as_bytes(name))), chain_(std::span<const std::uint8_t, 32>{hash_}) {
  mix_hash(even_key(responder).view());
}

SymmetricState SymmetricState::clone() const {
  SymmetricState s;
  s.hash_ = hash_;
  s.chain_ = chain_.clone();
  s.key_ = key_.clone();
  s.counter_ = counter_;
  return s;
}

void SymmetricState::mix_hash(Bytes data) { hash_ = sha256(hash_, data); }

void SymmetricState::mix_key(const Secret32& dh_output) {
  std::tie(chain_, key_) = hkdf_pair(chain_.view(), dh_output.view());
  counter_ = 0;
}

void SymmetricState::seal(Bytes plain, std::uint8_t* out) {
  seal_once(key_, counter_++, {}, plain, out);
  mix_hash({out, plain.size() + kTagSize});
}

bool SymmetricState::open(Bytes sealed, std::uint8_t* out) {
  if (!open_once(key_, counter_, {}, sealed, out)) return false;
  ++counter_;
  mix_hash(sealed);
  return true;
}

std::pair<AeadKey, AeadKey> SymmetricState::split() const {
  auto [first, second] = hkdf_pair(chain_.view(), {});
  return {AeadKey{std::move(first)}, AeadKey{std::move(second)}};
}

}  // namespace weft::crypto
