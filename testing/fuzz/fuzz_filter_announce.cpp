#include "testing/fuzz/check.h"
#include "wire/filter_announce.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  const auto again = fuzz::round_trip(in, decode_filter_announce, encode_filter_announce);
  if (!again.empty()) FUZZ_CHECK(equal(in, again));
  return 0;
}
