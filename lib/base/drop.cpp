#include "base/drop.h"

namespace weft {
namespace {

struct Row {
  std::string_view name;
  std::string_view text;
};
constexpr Row kRows[] = {
#define WEFT_X(name, text) {#name, text},
    WEFT_DROPS(WEFT_X)
#undef WEFT_X
};
static_assert(std::size(kRows) == kDropCount);

}  // namespace

std::string_view name_of(Drop d) { return d < Drop::count_ ? kRows[static_cast<std::size_t>(d)].name : "none"; }
std::string_view text_of(Drop d) { return d < Drop::count_ ? kRows[static_cast<std::size_t>(d)].text : ""; }

}  // namespace weft
