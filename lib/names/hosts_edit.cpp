#include "names/hosts_edit.h"

#include <vector>

#include "crypto/identity.h"
#include "names/hosts.h"

namespace weft::names {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

/// Lines with their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto n = end == std::string_view::npos ? text.size() : end + 1;
    out.push_back(text.substr(0, n));
    text.remove_prefix(n);
  }
  return out;
}

/// Whether a line, valid or not, is about this name.
bool names_host(std::string_view line, std::string_view name) {
  if (line.starts_with(kMark)) line.remove_prefix(kMark.size());
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto at = line.find_first_not_of(kBlank);
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at);
  return lower_case(line.substr(0, line.find_first_of(kBlank))) == lower_case(name);
}

}  // namespace

std::string with_host(std::string_view text, std::string_view name, const PublicKey& key) {
  const auto lines = lines_of(text);
  std::size_t last = lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (names_host(lines[i], name)) last = i;
  const std::string fresh = std::string(name) + " " + crypto::npub_of(key);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 && lines[i].starts_with(kMark) && names_host(lines[i], name)) out += kMark;
    if (i == last) out += fresh + (lines[i].ends_with("\r\n") ? "\r\n" : "\n");
    else if (!names_host(lines[i], name)) out += lines[i];
  }
  if (last < lines.size()) return out;
  if (!out.empty() && out.back() != '\n') out += '\n';
  return out + fresh + "\n";
}

WithoutHost without_host(std::string_view text, std::string_view name) {
  WithoutHost out;
  for (const auto line : lines_of(text)) {
    if (!names_host(line, name)) out.text += line;
    else ++out.lines;
  }
  return out;
}

}  // namespace weft::names
