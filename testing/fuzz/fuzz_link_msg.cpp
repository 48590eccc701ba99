#include "testing/fuzz/check.h"
#include "wire/link_msg.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  const auto type = link_msg_of(in);
  if (type) FUZZ_CHECK(name_of(*type) != "unknown");
  const auto bye = fuzz::round_trip(in, decode_disconnect, encode_disconnect);
  if (!bye.empty()) {
    FUZZ_CHECK(type && *type == LinkMsg::disconnect);
    FUZZ_CHECK(bye[1] == in[1] || bye[1] == 0xff);
  }
  fuzz::check_begins_with(in, fuzz::round_trip(in, decode_heartbeat, encode_heartbeat));
  return 0;
}
