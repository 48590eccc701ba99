#include "testing/fuzz/check.h"
#include "wire/link_frame.h"

using namespace weft;
using namespace weft::wire;

namespace {

/// Classifier and decoders agree on what a frame is.
void check_agreement(Bytes in) {
  const auto phase = classify_link_frame(in);
  const auto is = [&](LinkPhase p) { return phase && *phase == p; };
  FUZZ_CHECK(decode_link_header(in).has_value() == is(LinkPhase::sealed));
  FUZZ_CHECK(decode_link_msg1(in).has_value() == is(LinkPhase::msg1));
  FUZZ_CHECK(decode_link_msg2(in).has_value() == is(LinkPhase::msg2));
  // What arrives whole in a datagram is measured the same in a stream.
  if (phase) FUZZ_CHECK(*stream_frame_size(in, kMaxPlaintext + kMinLinkFrame) == in.size());
}

void check_header(Bytes in) {
  const auto h = decode_link_header(in);
  if (!h) return;
  FUZZ_CHECK(in.size() == kMinLinkFrame + h->payload_len);
  Buffer again(in.begin(), in.end());
  write_link_header(again, *h);
  again[1] = in[1];  // reserved bits are not kept
  FUZZ_CHECK(equal(in, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  check_agreement(in);
  check_header(in);
  const auto msg1 = fuzz::round_trip(in, decode_link_msg1, encode_link_msg1);
  if (!msg1.empty()) FUZZ_CHECK(equal(in, msg1));
  const auto msg2 = fuzz::round_trip(in, decode_link_msg2, encode_link_msg2);
  if (!msg2.empty()) FUZZ_CHECK(equal(in, msg2));
  fuzz::check_begins_with(in, fuzz::round_trip(in, decode_prefix, encode_prefix));
  if (const auto inner = decode_link_inner(in)) FUZZ_CHECK(inner->message.size() + kLinkTimestamp == size);
  return 0;
}
