#include "wire/prefix.h"

namespace weft::wire {

void encode_prefix(Buffer& out, const Prefix& p) {
  const auto at = out.size();
  out.resize(at + kPrefix);
  write_prefix(MutBytes(out).subspan(at), p);
}

}  // namespace weft::wire
