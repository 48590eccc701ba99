/// Draws what `weft top` knows. Pure: a model and a size in, a screen out.
#pragma once

#include "weft/screen.h"
#include "weft/top_model.h"

namespace weft::cli {

struct TopRoom {
  std::size_t rows = 0;    // of the page's table or curves
  std::size_t points = 0;  // that its curves can show
};
/// What fits into a terminal of that size, for TopModel::set_room.
TopRoom top_room(TopPage page, std::size_t columns, std::size_t rows);

/// `ascii`: nothing but ASCII beside names.
Screen draw_top(const TopModel& model, std::size_t columns, std::size_t rows, std::int64_t now_ms,
                bool ascii);

}  // namespace weft::cli
