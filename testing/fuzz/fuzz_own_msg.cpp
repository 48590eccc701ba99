#include "testing/fuzz/check.h"
#include "wire/own_msg.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  const auto hello = fuzz::round_trip(in, decode_hello, encode_hello);
  if (!hello.empty()) FUZZ_CHECK((hello[1] & ~1) == 0 && equal(Bytes(hello).subspan(2), in.subspan(2, 4)));
  const auto notice = fuzz::round_trip(in, decode_mtu_notice, encode_mtu_notice);
  if (!notice.empty()) FUZZ_CHECK(equal(Bytes(notice).subspan(2), in.subspan(2, 14)));
  const auto ack = fuzz::round_trip(in, decode_mtu_ack, encode_mtu_ack);
  if (!ack.empty()) FUZZ_CHECK(equal(Bytes(ack).subspan(2), in.subspan(2, 6)));
  if (const auto probe = decode_mtu_probe(in)) {
    FUZZ_CHECK(probe->size == in.size() + kFrameCost);
    Buffer again(in.size(), 0xff);
    write_mtu_probe(again, probe->id);
    const auto second = decode_mtu_probe(again);
    FUZZ_CHECK(second && second->id == probe->id && second->size == probe->size);
  }
  return 0;
}
