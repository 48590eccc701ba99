#include "testing/fuzz/check.h"
#include "wire/tree_announce.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  fuzz::check_begins_with(in, fuzz::round_trip(in, decode_tree_announce, encode_tree_announce));
  const auto m = decode_tree_announce(in);
  if (!m) return 0;
  FUZZ_CHECK(!m->ancestry.empty() && m->ancestry.size() <= kMaxAncestry);
  FUZZ_CHECK(tree_announce_size(m->ancestry.size()) <= size);
  const auto path = m->path();
  for (std::size_t i = 0; i < path.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) FUZZ_CHECK(path[i] != path[j]);
  return 0;
}
