#include "crypto/identity.h"

#include "crypto/bech32.h"

namespace weft::crypto {
namespace {

constexpr std::string_view kPublicPrefix = "npub";
constexpr std::string_view kSecretPrefix = "nsec";

}  // namespace

NodeAddr node_addr_of(const PublicKey& key) { return NodeAddr::from(sha256(key.view())); }

std::string npub_of(const PublicKey& key) { return bech32_encode(kPublicPrefix, key.view()); }

std::string short_npub_of(const PublicKey& key) {
  const std::string full = npub_of(key);
  return full.substr(0, 9) + "..." + full.substr(full.size() - 4);
}

Result<PublicKey, std::string_view> parse_npub(std::string_view text) {
  PublicKey key;
  if (const auto ok = bech32_decode(kPublicPrefix, text, key.bytes); !ok) return bad(ok.error());
  if (!Point::lift(key)) return bad(std::string_view{"not a point of the curve"});
  return key;
}

bool is_mesh_addr(Bytes ipv6) { return ipv6.size() == 16 && ipv6[0] == 0xfd; }

Result<Identity, std::string_view> Identity::parse_secret(std::string_view text) {
  Secret32 bytes;
  if (text.starts_with("nsec1") || text.starts_with("NSEC1")) {
    if (const auto ok = bech32_decode(kSecretPrefix, text, bytes.mut()); !ok) return bad(ok.error());
  } else if (!from_hex(text, bytes.mut())) {
    return bad(std::string_view{"neither nsec1... nor 64 hexadecimal digits"});
  }
  return from_bytes(bytes.view());
}

Result<Identity, std::string_view> Identity::from_bytes(std::span<const std::uint8_t, 32> secret) {
  auto key = SecretKey::from(secret);
  if (!key) return bad(std::string_view{"not a secret key: zero, or not below the group order"});
  return Identity{std::move(*key)};
}

Identity Identity::generate(Rng& rng) { return Identity{SecretKey::generate(rng)}; }

Identity::Identity(SecretKey secret)
    : secret_(std::move(secret)),
      compressed_(secret_.point().compressed()),
      key_(x_of(compressed_)),
      addr_(node_addr_of(key_)) {}

std::string Identity::nsec() const { return bech32_encode(kSecretPrefix, secret_.view()); }

}  // namespace weft::crypto
