// The table's rows as text: types, ranges, values; and the range check, whose words these are.
#include <fmt/format.h>

#include <cmath>

#include "config/table.h"

namespace weft::config {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

template <class T>
constexpr bool kIsNumber = std::is_integral_v<T> && !std::is_same_v<T, bool>;

std::string number_range(const Field& f, std::uint64_t width_max) {
  const std::uint64_t max = std::min(f.max, width_max);
  if (max == std::numeric_limits<std::uint64_t>::max())
    return f.min == 0 ? "a whole number" : fmt::format("a whole number, {} or more", f.min);
  return fmt::format("a whole number, {} to {}", f.min, max);
}
std::string fraction_range(const Field& f) {
  if (std::isinf(f.lo)) return "a number";
  if (std::isinf(f.hi)) return fmt::format("a number, {} {}", f.open ? "above" : "not below", f.lo);
  return fmt::format("a number{} {} {} {}", f.open ? " between" : ",", f.lo, f.open ? "and" : "to", f.hi);
}
std::string words_of(const Choice& c, std::string_view joiner) {
  return fmt::format("{}", fmt::join(c.words, joiner));
}
std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool in_range(const Field& f, double v) {
  if (!std::isfinite(v)) return false;
  return f.open ? v > f.lo && v < f.hi : v >= f.lo && v <= f.hi;
}
bool in_range(const Field& f, std::uint64_t v) { return v >= f.min && v <= f.max; }

bool value_in_range(const Field& f) {
  return std::visit(Overloaded{
                        [](const bool*) { return true; },
                        [&](const double* p) { return in_range(f, *p); },
                        [](const std::string*) { return true; },
                        [](const std::optional<bool>*) { return true; },
                        [](const std::optional<std::string>*) { return true; },
                        [&](const std::optional<double>* p) { return !*p || in_range(f, **p); },
                        [](const std::vector<std::string>*) { return true; },
                        [&](const std::vector<std::uint64_t>* p) {
                          bool ok = !p->empty();
                          for (const auto v : *p) ok = ok && in_range(f, v);
                          return ok;
                        },
                        [](const Choice& c) { return *c.value < c.words.size(); },
                        [&](const auto* p) {
                          if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(*p)>>)
                            return in_range(f, std::uint64_t{*p});
                          else return !*p || in_range(f, std::uint64_t{**p});
                        },
                    },
                    f.slot);
}

}  // namespace

std::string type_of(const Field& f) {
  return std::visit(Overloaded{
                        [](const bool*) { return std::string("yes or no"); },
                        [](const std::optional<bool>*) { return std::string("yes or no"); },
                        [](const double*) { return std::string("fraction"); },
                        [](const std::optional<double>*) { return std::string("fraction"); },
                        [](const std::string*) { return std::string("text"); },
                        [](const std::optional<std::string>*) { return std::string("text"); },
                        [](const std::vector<std::string>*) { return std::string("list of text"); },
                        [](const std::vector<std::uint64_t>*) { return std::string("list of numbers"); },
                        [](const Choice&) { return std::string("word"); },
                        [](const auto*) { return std::string("number"); },
                    },
                    f.slot);
}

std::string allowed_of(const Field& f) {
  return std::visit(Overloaded{
                        [](const bool*) { return std::string("true or false"); },
                        [](const std::optional<bool>*) { return std::string("true or false"); },
                        [&](const double*) { return fraction_range(f); },
                        [&](const std::optional<double>*) { return fraction_range(f); },
                        [](const std::string*) { return std::string("text"); },
                        [](const std::optional<std::string>*) { return std::string("text"); },
                        [](const std::vector<std::string>*) { return std::string("a list of texts"); },
                        [&](const std::vector<std::uint64_t>*) {
                          return "a list with at least one entry, each " +
                                 number_range(f, std::numeric_limits<std::uint64_t>::max());
                        },
                        [](const Choice& c) { return words_of(c, ", "); },
                        [&](const auto* p) {
                          using T = std::remove_cvref_t<decltype(*p)>;
                          if constexpr (kIsNumber<T>) return number_range(f, std::numeric_limits<T>::max());
                          else return number_range(f, std::numeric_limits<typename T::value_type>::max());
                        },
                    },
                    f.slot);
}

std::string value_of(const Field& f) {
  const auto plain = [](const auto& v) {
    using T = std::remove_cvref_t<decltype(v)>;
    if constexpr (std::is_same_v<T, std::string>) return v;
    else return fmt::format("{}", v);
  };
  return std::visit(
      Overloaded{
          [](const Choice& c) { return std::string(c.words[*c.value]); },
          [](const std::vector<std::uint64_t>* p) { return fmt::format("[{}]", fmt::join(*p, ", ")); },
          [](const std::vector<std::string>* p) {
            std::vector<std::string> q;
            for (const auto& s : *p) q.push_back(quoted(s));
            return fmt::format("[{}]", fmt::join(q, ", "));
          },
          [&](const auto* p) -> std::string {
            using T = std::remove_cvref_t<decltype(*p)>;
            if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
              return f.secret ? "(secret)" : plain(*p);
            } else {
              if (!*p) return "none";
              return f.secret ? "(secret)" : plain(**p);
            }
          },
      },
      f.slot);
}

void check_ranges(const Fields& fields, const Places& places, Complaints& out) {
  for (const Field& f : fields)
    if (!value_in_range(f))
      out.push_back(
          {Severity::error, places.find(f.key), f.key, "value out of range", value_of(f), allowed_of(f), {}});
}

}  // namespace weft::config
