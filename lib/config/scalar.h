/// One written value into one member: the types and words of YAML scalars.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/complaint.h"
#include "config/table.h"
#include "config/tree.h"

namespace weft::config {

/// true, yes, on and their opposites, in any case.
std::optional<bool> parse_bool(std::string_view text);
/// Decimal, 0x hexadecimal or 0o octal. `too_large` tells a number past 64 bits, or a negative one, from no
/// number.
std::optional<std::uint64_t> parse_number(std::string_view text, bool* too_large = nullptr);
/// A decimal fraction, or a number as above; infinities and NaN are read too.
std::optional<double> parse_fraction(std::string_view text);

/// Sets the member, or complains and leaves it as it is. Widths are checked here, narrower ranges by
/// check_ranges().
void read_value(const Tree& t, const Field& f, Complaints& out);

/// As written, shortened, in quotes, control characters escaped; nothing for what may be a secret.
std::string shown(const Tree& t, bool secret);
std::string shown(std::string_view text);

}  // namespace weft::config
