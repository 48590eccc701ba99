/// A value, or the reason why there is none.
#pragma once

#include <tl/expected.hpp>

namespace weft {

template <class T, class E>
using Result = tl::expected<T, E>;

/// The unhappy half of a Result.
template <class E>
constexpr auto bad(E reason) {
  return tl::make_unexpected(std::move(reason));
}

}  // namespace weft
