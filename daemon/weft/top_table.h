/// The tables of `weft top`: which columns a page has, how their values look, and which of them fit. Pure.
#pragma once

#include "weft/screen.h"
#include "weft/top_model.h"

namespace weft::cli {

inline constexpr Look kPlain{}, kDim{Colour::dim, false}, kBold{Colour::bold, false},
    kGood{Colour::good, false}, kWarn{Colour::warn, false}, kBad{Colour::bad, false};

/// "12 s", of the whole seconds nearest to it.
std::string age_of_seconds(double s);
Look loss_look(double ratio);

/// The rows of the model's page, a line of titles at `from` and up to `rows` below it; not for pages of curves alone.
/// `ascii`: nothing but ASCII beside names.
void draw_table(Screen& s, const TopModel& m, std::size_t from, std::size_t rows, bool ascii);

}  // namespace weft::cli
