#include "testing/fuzz/check.h"
#include "wire/envelope.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Steer steer{Bytes(data, size)};
  const auto link_mtu = steer.u16();
  const Bytes in = steer.rest();
  const auto before = decode_envelope(in);
  if (!before) return 0;
  FUZZ_CHECK(equal(in, fuzz::round_trip(in, decode_envelope, encode_envelope)));
  Buffer moved(in.begin(), in.end());
  if (!advance_envelope(moved, link_mtu)) {
    FUZZ_CHECK(before->ttl <= 1 && equal(in, moved));
    return 0;
  }
  const auto after = decode_envelope(moved);
  FUZZ_CHECK(after && after->ttl == before->ttl - 1);
  FUZZ_CHECK(after->path_mtu == std::min(before->path_mtu, link_mtu));
  FUZZ_CHECK(after->from == before->from && after->to == before->to &&
             equal(after->payload, before->payload));
  return 0;
}
