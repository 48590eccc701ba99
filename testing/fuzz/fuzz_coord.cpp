#include "testing/fuzz/check.h"
#include "wire/coord.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  const auto decode = [](CoordForm form) {
    return [form](Bytes b) {
      Reader r{b};
      return read_path(r, form);
    };
  };
  const auto strict = fuzz::round_trip(in, decode(CoordForm::strict), put_path);
  const auto optional = fuzz::round_trip(in, decode(CoordForm::optional), put_path);
  fuzz::check_begins_with(in, strict);
  fuzz::check_begins_with(in, optional);
  if (!strict.empty()) FUZZ_CHECK(strict == optional && strict.size() >= coords_size(1));
  FUZZ_CHECK(optional.size() <= coords_size(kMaxCoords));
  Reader r{in};
  const auto view = read_coords(r, CoordForm::optional);
  FUZZ_CHECK(view.has_value() == !optional.empty());
  if (view) FUZZ_CHECK(coords_size(view->size()) + r.left() == size);
  return 0;
}
