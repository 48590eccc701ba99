#include "config/scalar.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace weft::config {
namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Reads one scalar into one member. Each overload says what is wrong, or nothing when all is well.
struct Read {
  const Tree& t;

  std::string operator()(bool* p) const {
    const auto v = t.quoted ? std::nullopt : parse_bool(t.text);
    if (!v) return "neither true nor false";
    *p = *v;
    return {};
  }
  template <class N>
  requires std::is_integral_v<N> std::string operator()(N* p) const {
    if (t.quoted) return "text where a number belongs; write it without quotes";
    bool too_large = false;
    const auto v = parse_number(t.text, &too_large);
    if (too_large || (v && *v > std::numeric_limits<N>::max())) return "number out of range";
    if (!v) return "not a whole number";
    *p = static_cast<N>(*v);
    return {};
  }
  std::string operator()(double* p) const {
    const auto v = t.quoted ? std::nullopt : parse_fraction(t.text);
    if (!v) return "not a number";
    *p = *v;
    return {};
  }
  std::string operator()(std::string* p) const {
    *p = t.text;
    return {};
  }
  template <class T>
  std::string operator()(std::optional<T>* p) const {
    T v{};
    std::string problem = (*this)(&v);
    if (problem.empty()) *p = std::move(v);
    return problem;
  }
  std::string operator()(const Choice& c) const {
    for (std::size_t i = 0; i < c.words.size(); ++i) {
      if (c.words[i] != t.text) continue;
      *c.value = static_cast<std::uint8_t>(i);
      return {};
    }
    return "not one of the words";
  }
};

template <class T>
void read_list(const Tree& t, std::vector<T>& into, const Field& f, Complaints& out) {
  std::vector<T> made;
  for (const Tree& item : t.items) {
    T v{};
    std::string problem = item.kind == Tree::Kind::scalar ? Read{item}(&v) : "wrong kind of value";
    if (!problem.empty()) {
      out.push_back(
          {Severity::error, item.place, f.key, std::move(problem), shown(item, f.secret), allowed_of(f), {}});
      return;
    }
    made.push_back(std::move(v));
  }
  into = std::move(made);
}

std::string nearest_word(const Tree& t, const Slot& slot) {
  const auto* c = std::get_if<Choice>(&slot);
  return c == nullptr ? std::string() : nearest_of(t.text, {c->words.begin(), c->words.end()});
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  const std::string s = lower(text);
  if (s == "true" || s == "yes" || s == "on") return true;
  if (s == "false" || s == "no" || s == "off") return false;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_number(std::string_view text, bool* too_large) {
  const auto note = [&] {
    if (too_large != nullptr) *too_large = true;
    return std::nullopt;
  };
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '+' || negative)) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  }
  std::uint64_t v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v, base);
  if (r.ptr != text.data() + text.size() || text.empty() || r.ec == std::errc::invalid_argument)
    return std::nullopt;
  if (r.ec == std::errc::result_out_of_range || (negative && v != 0)) return note();
  return v;
}

std::optional<double> parse_fraction(std::string_view text) {
  if (const auto whole = parse_number(text)) return static_cast<double>(*whole);
  std::string s = lower(text);
  if (s == ".nan") return std::nan("");
  if (s == ".inf" || s == "+.inf") return HUGE_VAL;
  if (s == "-.inf") return -HUGE_VAL;
  if (!s.empty() && s[0] == '+') s.erase(0, 1);
  if (s.empty() || s.find_first_not_of("0123456789.e+-") != std::string::npos) return std::nullopt;
  double v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  if (r.ec != std::errc{} || r.ptr != s.data() + s.size()) return std::nullopt;
  return v;
}

void read_value(const Tree& t, const Field& f, Complaints& out) {
  auto* texts = std::get_if<std::vector<std::string>*>(&f.slot);
  auto* numbers = std::get_if<std::vector<std::uint64_t>*>(&f.slot);
  const bool wants_list = texts != nullptr || numbers != nullptr;
  if (t.kind != (wants_list ? Tree::Kind::list : Tree::Kind::scalar)) {
    out.push_back(
        {Severity::error, t.place, f.key, "wrong kind of value", shown(t, f.secret), allowed_of(f), {}});
    return;
  }
  if (texts != nullptr) return read_list(t, **texts, f, out);
  if (numbers != nullptr) return read_list(t, **numbers, f, out);
  std::string problem = std::visit(
      [&](const auto& slot) -> std::string {
        if constexpr (std::is_invocable_v<Read, decltype(slot)>) return Read{t}(slot);
        else return {};
      },
      f.slot);
  if (!problem.empty())
    out.push_back({Severity::error, t.place, f.key, std::move(problem), shown(t, f.secret), allowed_of(f),
                   nearest_word(t, f.slot)});
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMax = 64;
  if (lower(text.substr(0, 5)) == "nsec1") return {};
  std::string out = "\"";
  for (const char c : text.substr(0, kMax)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + (text.size() > kMax ? "…\"" : "\"");
}

std::string shown(const Tree& t, bool secret) {
  if (secret) return {};
  if (t.kind == Tree::Kind::list) return "a list";
  if (t.kind == Tree::Kind::map) return "a mapping";
  return shown(t.text);
}

}  // namespace weft::config
