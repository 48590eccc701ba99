#include "testing/fuzz/check.h"
#include "wire/session_frame.h"

using namespace weft;
using namespace weft::wire;

namespace {

bool same(const CoordView& a, const CoordView& b) { return a.path() == b.path(); }

/// A sealed message put together again from its parts is the message, reserved flag bits apart.
void check_sealed(Bytes in) {
  const auto s = decode_sealed_session(in);
  if (!s) return;
  FUZZ_CHECK(s->aad.size() == kSessionHeader && s->ciphertext.size() >= kTag);
  FUZZ_CHECK(s->ciphertext.data() + s->ciphertext.size() == in.data() + in.size());
  Buffer again(kSessionHeader);
  write_session_header(again, s->header);
  if (s->header.coords) {
    put_path(again, s->from.path());
    put_path(again, s->to.path());
  }
  Writer(again).raw(s->ciphertext);
  again[1] = in[1];
  FUZZ_CHECK(equal(in, again));
}

/// Whoever only watches reads the same coordinates as the one the message is for.
void check_passing(Bytes in) {
  const auto seen = peek_coords(in);
  if (const auto s = decode_sealed_session(in))
    FUZZ_CHECK(seen && same(seen->from, s->from) && same(seen->to, s->to));
  if (const auto m = decode_session_setup(in)) {
    FUZZ_CHECK(seen && seen->from.path() == m->from && seen->to.path() == m->to);
  }
  if (const auto m = decode_session_ack(in)) {
    FUZZ_CHECK(seen && seen->from.path() == m->from && seen->to.path() == m->to);
  }
  if (seen) FUZZ_CHECK(seen->from.size() <= kMaxCoords && seen->to.size() <= kMaxCoords);
}

void check_inner(Bytes in) {
  if (const auto m = decode_session_inner(in)) {
    Buffer again(in.begin(), in.end());
    write_session_inner(again, *m);
    again[5] = in[5];
    FUZZ_CHECK(equal(in, again));
  }
  if (const auto m = decode_data_packet(in)) {
    Buffer again(in.begin(), in.end());
    write_ports(again, *m);
    FUZZ_CHECK(equal(in, again));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  check_sealed(in);
  check_passing(in);
  check_inner(in);
  fuzz::round_trip(in, decode_session_setup, encode_session_setup);
  fuzz::round_trip(in, decode_session_ack, encode_session_ack);
  fuzz::round_trip(in, decode_session_msg3, encode_session_msg3);
  return 0;
}
