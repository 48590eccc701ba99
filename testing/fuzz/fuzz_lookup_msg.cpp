#include "testing/fuzz/check.h"
#include "wire/lookup_msg.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  fuzz::check_begins_with(in, fuzz::round_trip(in, decode_lookup_request, encode_lookup_request));
  fuzz::check_begins_with(in, fuzz::round_trip(in, decode_lookup_response, encode_lookup_response));
  if (const auto m = decode_lookup_response(in)) {
    FUZZ_CHECK(lookup_proof_preimage(m->id, m->target, m->path).size() == 26 + 16 * m->path.size());
    FUZZ_CHECK(!m->path.empty() && m->path.size() <= kMaxCoords);
  }
  return 0;
}
