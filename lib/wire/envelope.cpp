#include "wire/envelope.h"

namespace weft::wire {

void encode_envelope(Buffer& out, const Envelope& e) {
  const auto at = out.size();
  out.resize(at + kEnvelopeHeader);
  write_envelope_header(MutBytes(out).subspan(at), e);
  Writer(out).raw(e.payload);
}

}  // namespace weft::wire
