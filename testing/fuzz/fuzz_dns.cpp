#include "names/dns.h"
#include "testing/fuzz/check.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  const PublicKey key{};
  const auto reply = names::answer_dns(in, 300, [&](std::string_view label) {
    FUZZ_CHECK(!label.empty() && label.find('.') == std::string_view::npos);
    return label == "box" ? std::optional(key) : std::nullopt;
  });
  if (!reply) return 0;
  constexpr std::size_t kMostBytes = 512;  // what every resolver takes
  const Buffer& out = reply->bytes;
  FUZZ_CHECK(out.size() >= (reply->refused ? 12 : 12 + 5) && out.size() <= kMostBytes);
  FUZZ_CHECK(!reply->refused || (out.size() == 12 && (out[3] & 0x0F) == 1));
  FUZZ_CHECK(out[0] == in[0] && out[1] == in[1]);
  FUZZ_CHECK((out[2] & 0x80) != 0 && (out[2] & 0x78) == (in[2] & 0x78));
  FUZZ_CHECK(reply->prime.has_value() == (out[7] == 1));
  // Our replies are no queries: two responders cannot be made to talk to each other.
  FUZZ_CHECK(!names::answer_dns(out, 300, names::HostMap{}));
  return 0;
}
