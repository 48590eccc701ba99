#include "config/complaint.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::config {

std::string Complaint::text() const {
  std::string out;
  if (!place.file.empty()) out += place.file + (place.line > 0 ? fmt::format(":{}", place.line) : "") + ": ";
  out += severity == Severity::error ? "error: " : "warning: ";
  if (!key.empty()) out += key + ": ";
  out += problem;
  if (!found.empty()) out += fmt::format("; found {}", found);
  if (!allowed.empty()) out += fmt::format("; allowed: {}", allowed);
  if (!nearest.empty()) out += fmt::format("; did you mean {}?", nearest);
  return out;
}

bool has_errors(const Complaints& c) {
  return std::ranges::any_of(c, [](const Complaint& x) { return x.severity == Severity::error; });
}

std::string text_of(const Complaints& c) {
  std::string out;
  for (const auto& x : c) out += x.text() + "\n";
  return out;
}

Place Places::find(std::string_view key) const {
  while (true) {
    const auto it = at_.find(key);
    if (it != at_.end()) return it->second;
    const auto cut = key.find_last_of(".[");
    if (cut == std::string_view::npos) return {};
    key = key.substr(0, cut);
  }
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;  // no key is longer; keeps the cost of junk small
  if (word.empty() || word.size() > kLongest) return {};
  std::string best;
  // A third of the letters may be wrong; otherwise it is another word.
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& c : candidates) {
    const auto d = edit_distance(word, c);
    if (d < best_distance) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

}  // namespace weft::config
