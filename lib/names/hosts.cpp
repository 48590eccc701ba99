#include "names/hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/identity.h"

namespace weft::names {
namespace {

constexpr std::size_t kMaxName = 63;  // one DNS label
constexpr std::size_t kMaxLine = 1024;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// Well-formed UTF-8 by RFC 3629: no overlong form, no surrogate, nothing past U+10FFFF.
bool is_utf8(std::string_view s) {
  const Bytes b = as_bytes(s);
  for (std::size_t i = 0; i < b.size();) {
    const std::uint8_t lead = b[i];
    const std::size_t n = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : (lead & 0xF0) == 0xE0 ? 3 : 4;
    if (n == 4 && (lead < 0xF0 || lead > 0xF4)) return false;
    if (n > b.size() - i) return false;
    for (std::size_t k = 1; k < n; ++k)
      if ((b[i + k] & 0xC0) != 0x80) return false;
    if ((lead == 0xE0 && b[i + 1] < 0xA0) || (lead == 0xED && b[i + 1] > 0x9F)) return false;
    if ((lead == 0xF0 && b[i + 1] < 0x90) || (lead == 0xF4 && b[i + 1] > 0x8F)) return false;
    i += n;
  }
  return true;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && !is_blank(line[end])) ++end;
    out.push_back(line.substr(i, end - i));
    i = end;
  }
  return out;
}

/// Why a line does not count; empty when it does.
std::string read_line(std::string_view line, HostMap& map) {
  if (line.size() > kMaxLine) return "line too long; skipped";
  const auto fields = fields_of(line);
  if (fields.empty() || fields[0].front() == '#') return {};
  if (fields.size() != 2) return "expected a name and an npub; skipped";
  if (!valid_host_name(fields[0])) return "not a name (1 to 63 letters, digits and inner dashes); skipped";
  const auto key = crypto::parse_npub(fields[1]);
  if (!key) return fmt::format("not an npub: {}; skipped", key.error());
  map.put(fields[0], *key);
  return {};
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool valid_host_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || name.front() == '-' || name.back() == '-') return false;
  const std::string s = lower_case(name);
  if (s.rfind("npub1", 0) == 0) return false;  // would hide the node of that key
  return std::ranges::all_of(
      s, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool HostMap::put(std::string_view name, const PublicKey& key) {
  if (!valid_host_name(name)) return false;
  const std::string low = lower_case(name);
  const auto old = by_name_.find(low);
  if (old != by_name_.end()) {  // the name moves; its former node keeps its others
    const auto names = by_addr_.find(crypto::node_addr_of(old->second));
    std::erase(names->second, low);
    if (names->second.empty()) by_addr_.erase(names);
  }
  by_name_[low] = key;
  by_addr_[crypto::node_addr_of(key)].push_back(low);
  return true;
}

void HostMap::put_all(const HostMap& over) {
  for (const auto& [addr, names] : over.by_addr_)
    for (const auto& name : names) put(name, over.by_name_.find(name)->second);
}

const PublicKey* HostMap::find(std::string_view name) const {
  const auto it = by_name_.find(lower_case(name));
  return it == by_name_.end() ? nullptr : &it->second;
}

const std::string* HostMap::name_of(const NodeAddr& addr) const {
  const auto it = by_addr_.find(addr);
  return it == by_addr_.end() ? nullptr : &it->second.back();
}

HostsFile parse_hosts(std::string_view text) {
  HostsFile out;
  if (!is_utf8(text)) {
    out.warnings.push_back({0, "not UTF-8; the whole file is ignored"});
    return out;
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);  // byte order mark
  std::size_t left_out = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string problem = read_line(text.substr(0, end), out.map);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (problem.empty()) continue;
    if (out.warnings.size() + 1 < HostsFile::kMaxWarnings)
      out.warnings.push_back({number, std::move(problem)});
    else ++left_out;
  }
  if (left_out > 0) out.warnings.push_back({0, fmt::format("{} more lines skipped", left_out)});
  return out;
}

std::optional<PublicKey> resolve_name(const HostMap& hosts, std::string_view name) {
  if (const auto* key = hosts.find(name)) return *key;
  if (auto key = crypto::parse_npub(lower_case(name))) return *key;
  return std::nullopt;
}

std::string display_name(const HostMap& hosts, std::string_view alias, const NodeAddr& addr,
                         const PublicKey* key) {
  if (const auto* name = hosts.name_of(addr)) return *name;
  if (!alias.empty()) return std::string(alias);
  if (key != nullptr) return crypto::short_npub_of(*key);
  return addr.hex().substr(0, 8) + "...";
}

}  // namespace weft::names
