#include "testing/fuzz/check.h"
#include "wire/route_error.h"
#include "wire/session_frame.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  const auto again = fuzz::round_trip(in, decode_route_error, encode_route_error);
  if (again.empty()) return 0;
  FUZZ_CHECK(again.size() <= size);
  FUZZ_CHECK(load_le<std::uint16_t>(again.data() + 2) == again.size() - kPrefix);
  FUZZ_CHECK(equal(in.subspan(6, again.size() - 6), Bytes(again).subspan(6)));
  FUZZ_CHECK(*classify_session_payload(in) == SessionKind::signal);
  FUZZ_CHECK(!decode_sealed_session(in));
  return 0;
}
